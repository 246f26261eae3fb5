//! Stage 9: a person decides, unless a grant answers. The question is stored before it is shown;
//! the decision is valid for exactly the shown call. `resume/` resumes calls that were decided
//! elsewhere.

mod inbox;
mod question;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use toolcrib_core::grant::GrantQuery;
use toolcrib_core::invoker::DecideError;
use toolcrib_core::permission::HOST_ARGUMENTS;
use toolcrib_core::{
    ApprovalReason, ApprovalRequest, ApproverReply, Context, Decision, DecisionRecord, ErrorType,
    EventKind, Obstacle, ReasonKind, StoreError, ToolError,
};

use super::phase::{Approved, Budgeted, Plan, Ruled};
use super::step::{StageExit, StagePass, StageResult, fail};
use crate::call_state::CallState;
use crate::resume::expired::expired_error;
use crate::resume::record_decision::{NO_APPROVER, denied_by};
use crate::resume::resumed_call::ResumedCall;
pub(crate) use inbox::{ChannelAction, channel_action};
pub(crate) use question::masked;
use question::{question, store_question};

pub(crate) async fn run(call: &mut CallState, budgeted: Budgeted) -> StageResult<Approved> {
    let Budgeted { plan, asks, queued_locks } = budgeted;
    let pass = if let Some(resumed) = call.resumed.take() {
        apply_earlier(call, &plan, &resumed)?
    } else if asks.is_empty() {
        StagePass::skipped(())
    } else {
        approve(call, &plan, &asks).await?
    };
    Ok(pass.map(|()| Approved { plan, queued_locks }))
}

async fn approve(call: &mut CallState, plan: &Plan, asks: &[ApprovalReason]) -> StageResult<()> {
    let open = without_grant(call, plan, asks).await;
    if open.is_empty() {
        return Ok(granted());
    }
    match channel_action(call) {
        ChannelAction::Ask => ask_approver(call, plan, open).await,
        ChannelAction::WaitInInbox => inbox::wait(call, plan, open).await,
        ChannelAction::DenyWithInboxQuestion => inbox::leave_question(call, plan, open).await,
        ChannelAction::Deny => inbox::deny(call, &open),
    }
}

fn granted() -> StagePass<()> {
    StagePass::with_note((), "a grant answers")
}

async fn ask_approver(
    call: &mut CallState,
    plan: &Plan,
    open: Vec<ApprovalReason>,
) -> StageResult<()> {
    let Some(approver) = call.engine().approver.clone() else {
        return no_approver(call, plan, &open);
    };
    let turn = tokio::select! {
        turn = approver.acquire_prompt() => turn,
        () = call.cancel.cancelled() => {
            return fail(ErrorType::Cancelled, "The call was stopped before a person was asked about it; it was not run.");
        }
    };
    // The decision about the question before this one may answer this one too.
    let open = if turn.is_some() { without_grant(call, plan, &open).await } else { open };
    if open.is_empty() {
        return Ok(granted());
    }
    let wait = call.policy().settings.approval_timeout;
    let request = question(call, plan, open, wait);
    // Registered before the question can be seen: an immediate decision finds the call here, and a
    // dropped call closes its question.
    let mut handle = call.engine().pending_approvals.register(request.id);
    call.open_question = Some(request.id);
    if let Err(error) = store_question(call, plan, &request, true).await {
        call.open_question = None;
        return not_asked(call, plan, error).await;
    }
    announce(call, &request);
    let asked = AssertUnwindSafe(async { approver.ask(&request).await }).catch_unwind();
    let asked = tokio::select! {
        asked = with_deadline(wait, asked) => asked,
        // Decided on another surface: do not wait for the answer here.
        Some(record) = handle.decision() => {
            call.approval_handle = Some(handle);
            return apply(call, ResumedCall { request, record });
        }
        () = call.cancel.cancelled() => {
            close(call, &request, "stopped").await;
            return fail(ErrorType::Cancelled, "The call was stopped while it waited for approval; it was not run.");
        }
    };
    if matches!(asked, Some(Ok(ApproverReply::Deferred))) {
        call.open_question = None;
        return match handle.withdraw() {
            Some(record) => {
                call.approval_handle = Some(handle);
                apply(call, ResumedCall { request, record })
            }
            None => Err(StageExit::Suspend(Box::new(request))),
        };
    }
    // From here on the call continues in this task, even if another surface decides meanwhile.
    handle.mark_resumed();
    call.approval_handle = Some(handle);
    let step = match asked {
        Some(Ok(ApproverReply::Decided { decision, by })) => {
            apply_decision_now(call, request, decision, by).await
        }
        Some(undecided) => match close(call, &request, NO_APPROVER).await {
            Some(record) => apply(call, ResumedCall { request, record }),
            None if undecided.is_ok() => no_approver(call, plan, &request.reasons),
            None => {
                let operation = call.operation();
                let text =
                    format!("{operation} could not be approved: asking failed. Do not retry it.");
                fail(ErrorType::ApprovalDenied, text)
            }
        },
        None => match close(call, &request, DecisionRecord::DEADLINE).await {
            // Decided at the last moment, on another surface.
            Some(record) => apply(call, ResumedCall { request, record }),
            None => expired(call),
        },
    };
    // Held until the decision is stored, so that it can answer the next question.
    drop(turn);
    step
}

/// Notifies observers and the subscriber that a person is asked.
fn announce(call: &CallState, request: &ApprovalRequest) {
    call.emit(EventKind::ApprovalRequired, |event| event.approval = Some(request.id));
    if let Some(subscriber) = &call.scope.subscriber {
        subscriber.on_approval_request(request);
    }
}

/// Closes a question that no task waits for any more. Returns the decision if one arrived first.
async fn close(
    call: &mut CallState,
    request: &ApprovalRequest,
    by: &str,
) -> Option<DecisionRecord> {
    let record = denied_by(by, call.engine().clock.now_ms());
    call.open_question = None;
    call.engine().approvals.decide(request.id, record).await.ok()?.err()
}

async fn with_deadline<T>(limit: Option<Duration>, future: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, future).await.ok(),
        None => Some(future.await),
    }
}

/// Returns the reasons to ask that no grant answers.
pub(crate) async fn unanswered_reasons(call: &CallState, ruled: &Ruled) -> Vec<ApprovalReason> {
    without_grant(call, &ruled.plan, &ruled.asks).await
}

/// Returns the reasons among `asks` that no grant answers. If the store cannot be read, no grant
/// answers.
async fn without_grant(
    call: &CallState,
    plan: &Plan,
    asks: &[ApprovalReason],
) -> Vec<ApprovalReason> {
    let context: &Context = &call.scope.context;
    let query = GrantQuery {
        owner: &context.owner,
        operation: call.operation(),
        args: plan.display_args(),
        definition_hash: plan.tool().definition_hash(),
        risk: plan.assessment.risk,
        run: call.scope.run.as_ref().map(|run| run.id),
        conversation: &context.conversation,
        now_ms: call.engine().clock.now_ms(),
    };
    let mut open = Vec::new();
    for ask in asks {
        // No grant answers reasons that always ask, not even one that was stored by hand.
        if ask.kind.always_asks() {
            open.push(ask.clone());
            continue;
        }
        let grant = call.engine().grants.find(query, ask.kind).await;
        if !matches!(grant, Ok(Some(_))) {
            open.push(ask.clone());
        }
    }
    open
}

/// Ends a call whose question could not be stored. Without a stored question no person is asked: no
/// other process could find it, and the call would wait forever. If another process has asked about
/// this very call, because it considered this one dead, that is the one question.
async fn not_asked(call: &mut CallState, plan: &Plan, error: StoreError) -> StageResult<()> {
    let first = match error {
        StoreError::Conflict(_) => call.engine().approvals.for_call(call.id).await,
        error => Err(error),
    };
    match first {
        Ok(Some((waiting, None))) => Err(StageExit::Suspend(Box::new(waiting.request))),
        Ok(Some((waiting, Some(record)))) => {
            let resumed = ResumedCall { request: waiting.request, record };
            match resumed.record.decision {
                Decision::Edit { .. } => Err(StageExit::Rerun(Box::new(resumed))),
                _ => apply_earlier(call, plan, &resumed),
            }
        }
        Ok(None) => could_not_be_stored(call, "another question has its id"),
        Err(error) => could_not_be_stored(call, &error.to_string()),
    }
}

fn could_not_be_stored(call: &CallState, why: &str) -> StageResult<()> {
    let text = format!(
        "The {} action needs approval, but the question could not be stored ({why}); it was not run. Do not retry it now.",
        call.operation()
    );
    fail(ErrorType::StoreFailed, text)
}

async fn apply_decision_now(
    call: &mut CallState,
    request: ApprovalRequest,
    decision: Decision,
    by: String,
) -> StageResult<()> {
    let now = call.engine().clock.now_ms();
    let record = DecisionRecord { decision, decided_by: by, decided_at: now };
    let engine = Arc::clone(call.engine());
    let record = match engine.decisions().record(request.id, record).await {
        Ok(record) => record,
        // Another surface was faster: its decision applies.
        Err(DecideError::AlreadyDecided(first)) => *first,
        Err(DecideError::Expired) => DecisionRecord::expiry(now),
        Err(error) => {
            return fail(
                ErrorType::StoreFailed,
                format!("The decision could not be stored ({error}); the call was not run."),
            );
        }
    };
    apply(call, ResumedCall { request, record })
}

/// Applies a decision in the same pipeline: the arguments are those that were shown, so only edited
/// ones must enter the pipeline again.
fn apply(call: &mut CallState, resumed: ResumedCall) -> StageResult<()> {
    call.open_question = None;
    call.facts.approval = Some(resumed.request.id);
    call.emit(EventKind::ApprovalDecided, |event| {
        event.approval = Some(resumed.request.id);
        event.decided_by = Some(resumed.record.decided_by.clone());
    });
    if let Some(subscriber) = &call.scope.subscriber {
        subscriber.on_decision(&resumed.request, &resumed.record);
    }
    match &resumed.record.decision {
        Decision::Edit { .. } => Err(StageExit::Rerun(Box::new(resumed))),
        _ => verdict(call, &resumed),
    }
}

/// Applies the decision to a resumed call: it is valid only for the arguments that were shown, or
/// for those that the person wrote instead.
fn apply_earlier(call: &mut CallState, plan: &Plan, resumed: &ResumedCall) -> StageResult<()> {
    call.facts.approval = Some(resumed.request.id);
    let tool = plan.tool();
    if tool.definition_hash() != resumed.request.definition_hash {
        return fail(
            ErrorType::ApprovalDenied,
            format!(
                "{} has changed since it was approved, so it was not run. Call it again to ask anew.",
                call.asked
            ),
        );
    }
    let now = ApprovalRequest::compute_binding(
        tool.definition_hash(),
        plan.display_args(),
        resumed.request.run,
    );
    let edited = matches!(resumed.record.decision, Decision::Edit { .. });
    if !edited && now != resumed.request.binding {
        return fail(
            ErrorType::ApprovalDenied,
            "The arguments are not those that were approved, so the call was not run.",
        );
    }
    if edited {
        call.notes.push("The user changed the arguments before approving.".to_owned());
    }
    verdict(call, resumed)
}

fn verdict(call: &mut CallState, resumed: &ResumedCall) -> StageResult<()> {
    let by = &resumed.record.decided_by;
    match &resumed.record.decision {
        Decision::Approve { .. } | Decision::Edit { .. } => {
            call.facts.approved_by = Some(by.clone());
            Ok(StagePass::with_note((), format!("approved by {by}")))
        }
        // No person decided before the deadline.
        Decision::Deny { .. } if resumed.record.is_expiry() => expired(call),
        Decision::Deny { note } if only_permissions(&resumed.request) => {
            let because = note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
            let asked: Vec<&str> =
                resumed.request.reasons.iter().map(|r| r.text.as_str()).collect();
            call.emit(EventKind::PermissionDenied, |event| {
                event.error_type = Some(ErrorType::PermissionDenied);
            });
            fail(
                ErrorType::PermissionDenied,
                format!("{} was denied by the user{because}. Do not retry it.", asked.join(", ")),
            )
        }
        Decision::Deny { note } => {
            let because = note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
            let operation = call.operation().to_owned();
            fail(
                ErrorType::ApprovalDenied,
                format!("The {operation} action was denied by the user{because}. Do not retry it."),
            )
        }
        Decision::Skip | Decision::Answer { .. } => {
            let operation = call.operation().to_owned();
            fail(
                ErrorType::ApprovalDenied,
                format!(
                    "The {operation} action was skipped by the user and not run. Go on without it."
                ),
            )
        }
    }
}

/// Returns whether the question was only about permissions of the host.
fn only_permissions(request: &ApprovalRequest) -> bool {
    request.reasons.iter().all(|reason| reason.kind == ReasonKind::Permission)
}

fn texts(asks: &[ApprovalReason]) -> String {
    asks.iter().map(|ask| ask.text.as_str()).collect::<Vec<_>>().join("; ")
}

fn no_approver(call: &CallState, plan: &Plan, open: &[ApprovalReason]) -> StageResult<()> {
    let text = format!(
        "The {} action needs approval and no person can be asked here ({}).",
        call.operation(),
        texts(open)
    );
    let error = ToolError::new(ErrorType::ApprovalDenied, text)
        .with_instruction("Do not retry it; say what you would have done.");
    Err(StageExit::Fail(match private_address(plan) {
        Some(target) => error.with_obstacle(Obstacle::Address { target }),
        None => error,
    }))
}

/// Returns the address of a private network that an HTTP tool asks about. The shell, which names
/// its hosts in a separate argument, has other settings for them.
fn private_address(plan: &Plan) -> Option<String> {
    let [of_shell, _] = HOST_ARGUMENTS;
    let is_http = plan.display_args().get(of_shell).is_none();
    plan.assessed_hosts().next().filter(|_| is_http).map(str::to_owned)
}

fn expired(call: &CallState) -> StageResult<()> {
    Err(StageExit::Fail(expired_error(call.operation())))
}
