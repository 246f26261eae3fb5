//! Channels in which nobody is asked at once (DESIGN 9, Channels): the call waits in the inbox, leaves a question there, or is denied. None
//! of this waits for a person.

use toolcrib_core::{
    ApprovalId, ApprovalRequest, AskReason, CallId, ErrorType, EventKind, channel,
};

use super::{keep_question, not_asked, question, texts};
use crate::flight::{InFlight, Step, Stop, fail};

/// What asking means for a call.
pub(crate) enum Way {
    /// The approver is asked.
    Ask,
    /// The call waits in the inbox.
    Wait,
    /// The call is denied, and the inbox gets a question about a new call like it.
    Keep,
    /// The call is denied.
    Deny,
}

/// What asking means in the channel of a call. One that nobody knows counts as outside.
pub(crate) fn way(flight: &InFlight) -> Way {
    let settings = &flight.policy().settings;
    if settings.ask_everywhere {
        return Way::Ask;
    }
    match channel(&flight.scope.context, flight.scope.origin) {
        "chat" => Way::Ask,
        "background" => Way::Keep,
        _ if settings.inbox => Way::Wait,
        _ if flight.scope.watch.as_ref().is_some_and(|watch| watch.takes_questions()) => Way::Wait,
        _ => Way::Deny,
    }
}

/// Puts the call aside: whoever decides in the inbox lets it go on.
pub(super) async fn wait(flight: &mut InFlight, open: Vec<AskReason>) -> Step {
    let request = question(flight, open, None)?;
    if let Err(error) = keep_question(flight, &request, false).await {
        return not_asked(flight, error).await;
    }
    flight.tell(EventKind::ApprovalRequired, |event| event.approval = Some(request.id));
    if let Some(watch) = &flight.scope.watch {
        watch.asked(&request);
    }
    Err(Stop::Suspend(Box::new(request)))
}

/// Denies the call, and leaves a question in the inbox: approving it runs a new call with the same arguments, outside the run, which goes on.
pub(super) async fn keep(flight: &mut InFlight, open: Vec<AskReason>) -> Step {
    let mut request = question(flight, open, None)?;
    request.call = CallId::fresh();
    request.run = None;
    request.binding =
        ApprovalRequest::binding_of(&request.definition_hash, flight.shown_args(), request.run);
    let id = match kept_before(flight, &request).await {
        Some(id) => id,
        None => match keep_question(flight, &request, false).await {
            Ok(()) => request.id,
            Err(error) => return not_asked(flight, error).await,
        },
    };
    flight.tell(EventKind::ApprovalRequired, |event| event.approval = Some(id));
    let text = format!(
        "The {} action was denied: it needs approval ({}), and nobody is there to be asked in the background. The question is kept in the inbox as {id}; when the user approves it there, it runs as a new call. Do not retry it. Go on without it, and say that it waits.",
        flight.operation(),
        texts(&request.reasons)
    );
    fail(ErrorType::ApprovalDenied, text)
}

/// A question about the same call that is open already: what runs every minute asks once. A store that cannot be read has none.
async fn kept_before(flight: &InFlight, request: &ApprovalRequest) -> Option<ApprovalId> {
    let pending = flight.engine().approvals.pending().await.ok()?;
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
pub(super) fn deny(flight: &InFlight, open: &[AskReason]) -> Step {
    let text = format!(
        "The {} action was denied: it needs approval ({}), and callers from outside are not asked. Do not retry it. The owner can allow it by a rule, or let such calls wait for a decision with `inbox = true` in the configuration.",
        flight.operation(),
        texts(open)
    );
    fail(ErrorType::ApprovalDenied, text)
}
