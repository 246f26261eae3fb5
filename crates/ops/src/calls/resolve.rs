//! Resolves names and shortened ids that people type.

use toolcrib_app::Toolcrib;
use toolcrib_core::{CallFilter, CallId, ConversationId, RunId, similar_names};

use crate::context::StoreContext;
use crate::conversations::{self, ListDeletedConversationsRequest};
use crate::error::{OpError, Resource};
use crate::id_prefix;

/// Prefix of the ids of calls.
const CALL_ID_PREFIX: &str = "call_";
/// Maximum number of calls that are read for one prefix of an id.
const MATCH_LIMIT: usize = 10;
/// Maximum number of rows that are searched for a shortened id or the name of an agent.
const SCAN_LIMIT: usize = 1_000;

/// Returns the canonical name of a tool that exists, or that was called before.
///
/// # Errors
/// [`OpError::NotFound`] with similar names, [`OpError::Store`].
pub async fn resolve_tool(
    ctx: &StoreContext<'_>,
    toolcrib: &Toolcrib,
    asked: &str,
) -> Result<String, OpError> {
    if let Some(spec) = toolcrib.spec(asked) {
        return Ok(spec.name.to_string());
    }
    let called = ctx.stores.history.metrics(ctx.owner, None).await?;
    if called.iter().any(|tool| tool.tool == asked) {
        return Ok(asked.to_owned());
    }
    let infos = toolcrib.infos();
    let known = infos.iter().map(|info| info.id.as_str());
    let names = known.chain(called.iter().map(|tool| tool.tool.as_str()));
    Err(unknown_name(Resource::Tool, asked, names))
}

/// Returns the name of an agent that exists (`known`), or that made a call.
///
/// # Errors
/// [`OpError::NotFound`] with similar names, [`OpError::Store`].
pub async fn resolve_agent(
    ctx: &StoreContext<'_>,
    known: &[String],
    asked: &str,
) -> Result<String, OpError> {
    if known.iter().any(|name| name == asked) {
        return Ok(asked.to_owned());
    }
    let by_agent = CallFilter {
        owner: ctx.owner.to_owned(),
        agent: Some(asked.to_owned()),
        limit: 1,
        ..CallFilter::default()
    };
    if !ctx.stores.history.calls(by_agent).await?.is_empty() {
        return Ok(asked.to_owned());
    }
    let newest =
        CallFilter { owner: ctx.owner.to_owned(), limit: SCAN_LIMIT, ..CallFilter::default() };
    let rows = ctx.stores.history.calls(newest).await?;
    let callers = rows.iter().map(|row| row.facts.context.agent.as_str());
    let names = known.iter().map(String::as_str).chain(callers).filter(|name| !name.is_empty());
    Err(unknown_name(Resource::Agent, asked, names))
}

fn unknown_name<'a>(what: Resource, asked: &str, names: impl Iterator<Item = &'a str>) -> OpError {
    let near = similar_names::similar_names(asked, names).into_iter().map(str::to_owned).collect();
    OpError::NotFound { what, name: asked.to_owned(), near }
}

/// Returns the call that an id, or a prefix of one, names: a recorded call, or one that waits for a
/// person.
///
/// # Errors
/// [`OpError::NotFound`] with similar ids, [`OpError::Ambiguous`], [`OpError::Store`].
pub async fn resolve_call(ctx: &StoreContext<'_>, asked: &str) -> Result<CallId, OpError> {
    let prefix = with_call_prefix(asked);
    if let Ok(id) = prefix.parse::<CallId>()
        && call_exists(ctx, id).await?
    {
        return Ok(id);
    }
    let what = Resource::Call;
    let texts = |ids: &[CallId]| ids.iter().map(CallId::to_string).collect();
    match calls_with_prefix(ctx, &prefix).await?.as_slice() {
        [id] => Ok(*id),
        [] => {
            let near = texts(&nearest_calls(ctx, &prefix).await?);
            Err(OpError::NotFound { what, name: asked.to_owned(), near })
        }
        several => Err(OpError::Ambiguous { what, prefix: asked.to_owned(), ids: texts(several) }),
    }
}

async fn call_exists(ctx: &StoreContext<'_>, id: CallId) -> Result<bool, OpError> {
    let stored = ctx.stores.calls.call(id).await?;
    if stored.is_some_and(|stored| stored.row.facts.context.owner == ctx.owner) {
        return Ok(true);
    }
    let asked = ctx.stores.approvals.for_call(id).await?;
    Ok(asked.is_some_and(|(waiting, _)| waiting.request.context.owner == ctx.owner))
}

/// Returns calls whose id has this prefix, including waiting ones, which have no row yet.
async fn calls_with_prefix(ctx: &StoreContext<'_>, prefix: &str) -> Result<Vec<CallId>, OpError> {
    let mut ids = ctx.stores.history.calls_with_id_prefix(ctx.owner, prefix, MATCH_LIMIT).await?;
    let pending = ctx.stores.approvals.pending().await?;
    let waiting = pending.iter().filter(|request| request.context.owner == ctx.owner);
    ids.extend(waiting.map(|r| r.call).filter(|call| call.to_string().starts_with(prefix)));
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Returns calls that share most of the prefix. Ids are ordered by time, so these calls were made
/// at about the same time.
async fn nearest_calls(ctx: &StoreContext<'_>, prefix: &str) -> Result<Vec<CallId>, OpError> {
    let mut shorter = prefix;
    while let Some((at, _)) = shorter.char_indices().next_back() {
        shorter = &prefix[..at];
        let found = calls_with_prefix(ctx, shorter).await?;
        if !found.is_empty() {
            return Ok(id_prefix::nearest(prefix, &found));
        }
    }
    Ok(Vec::new())
}

fn with_call_prefix(asked: &str) -> String {
    let asked = id_prefix::typed_prefix(asked);
    if CALL_ID_PREFIX.starts_with(&asked) || asked.starts_with(CALL_ID_PREFIX) {
        asked
    } else {
        format!("{CALL_ID_PREFIX}{asked}")
    }
}

/// Returns the stored run that an id, or a prefix of one, names.
///
/// # Errors
/// [`OpError::NotFound`] with similar ids, [`OpError::Ambiguous`], [`OpError::Store`].
pub async fn resolve_run(ctx: &StoreContext<'_>, asked: &str) -> Result<RunId, OpError> {
    let runs = ctx.stores.runs.runs(ctx.owner, None, SCAN_LIMIT).await?;
    let ids: Vec<RunId> = runs.iter().map(|run| run.id).collect();
    id_prefix::resolve(Resource::Run, asked, &ids)
}

/// Returns the conversation that an id, or a prefix of one, names.
///
/// # Errors
/// [`OpError::NotFound`] with similar ids, [`OpError::Ambiguous`], [`OpError::Store`].
pub async fn resolve_conversation(
    ctx: &StoreContext<'_>,
    asked: &str,
) -> Result<ConversationId, OpError> {
    if let Ok(id) = asked.trim().parse()
        && let Some(found) = ctx.stores.runs.conversation(id).await?
        && found.owner == ctx.owner
    {
        return Ok(id);
    }
    let conversations = ctx.stores.runs.conversations(ctx.owner, SCAN_LIMIT).await?;
    let ids: Vec<ConversationId> = conversations.iter().map(|one| one.id).collect();
    id_prefix::resolve(Resource::Conversation, asked, &ids)
}

/// Returns the deleted conversation that an id, or a prefix of one, names.
///
/// # Errors
/// [`OpError::NotFound`] with similar ids, [`OpError::Ambiguous`], [`OpError::Store`].
pub async fn resolve_deleted_conversation(
    ctx: &StoreContext<'_>,
    asked: &str,
) -> Result<ConversationId, OpError> {
    let request = ListDeletedConversationsRequest { limit: SCAN_LIMIT };
    let deleted = conversations::list_deleted(ctx, request).await?;
    let ids: Vec<ConversationId> = deleted.iter().map(|one| one.conversation.id).collect();
    id_prefix::resolve(Resource::Conversation, asked, &ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_of_a_call_id_may_be_left_out() {
        for (asked, expected) in [
            ("call_01", "call_01"),
            ("01AB", "call_01ab"),
            ("cal", "cal"),
            ("", ""),
            (" call_01… ", "call_01"),
            ("x", "call_x"),
        ] {
            assert_eq!(with_call_prefix(asked), expected, "{asked}");
        }
    }
}
