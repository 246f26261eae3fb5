//! SQLite: reads a call from its row.

use std::sync::Arc;

use rusqlite::Row;
use serde::de::DeserializeOwned;
use serde::de::value::StrDeserializer;
use toolcrib_core::{CallDetails, CallEnd, CallRow, Context, Surroundings};

use super::text;
use crate::error::Failure;

/// The columns that [`call_row`] reads, in its order.
macro_rules! columns {
    () => {
        "id, run, origin, owner, agent, conversation, workspace, channel, device, topic, tool, asked, operation, definition_hash, risk, \
        effect, args, args_hash, approval, approved_by, received_at, started_at, epoch, outcome, error_type, message, attempts, run_nanos, \
        ended_at, output_hash, policy, parent"
    };
}
pub(super) use columns;

/// A call, with its end if it has ended.
pub(super) fn call_row(row: &Row<'_>) -> Result<CallRow, Failure> {
    Ok(CallRow {
        facts: facts(row)?,
        started_at: row.get(21)?,
        epoch: u64::try_from(row.get::<_, i64>(22)?)?,
        end: end(row)?,
    })
}

fn facts(row: &Row<'_>) -> Result<CallDetails, Failure> {
    let run: Option<String> = row.get(1)?;
    let approval: Option<String> = row.get(18)?;
    let parent: Option<String> = row.get(31)?;
    Ok(CallDetails {
        call: text(row, 0)?.parse()?,
        run: run.map(|run| run.parse()).transpose()?,
        origin: word(text(row, 2)?)?,
        context: Arc::new(Context {
            owner: row.get(3)?,
            agent: row.get(4)?,
            conversation: row.get(5)?,
            workspace: row.get(6)?,
            channel: row.get(7)?,
            device: row.get(8)?,
            topic: row.get(9)?,
            // What a call was about is looked back at, not where the person was.
            surroundings: Surroundings::default(),
            depth: 0,
        }),
        tool: word_or_none(row, 10)?,
        asked: row.get(11)?,
        operation: row.get(12)?,
        definition_hash: row.get(13)?,
        risk: word_or_none(row, 14)?,
        effect: word_or_none(row, 15)?,
        args: row.get(16)?,
        args_hash: row.get(17)?,
        approval: approval.map(|id| id.parse()).transpose()?,
        approved_by: row.get(19)?,
        policy: row.get(30)?,
        parent: parent.map(|call| call.parse()).transpose()?,
        received_at: row.get(20)?,
    })
}

fn end(row: &Row<'_>) -> Result<Option<CallEnd>, Failure> {
    let Some(outcome) = word_or_none(row, 23)? else { return Ok(None) };
    Ok(Some(CallEnd {
        outcome,
        error_type: word_or_none(row, 24)?,
        message: row.get(25)?,
        attempts: u32::try_from(row.get::<_, i64>(26)?)?,
        run_nanos: u64::try_from(row.get::<_, i64>(27)?)?,
        ended_at: row.get(28)?,
        output_hash: row.get(29)?,
    }))
}

/// Parses the wire name in a column.
pub(super) fn word<T: DeserializeOwned>(name: &str) -> Result<T, Failure> {
    Ok(T::deserialize(StrDeserializer::<serde_json::Error>::new(name))?)
}

/// Parses the wire name in a nullable column.
pub(super) fn word_or_none<T: DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
) -> Result<Option<T>, Failure> {
    let name = row.get_ref(column)?.as_str_or_null().map_err(rusqlite::Error::from)?;
    name.map(word).transpose()
}
