//! Postgres: usage of models and tools.

use tokio_postgres::Row;
use toolcrib_core::{
    BoxFuture, RunId, StoreError, UsageAggregator, UsageBy, UsageRow, UsageStore, UsageTotals,
};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape::escape;
use super::{number, read, text, write};
use crate::writer::Durability;

const ADD: &str =
    "INSERT INTO usage (owner, run, at, by_model, by_agent, input, output, cache_read,
        cache_write, reasoning, cost_micros, body)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
const LAST: &str = "SELECT body FROM usage WHERE run = $1 ORDER BY place DESC LIMIT 1";
/// A sum that saturates instead of overflowing.
macro_rules! total {
    ($of:literal) => {
        concat!(
            "(CASE WHEN count(",
            $of,
            ") > 0 THEN least(sum(",
            $of,
            "), 9223372036854775807) END)::bigint"
        )
    };
}
macro_rules! answers {
    ($by:literal) => {
        concat!(
            "SELECT ",
            $by,
            ", count(*), count(*) FILTER (WHERE input IS NULL OR output IS NULL),
                count(*) FILTER (WHERE cost_micros IS NULL),
                ",
            total!("input"),
            ", ",
            total!("output"),
            ", ",
            total!("cache_read"),
            ", ",
            total!("cache_write"),
            ", ",
            total!("reasoning"),
            ", ",
            total!("cost_micros"),
            " FROM usage WHERE owner = $1 AND at >= $2 GROUP BY 1"
        )
    };
}
const BY_MODEL: &str = answers!("by_model");
const BY_AGENT: &str = answers!("by_agent");
const BY_QUARTER_HOUR: &str = answers!("(at / 900000)::text");
const CALLS_BY_TOOL: &str =
    "SELECT tool, count(*), least(sum(run_nanos), 9223372036854775807)::bigint FROM calls
    WHERE owner = $1 AND received_at >= $2 AND outcome IS NOT NULL AND tool IS NOT NULL GROUP BY 1";
const CALLS_BY_AGENT: &str =
    "SELECT agent, count(*), least(sum(run_nanos), 9223372036854775807)::bigint FROM calls
    WHERE owner = $1 AND received_at >= $2 AND outcome IS NOT NULL GROUP BY 1";
const CALLS_BY_QUARTER_HOUR: &str = "SELECT (received_at / 900000)::text, count(*),
        least(sum(run_nanos), 9223372036854775807)::bigint FROM calls
    WHERE owner = $1 AND received_at >= $2 AND outcome IS NOT NULL GROUP BY 1";

impl UsageStore for PostgresStore {
    fn add_usage(&self, row: UsageRow) {
        self.queue(Add(row), Box::new(drop));
    }

    fn usage<'a>(
        &'a self,
        owner: &'a str,
        by: UsageBy,
        since: Option<i64>,
    ) -> BoxFuture<'a, Result<Vec<UsageTotals>, StoreError>> {
        let added = self.wait_for_queue();
        Box::pin(async move {
            added.await;
            let (owner, since) = (escape(owner), since.unwrap_or(i64::MIN));
            let (calls, answers) = match by {
                UsageBy::Model => (None, Some(BY_MODEL)),
                UsageBy::Agent => (Some(CALLS_BY_AGENT), Some(BY_AGENT)),
                UsageBy::Tool => (Some(CALLS_BY_TOOL), None),
                UsageBy::QuarterHour => (Some(CALLS_BY_QUARTER_HOUR), Some(BY_QUARTER_HOUR)),
            };
            let mut tally = UsageAggregator::default();
            if let Some(sql) = calls {
                let sums = self.fetch_all(sql, &[&owner, &since], sum_of_calls).await?;
                sums.into_iter().for_each(|sum| tally.add(sum));
            }
            if let Some(sql) = answers {
                let sums = self.fetch_all(sql, &[&owner, &since], sum_of_answers).await?;
                sums.into_iter().for_each(|sum| tally.add(sum));
            }
            Ok(tally.finish(by))
        })
    }

    fn last_usage(&self, run: RunId) -> BoxFuture<'_, Result<Option<UsageRow>, StoreError>> {
        let added = self.wait_for_queue();
        Box::pin(async move {
            added.await;
            self.fetch_optional(LAST, &[&run.to_string()], |row| read(row, 0)).await
        })
    }
}

struct Add(UsageRow);

impl Job for Add {
    type Answer = ();

    fn durability(&self) -> Durability {
        Durability::ProcessCrash
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(ADD)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            let row = &self.0;
            let [by_model, by_agent] =
                [UsageBy::Model, UsageBy::Agent].map(|by| UsageTotals::from_row(row, by).name);
            let used = [
                row.input,
                row.output,
                row.cache_read,
                row.cache_write,
                row.reasoning,
                row.cost_micros,
            ]
            .map(|used| used.map(super::column));
            let [input, output, cache_read, cache_write, reasoning, cost] = &used;
            tx.link
                .execute(
                    ADD,
                    &[
                        &escape(&row.owner),
                        &row.run.to_string(),
                        &row.at,
                        &escape(&by_model),
                        &escape(&by_agent),
                        input,
                        output,
                        cache_read,
                        cache_write,
                        reasoning,
                        cost,
                        &write(row)?,
                    ],
                )
                .await?;
            Ok(JobOutput::unaudited(()))
        })
    }
}

fn sum_of_calls(row: &Row) -> Result<UsageTotals, Failure> {
    Ok(UsageTotals::from_calls(text(row, 0)?, number(row, 1)?, number(row, 2)?))
}

fn sum_of_answers(row: &Row) -> Result<UsageTotals, Failure> {
    let total = |column| -> Result<Option<u64>, Failure> {
        Ok(row.try_get::<_, Option<i64>>(column)?.map(u64::try_from).transpose()?)
    };
    Ok(UsageTotals {
        name: text(row, 0)?,
        requests: number(row, 1)?,
        unreported: number(row, 2)?,
        unpriced: number(row, 3)?,
        input: total(4)?,
        output: total(5)?,
        cache_read: total(6)?,
        cache_write: total(7)?,
        reasoning: total(8)?,
        cost_micros: total(9)?,
        calls: None,
        run_nanos: None,
    })
}
