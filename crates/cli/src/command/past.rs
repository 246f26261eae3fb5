//! What the commands that look back share: names and ids that may be cut or mistyped, and calls in words.

use serde_json::{Value, json};
use toolcrib_app::core::near;
use toolcrib_app::core::{CallId, CallRow, CallStatus, ConversationId, RunId, StoreError};
use toolcrib_app::{Stores, Toolcrib};

use super::short_id::{self, Found};
use crate::output::Failure;
use crate::terminal;

/// Whose records are looked at: on a command line there is one owner.
pub(super) const OWNER: &str = "";
/// What ids of calls begin with.
const KIND: &str = "call_";
/// Calls that are looked at for one that begins like this.
const OFFERED: usize = 10;
/// Runs and conversations that are looked through for a cut id.
const LOOKED_AT: usize = 1_000;
/// Columns of a call's arguments in a list.
const ABOUT: usize = 44;

pub(super) fn store(error: StoreError) -> Failure {
    Failure::run(error.to_string())
}

/// The canonical name of a tool that there is, or that was called once.
pub(super) async fn tool(
    stores: &Stores,
    toolcrib: &Toolcrib,
    asked: &str,
) -> Result<String, Failure> {
    if let Some(spec) = toolcrib.spec(asked) {
        return Ok(spec.name.to_string());
    }
    let called = stores.history.metrics(OWNER, None).await.map_err(store)?;
    if called.iter().any(|tool| tool.tool == asked) {
        return Ok(asked.to_owned());
    }
    let infos = toolcrib.infos();
    let known = infos.iter().map(|info| info.id.as_str());
    let near = near::nearest(asked, known.chain(called.iter().map(|tool| tool.tool.as_str())));
    Err(unknown("tool", asked, &near, "`toolcrib tool list` shows those that there are"))
}

/// There is no such thing, and these are like it.
pub(super) fn unknown(what: &str, asked: &str, near: &[&str], else_: &str) -> Failure {
    let asked = terminal::one_line(&terminal::shorten(asked, 80));
    let next = match near {
        [] => else_.to_owned(),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Failure::not_found(format!("there is no {what} {asked}; {next}"))
}

/// The call that an id, or the beginning of one, means: one that was recorded, or one that waits for a person.
pub(super) async fn call(stores: &Stores, asked: &str) -> Result<CallId, Failure> {
    let prefix = prefixed(asked);
    if let Ok(id) = prefix.parse::<CallId>()
        && is_known(stores, id).await?
    {
        return Ok(id);
    }
    let like = like(stores, &prefix).await?;
    let found = match like.as_slice() {
        [id] => return Ok(*id),
        [] => Found::None(nearest(stores, &prefix).await?),
        _ => Found::Several(like),
    };
    Err(short_id::failure("call", asked, found, "history"))
}

async fn is_known(stores: &Stores, id: CallId) -> Result<bool, Failure> {
    // The calls of others do not exist for this one.
    let of_call = stores.calls.call(id).await.map_err(store)?;
    if of_call.is_some_and(|stored| stored.row.facts.context.owner == OWNER) {
        return Ok(true);
    }
    let asked = stores.approvals.of_call(id).await.map_err(store)?;
    Ok(asked.is_some_and(|(waiting, _)| waiting.request.context.owner == OWNER))
}

/// Calls that begin like this, the waiting ones too, which have no record of their own yet.
async fn like(stores: &Stores, prefix: &str) -> Result<Vec<CallId>, Failure> {
    let mut ids = stores.history.calls_like(OWNER, prefix, OFFERED).await.map_err(store)?;
    let pending = stores.approvals.pending().await.map_err(store)?;
    let waiting = pending.iter().filter(|request| request.context.owner == OWNER);
    ids.extend(waiting.map(|r| r.call).filter(|call| call.to_string().starts_with(prefix)));
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Those that share most of the beginning: ids grow with time, so they were called about then.
async fn nearest(stores: &Stores, prefix: &str) -> Result<Vec<CallId>, Failure> {
    let mut shorter = prefix;
    while let Some((at, _)) = shorter.char_indices().next_back() {
        shorter = &prefix[..at];
        let found = like(stores, shorter).await?;
        if !found.is_empty() {
            return Ok(short_id::near(prefix, &found));
        }
    }
    Ok(Vec::new())
}

/// The id as it begins when the word that says its kind was left out.
fn prefixed(asked: &str) -> String {
    let asked = asked.trim().trim_end_matches('…').to_ascii_lowercase();
    if KIND.starts_with(&asked) || asked.starts_with(KIND) {
        asked
    } else {
        format!("{KIND}{asked}")
    }
}

/// The run that an id, or the beginning of one, means. A whole id is taken as it is: calls of a response belong to runs that are kept
/// nowhere else.
pub(super) async fn run(stores: &Stores, asked: &str) -> Result<RunId, Failure> {
    if let Ok(id) = asked.trim().parse() {
        return Ok(id);
    }
    kept_run(stores, asked, "history --json").await
}

/// The same among the runs that are kept; `list` is the command that shows them.
pub(super) async fn kept_run(stores: &Stores, asked: &str, list: &str) -> Result<RunId, Failure> {
    let runs = stores.runs.runs(OWNER, None, LOOKED_AT).await.map_err(store)?;
    let ids: Vec<RunId> = runs.iter().map(|run| run.id).collect();
    match short_id::find(asked, &ids) {
        Found::One(id) => Ok(id),
        found => Err(short_id::failure("run", asked, found, list)),
    }
}

/// The conversation that an id, or the beginning of one, means.
pub(super) async fn conversation(stores: &Stores, asked: &str) -> Result<String, Failure> {
    let conversations = stores.runs.conversations(OWNER, LOOKED_AT).await.map_err(store)?;
    let ids: Vec<ConversationId> = conversations.iter().map(|one| one.id).collect();
    match short_id::find(asked, &ids) {
        Found::One(id) => Ok(id.to_string()),
        found => Err(short_id::failure("conversation", asked, found, "conversation list")),
    }
}

/// Where a call stands.
pub(super) fn status(row: &CallRow) -> CallStatus {
    row.end.as_ref().map_or(CallStatus::Open, |end| CallStatus::Ended(end.outcome))
}

/// The same in one word.
pub(super) fn status_word(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Open => "open",
        CallStatus::Ended(kind) => kind.as_str(),
    }
}

/// The tool of a call, or the name that was asked for where there is none.
pub(super) fn tool_name(row: &CallRow) -> String {
    let tool = row.facts.tool.as_ref().map(ToString::to_string);
    let name = tool.or_else(|| row.facts.asked.clone()).unwrap_or_default();
    terminal::shorten(&terminal::one_line(&name), ABOUT)
}

/// What a call was about: its arguments, which were recorded without secrets; of several the values that tell them apart come first.
pub(super) fn about(row: &CallRow) -> String {
    let args = row.facts.args.as_deref().unwrap_or_default();
    let text = match serde_json::from_str(args) {
        Ok(Value::Object(map)) if map.is_empty() => String::new(),
        Ok(Value::Object(map)) => {
            let one = |(name, value): (&String, &Value)| match value {
                Value::String(text) => format!("{name}={text}"),
                value => format!("{name}={value}"),
            };
            map.iter().map(one).collect::<Vec<_>>().join(" ")
        }
        _ if args.is_empty() && row.facts.args_hash.is_some() => "(long arguments)".to_owned(),
        _ => args.to_owned(),
    };
    terminal::shorten(&terminal::one_line(&text), ABOUT)
}

/// A call for machines.
pub(super) fn machine(row: &CallRow) -> Value {
    let (facts, end) = (&row.facts, row.end.as_ref());
    let args: Option<Value> =
        facts.args.as_deref().and_then(|args| serde_json::from_str(args).ok());
    json!({
        "call": facts.call,
        "status": status_word(status(row)),
        "tool": facts.tool,
        "asked": facts.asked,
        "operation": facts.operation,
        "origin": facts.origin,
        "agent": some(&facts.context.agent),
        "conversation": some(&facts.context.conversation),
        "topic": some(&facts.context.topic),
        "workspace": some(&facts.context.workspace),
        "channel": some(&facts.context.channel),
        "device": some(&facts.context.device),
        "run": facts.run,
        "received_at": facts.received_at,
        "started_at": row.started_at,
        "ended_at": end.map(|end| end.ended_at),
        "duration_ms": end.filter(|end| end.attempts > 0).map(|end| end.run_nanos as f64 / 1e6),
        "attempts": end.map(|end| end.attempts),
        "error_type": end.and_then(|end| end.error_type),
        "message": end.and_then(|end| end.message.clone()),
        "risk": facts.risk,
        "effect": facts.effect,
        "args": args,
        "args_hash": facts.args_hash,
        "definition_hash": facts.definition_hash,
        "output_hash": end.and_then(|end| end.output_hash.clone()),
        "policy": facts.policy,
        "approval": facts.approval,
        "approved_by": facts.approved_by,
    })
}

/// Empty text means that there is none.
pub(super) fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_an_id_may_be_left_out() {
        for (asked, expected) in [
            ("call_01", "call_01"),
            ("01AB", "call_01ab"),
            ("cal", "cal"),
            ("", ""),
            (" call_01… ", "call_01"),
            ("x", "call_x"),
        ] {
            assert_eq!(prefixed(asked), expected, "{asked}");
        }
    }
}
