//! Branches a conversation: creates a new one that starts with the same messages.

use std::collections::BTreeMap;

use toolcrib_core::{
    Clock as _, Conversation, ConversationId, RunId, RunStatus, StoredMessage, StoredRun,
    SystemClock,
};

use super::show::{ShowConversationRequest, show};
use crate::context::StoreContext;
use crate::error::{OpError, Resource};

/// The conversation to branch, and the position.
#[derive(Debug, Clone, Copy)]
pub struct BranchConversationRequest {
    /// Its id.
    pub id: ConversationId,
    /// The first omitted run: the branch leaves out its message and everything after it.
    pub before: RunId,
}

/// Creates a conversation with the messages of this one before a run. The runs that wrote them are
/// copied under new ids, with their taint labels: the branch outlives the original conversation,
/// and is equally untrusted. Effects of tools are not undone.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::OpenRun`], [`OpError::Store`].
pub async fn branch(
    ctx: &StoreContext<'_>,
    request: BranchConversationRequest,
) -> Result<Conversation, OpError> {
    let from = show(ctx, ShowConversationRequest { id: request.id }).await?;
    let store = &ctx.stores.runs;
    let mut messages = store.messages(from.id, 0).await?;
    let end = messages.iter().position(|message| message.run == Some(request.before));
    messages.truncate(end.ok_or_else(|| OpError::not_found(Resource::Run, request.before))?);
    let runs = ended_runs(ctx, &messages).await?;
    let now = SystemClock.now_ms();
    let branch =
        Conversation { id: ConversationId::fresh(), created_at: now, updated_at: now, ..from };
    store.put_conversation(branch.clone()).await?;
    let mut copies = BTreeMap::new();
    for run in runs {
        let copy = RunId::fresh();
        copies.insert(run.id, copy);
        store.put_run(StoredRun { id: copy, conversation: branch.id, ..run }).await?;
    }
    for message in &mut messages {
        message.run = message.run.and_then(|run| copies.get(&run).copied());
    }
    store.put_messages(branch.id, messages).await?;
    show(ctx, ShowConversationRequest { id: branch.id }).await
}

/// Returns the runs of these messages, in order.
async fn ended_runs(
    ctx: &StoreContext<'_>,
    messages: &[StoredMessage],
) -> Result<Vec<StoredRun>, OpError> {
    let mut runs: Vec<StoredRun> = Vec::new();
    for id in messages.iter().filter_map(|message| message.run) {
        if runs.iter().any(|run| run.id == id) {
            continue;
        }
        let run = ctx.stores.runs.run(id).await?;
        let run = run.ok_or_else(|| OpError::not_found(Resource::Run, id))?;
        if run.status != RunStatus::Ended {
            return Err(OpError::OpenRun { run: id.to_string() });
        }
        runs.push(run);
    }
    Ok(runs)
}
