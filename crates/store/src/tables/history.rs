//! SQLite: the call history. Each query names its index. Pages are ordered by id, and ids are
//! ordered by time, so a time window is searched within a range of ids instead of everything after
//! it. A filter that matches few calls of the range still reads the whole range.

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};
use toolcrib_core::{
    BoxFuture, CallFilter, CallHistory, CallId, CallRow, CallSample, CallStatus, MetricsAggregator,
    OutcomeKind, StoreError, ToolMetrics,
};

use super::call_row::{call_row, columns, word, word_or_none};
use super::{at_most, text};
use crate::error::Failure;
use crate::sqlite::SqliteStore;

/// Number of calls in a time window up to which the window's first and last ids are looked up
/// first. In a larger window most pages are full before they reach its end.
const WINDOW: usize = 20_000;

/// Milliseconds by which an id may be newer than the receipt of its call, for skewed clocks. An id
/// may be much older, because a call may wait for a person, so the start of a window gives no bound
/// for ids.
const SLACK: i64 = 24 * 60 * 60 * 1_000;

const LIKE: &str = "SELECT id FROM calls INDEXED BY calls_of_owner
    WHERE owner = ?1 AND id >= ?2 AND id < ?2 || x'7f' ORDER BY id DESC LIMIT ?3";
const ENDED: &str =
    "SELECT tool, id, received_at, outcome, error_type, attempts, run_nanos, ended_at
    FROM calls INDEXED BY calls_ended
    WHERE outcome IS NOT NULL AND owner = ?1 AND received_at >= ?2 AND tool IS NOT NULL";
const OPEN: &str = "SELECT tool, id, received_at FROM calls INDEXED BY calls_open
    WHERE outcome IS NULL AND owner = ?1 AND received_at >= ?2 AND tool IS NOT NULL";
const MESSAGE: &str = "SELECT coalesce(message, '') FROM calls WHERE id = ?1";
const BOUNDS: &str = "SELECT count(*), min(id), max(id) FROM (
        SELECT id FROM calls INDEXED BY calls_ended
        WHERE outcome IS NOT NULL AND owner = ?1 AND received_at >= ?2 AND received_at < ?3
        UNION ALL
        SELECT id FROM calls INDEXED BY calls_open
        WHERE outcome IS NULL AND owner = ?1 AND received_at >= ?2 AND received_at < ?3
        LIMIT ?4
    )";

impl CallHistory for SqliteStore {
    fn calls(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRow>, StoreError>> {
        self.read(move |conn| {
            let window = match filter.since {
                Some(since) => window(conn, &filter, since)?,
                None => Window::Far,
            };
            if matches!(window, Window::Empty) {
                return Ok(Vec::new());
            }
            let (sql, values) = page(&filter, window);
            let mut statement = conn.prepare_cached(&sql)?;
            statement.query_and_then(params_from_iter(values), call_row)?.collect()
        })
    }

    fn calls_with_id_prefix<'a>(
        &'a self,
        owner: &'a str,
        prefix: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<CallId>, StoreError>> {
        let key = (owner.to_owned(), prefix.to_owned(), at_most(limit));
        self.read(move |conn| {
            let mut statement = conn.prepare_cached(LIKE)?;
            statement.query_and_then(key, |row| Ok(text(row, 0)?.parse()?))?.collect()
        })
    }

    fn metrics<'a>(
        &'a self,
        owner: &'a str,
        since: Option<i64>,
    ) -> BoxFuture<'a, Result<Vec<ToolMetrics>, StoreError>> {
        let key = (owner.to_owned(), since.unwrap_or(i64::MIN));
        self.read(move |conn| metrics(conn, &key))
    }
}

/// The id range of a time window.
enum Window {
    /// No call was received in it.
    Empty,
    /// First and last id.
    Between(String, String),
    /// More calls than [`WINDOW`].
    Far,
}

fn window(conn: &Connection, filter: &CallFilter, since: i64) -> Result<Window, Failure> {
    let until = filter.until.unwrap_or(i64::MAX);
    let key = (&filter.owner, since, until, at_most(WINDOW + 1));
    let mut statement = conn.prepare_cached(BOUNDS)?;
    let (count, first, last): (i64, Option<String>, Option<String>) =
        statement.query_row(key, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(match first.zip(last) {
        None => Window::Empty,
        Some(_) if count > at_most(WINDOW) => Window::Far,
        Some((first, last)) => Window::Between(first, last),
    })
}

/// SQL conditions with their parameters.
struct Terms {
    sql: String,
    values: Vec<Value>,
}

impl Terms {
    fn and(&mut self, term: &str, value: Option<impl Into<Value>>) {
        let Some(value) = value else { return };
        self.sql.push_str(" AND ");
        self.sql.push_str(term);
        self.values.push(value.into());
    }
}

/// The smallest id text of this time; `None` if an id cannot hold the time.
fn id_at(at: i64) -> Option<String> {
    let millis = u64::try_from(at).ok().filter(|at| *at < 1 << 48)?;
    Some(format!("call_{millis:012x}"))
}

fn page(filter: &CallFilter, window: Window) -> (String, Vec<Value>) {
    let index = match (filter.status, &filter.conversation) {
        _ if filter.parent.is_some() => " INDEXED BY calls_of_parent WHERE parent IS NOT NULL",
        (Some(CallStatus::Open), _) => " INDEXED BY calls_open WHERE outcome IS NULL",
        (_, Some(conversation)) if !conversation.is_empty() => {
            " INDEXED BY calls_of_conversation WHERE conversation <> ''"
        }
        (Some(CallStatus::Ended(kind)), _) if kind != OutcomeKind::Succeeded => {
            " INDEXED BY calls_not_well WHERE outcome <> 'succeeded'"
        }
        _ => " INDEXED BY calls_of_owner WHERE true",
    };
    let sql = [concat!("SELECT ", columns!(), " FROM calls"), index].concat();
    let mut terms = Terms { sql, values: Vec::new() };
    let ended = match filter.status {
        Some(CallStatus::Ended(kind)) => Some(kind.as_str().to_owned()),
        _ => None,
    };
    let (first, last) = match window {
        Window::Between(first, last) => (Some(first), Some(last)),
        Window::Empty | Window::Far => (None, None),
    };
    terms.and("owner = ?", Some(filter.owner.clone()));
    terms.and("conversation = ?", filter.conversation.clone());
    // SQLite enters the index at one bound only: use the lowest.
    let before = filter.before.map(|id| id.to_string());
    let after_last = last.map(|id| format!("{id}0"));
    let until = filter.until.and_then(|until| id_at(until.saturating_add(SLACK)));
    terms.and("id < ?", before.into_iter().chain(after_last).chain(until).min());
    terms.and("id >= ?", first);
    terms.and("received_at >= ?", filter.since);
    terms.and("received_at < ?", filter.until);
    terms.and("tool = ?", filter.tool.clone());
    terms.and("operation = ?", filter.operation.clone());
    terms.and("agent = ?", filter.agent.clone());
    terms.and("run = ?", filter.run.map(|run| run.to_string()));
    terms.and("parent = ?", filter.parent.map(|call| call.to_string()));
    terms.and("outcome = ?", ended);
    terms.sql.push_str(" ORDER BY id DESC LIMIT ?");
    terms.values.push(at_most(filter.limit).into());
    (terms.sql, terms.values)
}

fn metrics(conn: &Connection, key: &(String, i64)) -> Result<Vec<ToolMetrics>, Failure> {
    let mut tally = MetricsAggregator::default();
    let mut statement = conn.prepare_cached(ENDED)?;
    let mut rows = statement.query((&key.0, key.1))?;
    while let Some(row) = rows.next()? {
        let end = measured(row)?;
        tally.add(text(row, 0)?, text(row, 1)?.parse()?, row.get(2)?, Some(&end));
    }
    let mut statement = conn.prepare_cached(OPEN)?;
    let mut rows = statement.query((&key.0, key.1))?;
    while let Some(row) = rows.next()? {
        tally.add(text(row, 0)?, text(row, 1)?.parse()?, row.get(2)?, None);
    }
    let mut metrics = tally.finish();
    for last in metrics.iter_mut().filter_map(|tool| tool.last_error.as_mut()) {
        let mut statement = conn.prepare_cached(MESSAGE)?;
        last.message = statement.query_row([last.call.to_string()], |row| row.get(0))?;
    }
    Ok(metrics)
}

fn measured(row: &Row<'_>) -> Result<CallSample, Failure> {
    Ok(CallSample {
        outcome: word(text(row, 3)?)?,
        error_type: word_or_none(row, 4)?,
        attempts: u32::try_from(row.get::<_, i64>(5)?)?,
        run_nanos: u64::try_from(row.get::<_, i64>(6)?)?,
        ended_at: row.get(7)?,
    })
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    /// One call per second.
    const CALLS: i64 = 30_000;
    const START: i64 = 1_700_000_000_000;

    fn filled() -> Connection {
        let conn = crate::connection::in_memory().unwrap();
        let fill = "WITH n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < ?1)
            INSERT INTO calls (id, owner, conversation, agent, workspace, channel, device, topic, origin, tool, received_at, epoch,
                outcome, attempts, run_nanos, ended_at)
            SELECT format('call_%012x%020x', ?2 + n * 100000, n), '', '', '', '', '', '', '', 'model', 'calc', ?2 + n * 100000, 1,
                'succeeded', 1, 1, 1 FROM n";
        conn.execute(fill, (CALLS, START)).unwrap();
        conn
    }

    /// The number of calls on a page, and the virtual machine steps of the query.
    fn steps(conn: &Connection, filter: &CallFilter) -> (usize, i32) {
        let window = filter.since.map_or(Window::Far, |since| window(conn, filter, since).unwrap());
        let (sql, values) = page(filter, window);
        let mut statement = conn.prepare(&sql).unwrap();
        let found = statement.query_and_then(params_from_iter(values), call_row).unwrap().count();
        (found, statement.get_status(StatementStatus::VmStep))
    }

    #[test]
    fn an_old_window_was_found_by_reading_everything_newer() {
        let conn = filled();
        let at = |n: i64| Some(START + n * 100_000);
        let all = CallFilter { limit: 20, ..CallFilter::default() };
        let cases = [
            (CallFilter { until: at(100), ..all.clone() }, 20, "before then"),
            (CallFilter { since: at(90), until: at(100), ..all.clone() }, 10, "a short window"),
            (CallFilter { since: at(CALLS - 5), ..all.clone() }, 5, "the last"),
            (CallFilter { since: at(0), until: at(30), ..all }, 20, "the first"),
        ];
        for (filter, count, which) in cases {
            let (found, steps) = steps(&conn, &filter);
            assert_eq!(found, count, "{which}");
            assert!(steps < 20_000, "{which}: {steps} steps for {CALLS} calls");
        }
    }
}
