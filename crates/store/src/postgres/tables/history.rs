//! Postgres: the call history.

use std::fmt::Write as _;

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use toolcrib_core::{
    BoxFuture, CallEnd, CallFilter, CallHistory, CallId, CallRow, CallStatus, LastError,
    StoreError, ToolMetrics,
};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::text_escape;
use super::calls::{call_row, columns};
use super::{at_most, number, read_or_none};

const SELECT: &str = concat!("SELECT ", columns!(), " FROM calls WHERE owner = $1");
/// Ids with the prefix `$2`: text is compared by bytes, and ids are ASCII.
const LIKE: &str = "SELECT id FROM calls
    WHERE owner = $1 AND id >= $2 AND id < $2 || chr(127) ORDER BY id DESC LIMIT $3";
/// The newest failure of each tool, beside its totals.
const METRICS: &str = "SELECT s.*, f.id, f.ending FROM (
        SELECT tool, count(outcome),
            count(*) FILTER (WHERE outcome = 'succeeded'), count(*) FILTER (WHERE outcome = 'failed'),
            count(*) FILTER (WHERE outcome = 'timed_out'),
            count(*) FILTER (WHERE outcome IN ('denied', 'expired', 'cancelled')),
            count(*) FILTER (WHERE outcome = 'unknown'),
            percentile_disc(0.50) WITHIN GROUP (ORDER BY run_nanos) FILTER (WHERE attempts > 0),
            percentile_disc(0.95) WITHIN GROUP (ORDER BY run_nanos) FILTER (WHERE attempts > 0),
            max(received_at)
        FROM calls WHERE owner = $1 AND tool IS NOT NULL AND received_at >= $2 GROUP BY tool
    ) s LEFT JOIN LATERAL (
        SELECT id, ending FROM calls
        WHERE owner = $1 AND calls.tool = s.tool AND received_at >= $2
            AND outcome IN ('failed', 'timed_out') AND is_error
        ORDER BY ended_at DESC, id DESC LIMIT 1
    ) f ON true ORDER BY s.tool";

impl CallHistory for PostgresStore {
    fn calls(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRow>, StoreError>> {
        Box::pin(async move {
            let Filter { sql, params } = Filter::of(&filter);
            let params: Vec<&(dyn ToSql + Sync)> =
                params.iter().map(|param| &**param as &(dyn ToSql + Sync)).collect();
            let rows = self.inner.readers.rows_once(&sql, &params).await?;
            rows.iter().map(|row| Ok(call_row(row)?)).collect()
        })
    }

    fn calls_with_id_prefix<'a>(
        &'a self,
        owner: &'a str,
        prefix: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<CallId>, StoreError>> {
        Box::pin(async move {
            let key = (text_escape::escape(owner), text_escape::escape(prefix), at_most(limit));
            self.fetch_all(LIKE, &[&key.0, &key.1, &key.2], |row| {
                Ok(row.try_get::<_, &str>(0)?.parse()?)
            })
            .await
        })
    }

    fn metrics<'a>(
        &'a self,
        owner: &'a str,
        since: Option<i64>,
    ) -> BoxFuture<'a, Result<Vec<ToolMetrics>, StoreError>> {
        let (owner, since) = (text_escape::escape(owner), since.unwrap_or(i64::MIN));
        Box::pin(async move { self.fetch_all(METRICS, &[&owner, &since], metrics).await })
    }
}

/// A statement with only the conditions of the filter, so that the planner can choose a matching
/// index.
struct Filter {
    sql: String,
    params: Vec<Box<dyn ToSql + Sync + Send>>,
}

impl Filter {
    fn of(filter: &CallFilter) -> Self {
        let mut made = Self { sql: SELECT.to_owned(), params: Vec::new() };
        let word = |word: &str| text_escape::escape(word).into_owned();
        made.params.push(Box::new(word(&filter.owner)));
        made.and("tool =", filter.tool.as_deref().map(word));
        made.and("operation =", filter.operation.as_deref().map(word));
        made.and("agent =", filter.agent.as_deref().map(word));
        made.and("conversation =", filter.conversation.as_deref().map(word));
        made.and("run =", filter.run.map(|run| run.to_string()));
        made.and("parent =", filter.parent.map(|call| call.to_string()));
        made.and("received_at >=", filter.since);
        made.and("received_at <", filter.until);
        made.and("id <", filter.before.map(|id| id.to_string()));
        match filter.status {
            None => {}
            Some(CallStatus::Open) => made.sql.push_str(" AND outcome IS NULL"),
            Some(CallStatus::Ended(kind)) => made.and("outcome =", Some(kind.as_str())),
        }
        made.sql.push_str(" ORDER BY id DESC");
        made.params.push(Box::new(at_most(filter.limit)));
        // Writing to a string does not fail.
        let _ = write!(made.sql, " LIMIT ${}", made.params.len());
        made
    }

    fn and<T: ToSql + Sync + Send + 'static>(&mut self, what: &str, value: Option<T>) {
        let Some(value) = value else { return };
        self.params.push(Box::new(value));
        let _ = write!(self.sql, " AND {what} ${}", self.params.len());
    }
}

fn metrics(row: &Row) -> Result<ToolMetrics, Failure> {
    let nanos = |column| -> Result<Option<u64>, Failure> {
        Ok(row.try_get::<_, Option<i64>>(column)?.map(u64::try_from).transpose()?)
    };
    Ok(ToolMetrics {
        tool: super::text(row, 0)?,
        count: number(row, 1)?,
        succeeded: number(row, 2)?,
        failed: number(row, 3)?,
        timed_out: number(row, 4)?,
        not_run: number(row, 5)?,
        unknown: number(row, 6)?,
        p50_nanos: nanos(7)?,
        p95_nanos: nanos(8)?,
        last_at: row.try_get(9)?,
        last_error: last_error(row)?,
    })
}

fn last_error(row: &Row) -> Result<Option<LastError>, Failure> {
    let Some(call) = row.try_get::<_, Option<&str>>(10)? else { return Ok(None) };
    let Some(end) = read_or_none::<CallEnd>(row, 11)? else { return Ok(None) };
    let Some(error_type) = end.error_type else { return Ok(None) };
    let message = end.message.unwrap_or_default();
    Ok(Some(LastError { error_type, message, at: end.ended_at, call: call.parse()? }))
}
