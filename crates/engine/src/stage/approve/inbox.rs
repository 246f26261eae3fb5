//! Channels without an immediate question to a person: the call waits in the inbox, leaves a
//! question there, or is denied. None of these blocks.

use toolcrib_core::{
    ApprovalId, ApprovalReason, ApprovalRequest, CallId, ErrorType, EventKind, MESSAGE_CHANNEL,
    effective_channel,
};

use super::question::{question, store_question};
use super::{announce, not_asked, texts};
use crate::call_state::CallState;
use crate::stage::phase::Plan;
use crate::stage::step::{StageExit, StageResult, fail};

/// How a question about a call is handled.
pub(crate) enum ChannelAction {
    /// The approver is asked.
    Ask,
    /// The call waits in the inbox.
    WaitInInbox,
    /// The call is denied, and the inbox gets a question about a new call like it.
    DenyWithInboxQuestion,
    /// The call is denied.
    Deny,
}

/// Returns how a question is handled in the channel of a call. An unknown channel counts as
/// external.
pub(crate) fn channel_action(call: &CallState) -> ChannelAction {
    let settings = &call.policy().settings;
    if settings.ask_everywhere {
        return ChannelAction::Ask;
    }
    match effective_channel(&call.scope.context, call.scope.origin) {
        // The person who wrote the message can be asked, or the owner in the inbox.
        "chat" | MESSAGE_CHANNEL => ChannelAction::Ask,
        "background" => ChannelAction::DenyWithInboxQuestion,
        _ if settings.inbox => ChannelAction::WaitInInbox,
        _ if call.scope.subscriber.as_ref().is_some_and(|it| it.handles_approvals()) => {
            ChannelAction::WaitInInbox
        }
        _ => ChannelAction::Deny,
    }
}

/// Suspends the call: a decision in the inbox resumes it.
pub(super) async fn wait(
    call: &mut CallState,
    plan: &Plan,
    open: Vec<ApprovalReason>,
) -> StageResult<()> {
    let request = question(call, plan, open, None);
    if let Err(error) = store_question(call, plan, &request, false).await {
        return not_asked(call, plan, error).await;
    }
    announce(call, &request);
    Err(StageExit::Suspend(Box::new(request)))
}

/// Denies the call, and leaves a question in the inbox: approving it runs a new call with the same
/// arguments, outside the run, which continues.
pub(super) async fn leave_question(
    call: &mut CallState,
    plan: &Plan,
    open: Vec<ApprovalReason>,
) -> StageResult<()> {
    let mut request = question(call, plan, open, None);
    request.call = CallId::fresh();
    request.run = None;
    request.binding = ApprovalRequest::compute_binding(
        &request.definition_hash,
        plan.display_args(),
        request.run,
    );
    let id = match earlier_question(call, &request).await {
        Some(id) => id,
        None => match store_question(call, plan, &request, false).await {
            Ok(()) => request.id,
            Err(error) => return not_asked(call, plan, error).await,
        },
    };
    call.emit(EventKind::ApprovalRequired, |event| event.approval = Some(id));
    let text = format!(
        "The {} action was denied: it needs approval ({}), and no person can be asked in the background. The question is in the inbox as {id}; when the user approves it there, it runs as a new call. Do not retry it. Go on without it, and say that it waits.",
        call.operation(),
        texts(&request.reasons)
    );
    fail(ErrorType::ApprovalDenied, text)
}

/// Returns an open question about the same call, so that a task that runs every minute asks once;
/// none if the store cannot be read.
async fn earlier_question(call: &CallState, request: &ApprovalRequest) -> Option<ApprovalId> {
    let pending = call.engine().approvals.pending().await.ok()?;
    let (mine, now) = (&request.context, request.requested_at);
    let same = |other: &&ApprovalRequest| {
        let theirs = &other.context;
        other.binding == request.binding
            && (&theirs.owner, &theirs.agent) == (&mine.owner, &mine.agent)
            && theirs.workspace == mine.workspace
            && (other.question.is_none() && !other.is_expired(now))
    };
    pending.iter().find(same).map(|other| other.id)
}

/// Denies at once.
pub(super) fn deny(call: &CallState, open: &[ApprovalReason]) -> StageResult<()> {
    let text = format!(
        "The {} action was denied: it needs approval ({}), and callers from outside are not asked. Do not retry it. The owner can allow it by a rule, or let such calls wait for a decision with `inbox = true` in the configuration.",
        call.operation(),
        texts(open)
    );
    fail(ErrorType::ApprovalDenied, text)
}
