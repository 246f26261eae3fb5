//! Looking back at calls. Each question names the index that answers it, so that a page takes the same time however many calls there are.

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};
use toolcrib_core::{
    BoxFuture, CallFilter, CallHistory, CallId, CallRow, CallStatus, MeasuredEnd, MetricsTally,
    OutcomeKind, StoreError, ToolMetrics,
};

use super::call_row::{call_row, columns, word, word_or_none};
use super::{at_most, text};
use crate::error::Failure;
use crate::store::SqliteStore;

/// Calls of a window up to which its oldest one is looked for first; of more, most pages are full before they reach it.
const WINDOW: usize = 20_000;

const LIKE: &str = "SELECT id FROM calls INDEXED BY calls_of_owner
    WHERE owner = ?1 AND id >= ?2 AND id < ?2 || x'7f' ORDER BY id DESC LIMIT ?3";
const ENDED: &str =
    "SELECT tool, id, received_at, outcome, error_type, attempts, run_nanos, ended_at
    FROM calls INDEXED BY calls_ended
    WHERE outcome IS NOT NULL AND owner = ?1 AND received_at >= ?2 AND tool IS NOT NULL";
const OPEN: &str = "SELECT tool, id, received_at FROM calls INDEXED BY calls_open
    WHERE outcome IS NULL AND owner = ?1 AND received_at >= ?2 AND tool IS NOT NULL";
const MESSAGE: &str = "SELECT coalesce(message, '') FROM calls WHERE id = ?1";
const OLDEST: &str = "SELECT count(*), min(id) FROM (
        SELECT id FROM calls INDEXED BY calls_ended
        WHERE outcome IS NOT NULL AND owner = ?1 AND received_at >= ?2
        UNION ALL
        SELECT id FROM calls INDEXED BY calls_open
        WHERE outcome IS NULL AND owner = ?1 AND received_at >= ?2
        LIMIT ?3
    )";

impl CallHistory for SqliteStore {
    fn calls(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRow>, StoreError>> {
        self.read(move |conn| {
            let oldest = match filter.since {
                Some(since) => oldest(conn, &filter.owner, since)?,
                None => Oldest::Far,
            };
            if matches!(oldest, Oldest::None) {
                return Ok(Vec::new());
            }
            let (sql, values) = page(&filter, &oldest);
            let mut statement = conn.prepare_cached(&sql)?;
            statement.query_and_then(params_from_iter(values), call_row)?.collect()
        })
    }

    fn calls_like<'a>(
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

/// Where a window of time begins among the ids.
enum Oldest {
    /// Nothing was received since then.
    None,
    At(String),
    /// Too far away to look.
    Far,
}

fn oldest(conn: &Connection, owner: &str, since: i64) -> Result<Oldest, Failure> {
    let key = (owner, since, at_most(WINDOW + 1));
    let mut statement = conn.prepare_cached(OLDEST)?;
    let (count, oldest): (i64, Option<String>) =
        statement.query_row(key, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(match oldest {
        None => Oldest::None,
        Some(_) if count > at_most(WINDOW) => Oldest::Far,
        Some(id) => Oldest::At(id),
    })
}

/// Terms of a question, with what they are asked with.
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

fn page(filter: &CallFilter, oldest: &Oldest) -> (String, Vec<Value>) {
    let index = match (filter.status, &filter.conversation) {
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
    let since_id = match oldest {
        Oldest::At(id) => Some(id.clone()),
        _ => None,
    };
    terms.and("owner = ?", Some(filter.owner.clone()));
    terms.and("conversation = ?", filter.conversation.clone());
    terms.and("id < ?", filter.before.map(|id| id.to_string()));
    terms.and("id >= ?", since_id);
    terms.and("received_at >= ?", filter.since);
    terms.and("received_at < ?", filter.until);
    terms.and("tool = ?", filter.tool.clone());
    terms.and("operation = ?", filter.operation.clone());
    terms.and("agent = ?", filter.agent.clone());
    terms.and("run = ?", filter.run.map(|run| run.to_string()));
    terms.and("outcome = ?", ended);
    terms.sql.push_str(" ORDER BY id DESC LIMIT ?");
    terms.values.push(at_most(filter.limit).into());
    (terms.sql, terms.values)
}

fn metrics(conn: &Connection, key: &(String, i64)) -> Result<Vec<ToolMetrics>, Failure> {
    let mut tally = MetricsTally::default();
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

fn measured(row: &Row<'_>) -> Result<MeasuredEnd, Failure> {
    Ok(MeasuredEnd {
        outcome: word(text(row, 3)?)?,
        error_type: word_or_none(row, 4)?,
        attempts: u32::try_from(row.get::<_, i64>(5)?)?,
        run_nanos: u64::try_from(row.get::<_, i64>(6)?)?,
        ended_at: row.get(7)?,
    })
}
