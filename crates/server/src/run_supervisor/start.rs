//! Starts a run: checks the request, acquires a permit, stores the run, and then returns. The run
//! continues when the client disconnects.

use std::sync::Arc;

use toolcrib_app::runner::StartRequest;
use toolcrib_core::{ConversationId, RunId, RunStatus};
use toolcrib_ops::runs::{RunSnapshot, SnapshotItem};

use super::active_run::ActiveRun;
use super::drive::{self, StartPoint, is_abandoned};
use super::error::{BusyReason, RunError};
use super::run_idempotency;
use super::supervisor::RunSupervisor;
use crate::daemon_host::RunRequest;

/// Maximum number of an owner's runs that are searched for one of the same conversation; older ones
/// have ended.
const MAX_SCANNED: usize = 1_000;

/// The principal that starts a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requester {
    /// Its name in records.
    pub(crate) name: String,
    /// The client whose limits apply.
    pub(crate) client: String,
    /// The tools of the token's limit; `None` for all tools.
    pub(crate) tools: Option<Vec<String>>,
}

/// A request to start a run.
pub(crate) struct StartOptions {
    /// The request to the host.
    pub(crate) request: RunRequest,
    /// The principal that starts the run.
    pub(crate) requester: Requester,
    /// Idempotency key, and the fingerprint of the request.
    pub(crate) key: Option<(String, String)>,
    /// Source of a part of the message that is untrusted text.
    pub(crate) untrusted: Option<String>,
}

/// Starts a run, or finds the run that was started under the same key. The run is stored when this
/// returns.
pub(crate) async fn start_run(
    supervisor: &RunSupervisor,
    options: StartOptions,
) -> Result<RunId, RunError> {
    if supervisor.shutdown_token().is_cancelled() {
        return Err(RunError::Stopping);
    }
    let StartOptions { request, requester, key, untrusted } = options;
    let continues = request.conversation.is_some();
    if let Some(conversation) = request.conversation {
        check_conversation_owner(supervisor, &request.owner, conversation).await?;
        check_conversation_tools(supervisor, &request.owner, &requester, conversation).await?;
    }
    let depth = request.depth;
    let mut start = supervisor.host().prepare_run(request).await?;
    start.untrusted = untrusted;
    start.context.depth = depth;
    let Some((key, fingerprint)) = key else {
        let id = RunId::fresh();
        start_as(supervisor, &requester, (id, start), continues).await?;
        return Ok(id);
    };
    let claim = run_idempotency::claim(supervisor, &start.context.owner, &key, fingerprint).await?;
    let id = claim.run();
    if claim.is_started() {
        return Ok(id);
    }
    start_as(supervisor, &requester, (id, start), continues).await?;
    claim.done().await;
    Ok(id)
}

/// Checks the owner of the conversation. A conversation of another owner is reported as unknown.
async fn check_conversation_owner(
    supervisor: &RunSupervisor,
    owner: &str,
    id: ConversationId,
) -> Result<(), RunError> {
    let found = supervisor.stores().runs.conversation(id).await?;
    match found.filter(|found| found.owner == owner) {
        Some(_) => Ok(()),
        None => Err(RunError::UnknownConversation(id)),
    }
}

/// Checks that a token that is limited to some tools continues only its own conversations: those of
/// others contain results of other tools, which its run would read.
async fn check_conversation_tools(
    supervisor: &RunSupervisor,
    owner: &str,
    requester: &Requester,
    id: ConversationId,
) -> Result<(), RunError> {
    if requester.tools.is_none() {
        return Ok(());
    }
    let runs = supervisor.stores().runs.runs(owner, None, MAX_SCANNED).await?;
    let mut runs = runs.iter().filter(|run| run.conversation == id).peekable();
    let is_own = runs.peek().is_some() && runs.all(|run| run.context.device == requester.name);
    if is_own { Ok(()) } else { Err(RunError::ConversationOfOthers(id)) }
}

/// Checks that no other run of the conversation is active: two runs would overwrite each other's
/// messages.
async fn check_conversation_free(
    supervisor: &RunSupervisor,
    start: &StartRequest,
) -> Result<(), RunError> {
    let stores = supervisor.stores();
    for status in [RunStatus::Running, RunStatus::Paused] {
        let runs = stores.runs.runs(&start.context.owner, Some(status), MAX_SCANNED).await?;
        let same = runs.iter().find(|run| run.conversation == start.conversation);
        let Some(run) = same else { continue };
        let why = match status {
            RunStatus::Paused => BusyReason::Paused,
            // An abandoned run is recovered soon, so it also blocks the conversation.
            _ if is_abandoned(supervisor, run).await? => BusyReason::Abandoned,
            _ => BusyReason::Active,
        };
        return Err(RunError::ConversationBusy { run: run.id, why });
    }
    Ok(())
}

async fn start_as(
    supervisor: &RunSupervisor,
    requester: &Requester,
    (id, mut start): (RunId, StartRequest),
    continues: bool,
) -> Result<(), RunError> {
    let permit = supervisor.acquire_permit(id, start.conversation, Some(&requester.client))?;
    if continues {
        // Check while the permit is held, so that one of two concurrent requests to this process
        // fails.
        check_conversation_free(supervisor, &start).await?;
    }
    // The device is recorded with every call: with four eyes, its principal may not decide about
    // it.
    start.context.device.clone_from(&requester.name);
    drive::set_worker(supervisor, &mut start.setup).await?;
    drive::restrict_tools(supervisor, &mut start, requester.tools.as_deref());
    let secrets = &supervisor.toolcrib().engine().sealing().secrets;
    let text = secrets.mask(start.message.text.clone());
    let snapshot = RunSnapshot {
        run: id.to_string(),
        conversation: start.conversation.to_string(),
        agent: start.agent.name.clone(),
        items: vec![SnapshotItem::Message {
            kind: "typed".to_owned(),
            text,
            images: start.message.images.len(),
        }],
        ..RunSnapshot::default()
    };
    let owner = start.context.owner.clone();
    let run = Arc::new(ActiveRun::new(id, start.conversation, owner, snapshot));
    drive::drive(supervisor, permit, run, StartPoint::Start(Box::new(start))).await
}
