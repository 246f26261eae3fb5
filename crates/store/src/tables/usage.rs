//! SQLite: usage of models and tools.

use rusqlite::{Connection, Params, Row};
use toolcrib_core::{
    BoxFuture, RunId, StoreError, UsageAggregator, UsageBy, UsageRow, UsageStore, UsageTotals,
};

use super::text;
use crate::error::Failure;
use crate::sqlite::SqliteStore;
use crate::writer::Durability;

const ADD: &str =
    "INSERT INTO usage (owner, run, conversation, agent, provider, model, input, output,
        cache_read, cache_write, reasoning, cost_micros, model_window, at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
const LAST: &str =
    "SELECT owner, run, conversation, agent, provider, model, input, output, cache_read,
        cache_write, reasoning, cost_micros, model_window, at
    FROM usage WHERE run = ?1 ORDER BY place DESC LIMIT 1";
macro_rules! answers {
    ($name:literal) => {
        concat!(
            "SELECT ",
            $name,
            ", input, output, cache_read, cache_write, reasoning, cost_micros
            FROM usage WHERE owner = ?1 AND at >= ?2"
        )
    };
}
const BY_MODEL: &str = answers!("provider || '/' || model");
const BY_AGENT: &str = answers!("agent");
const BY_QUARTER_HOUR: &str = answers!("CAST(at / 900000 AS TEXT)");
/// Ended calls, read from a covering index.
macro_rules! calls {
    ($name:literal, $and:literal) => {
        concat!(
            "SELECT ",
            $name,
            ", count(*), sum(run_nanos) FROM calls INDEXED BY calls_ended
            WHERE outcome IS NOT NULL AND owner = ?1 AND received_at >= ?2 ",
            $and,
            " GROUP BY 1"
        )
    };
}
const CALLS_BY_TOOL: &str = calls!("tool", "AND tool IS NOT NULL");
const CALLS_BY_AGENT: &str = calls!("agent", "");
const CALLS_BY_QUARTER_HOUR: &str = calls!("CAST(received_at / 900000 AS TEXT)", "");

impl UsageStore for SqliteStore {
    fn add_usage(&self, row: UsageRow) {
        self.write_unawaited(Durability::ProcessCrash, move |conn| add(conn, &row));
    }

    fn usage<'a>(
        &'a self,
        owner: &'a str,
        by: UsageBy,
        since: Option<i64>,
    ) -> BoxFuture<'a, Result<Vec<UsageTotals>, StoreError>> {
        let key = (owner.to_owned(), since.unwrap_or(i64::MIN));
        self.read(move |conn| {
            let mut tally = UsageAggregator::default();
            match by {
                UsageBy::Model => sums(conn, BY_MODEL, key, answer, &mut tally)?,
                UsageBy::Agent => {
                    sums(conn, CALLS_BY_AGENT, key.clone(), calls, &mut tally)?;
                    sums(conn, BY_AGENT, key, answer, &mut tally)?;
                }
                UsageBy::Tool => sums(conn, CALLS_BY_TOOL, key, calls, &mut tally)?,
                UsageBy::QuarterHour => {
                    sums(conn, CALLS_BY_QUARTER_HOUR, key.clone(), calls, &mut tally)?;
                    sums(conn, BY_QUARTER_HOUR, key, answer, &mut tally)?;
                }
            }
            Ok(tally.finish(by))
        })
    }

    fn last_usage(&self, run: RunId) -> BoxFuture<'_, Result<Option<UsageRow>, StoreError>> {
        self.read(move |conn| {
            let mut statement = conn.prepare_cached(LAST)?;
            let found = statement.query_and_then([run.to_string()], usage_row)?.next();
            found.transpose()
        })
    }
}

fn add(conn: &Connection, row: &UsageRow) -> Result<(), Failure> {
    conn.prepare_cached(ADD)?.execute(rusqlite::params![
        row.owner,
        row.run.to_string(),
        row.conversation.to_string(),
        row.agent,
        row.provider,
        row.model,
        row.input.map(kept),
        row.output.map(kept),
        row.cache_read.map(kept),
        row.cache_write.map(kept),
        row.reasoning.map(kept),
        row.cost_micros.map(kept),
        row.window.map(kept),
        row.at,
    ])?;
    Ok(())
}

/// Converts a count to a column value, saturating.
fn kept(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Adds up in Rust: in SQL, a single implausible count reported by a provider would make the sum
/// overflow into an error.
fn sums(
    conn: &Connection,
    sql: &str,
    key: impl Params,
    part: fn(&Row<'_>) -> Result<UsageTotals, Failure>,
    tally: &mut UsageAggregator,
) -> Result<(), Failure> {
    for found in conn.prepare_cached(sql)?.query_and_then(key, part)? {
        tally.add(found?);
    }
    Ok(())
}

fn answer(row: &Row<'_>) -> Result<UsageTotals, Failure> {
    let (input, output) = (count(row, 1)?, count(row, 2)?);
    let cost_micros = count(row, 6)?;
    Ok(UsageTotals {
        name: row.get(0)?,
        requests: 1,
        unreported: u64::from(input.is_none() || output.is_none()),
        unpriced: u64::from(cost_micros.is_none()),
        input,
        output,
        cache_read: count(row, 3)?,
        cache_write: count(row, 4)?,
        reasoning: count(row, 5)?,
        cost_micros,
        calls: None,
        run_nanos: None,
    })
}

fn calls(row: &Row<'_>) -> Result<UsageTotals, Failure> {
    let calls = u64::try_from(row.get::<_, i64>(1)?)?;
    Ok(UsageTotals::from_calls(row.get(0)?, calls, count(row, 2)?.unwrap_or(0)))
}

fn count(row: &Row<'_>, column: usize) -> Result<Option<u64>, Failure> {
    Ok(row.get::<_, Option<i64>>(column)?.map(u64::try_from).transpose()?)
}

fn usage_row(row: &Row<'_>) -> Result<UsageRow, Failure> {
    Ok(UsageRow {
        owner: row.get(0)?,
        run: text(row, 1)?.parse()?,
        conversation: text(row, 2)?.parse()?,
        agent: row.get(3)?,
        provider: row.get(4)?,
        model: row.get(5)?,
        input: count(row, 6)?,
        output: count(row, 7)?,
        cache_read: count(row, 8)?,
        cache_write: count(row, 9)?,
        reasoning: count(row, 10)?,
        cost_micros: count(row, 11)?,
        window: count(row, 12)?,
        at: row.get(13)?,
    })
}
