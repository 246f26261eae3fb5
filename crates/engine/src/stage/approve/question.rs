//! The question about a call, for display and for the store.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::display_text::escape_to_line;
use toolcrib_core::store::PendingApproval;
use toolcrib_core::{
    ApprovalId, ApprovalReason, ApprovalRequest, Batch, Call, Context, ParentCall, RawArgs,
    StoreError,
};

use crate::call_state::CallState;
use crate::secrets::Secrets;
use crate::stage::phase::Plan;

/// Creates the question about a call.
pub(super) fn question(
    call: &CallState,
    plan: &Plan,
    reasons: Vec<ApprovalReason>,
    wait: Option<Duration>,
) -> ApprovalRequest {
    let (tool, assessed) = (plan.tool(), &plan.assessment);
    let secrets = &call.engine().secrets;
    let now = call.engine().clock.now_ms();
    let run = call.scope.run.as_ref().map(|run| run.id);
    ApprovalRequest {
        id: ApprovalId::fresh(),
        call: call.id,
        run,
        tool: tool.spec().name.clone(),
        operation: call.operation().to_owned(),
        args: secrets.mask_json(plan.display_args()),
        risk: assessed.risk,
        effect: assessed.effect,
        reach: assessed.reach,
        summary: escape_to_line(
            &secrets
                .mask(with_number(call, assessed.summary.as_ref().unwrap_or(&tool.spec().title))),
        ),
        reasons: masked(secrets, &reasons),
        origin: call.scope.origin,
        context: Context::clone(&call.scope.context),
        definition_hash: tool.definition_hash().to_owned(),
        binding: ApprovalRequest::compute_binding(tool.definition_hash(), plan.display_args(), run),
        requested_at: now,
        expires_at: wait.map(|wait| now.saturating_add(wait.as_millis() as i64)),
        question: None,
    }
}

/// Returns the summary of a call, with its number if a script makes it: "inside a script, call 7 of
/// at most 50".
fn with_number(call: &CallState, summary: &str) -> String {
    match &call.scope.parent {
        Some(parent) => {
            let ParentCall { number, most, .. } = &parent.within;
            format!("inside a script, call {number} of at most {most}: {summary}")
        }
        None => summary.to_owned(),
    }
}

/// Returns the reasons to ask for people: with secrets masked, one line each.
pub(crate) fn masked(secrets: &Secrets, asks: &[ApprovalReason]) -> Vec<ApprovalReason> {
    let mask = |ask: &ApprovalReason| ApprovalReason {
        text: escape_to_line(&secrets.mask(ask.text.clone())),
        ..ask.clone()
    };
    asks.iter().map(mask).collect()
}

/// Returns the parent in its stored form.
fn stored_parent(call: &CallState) -> Result<Option<Box<ParentCall>>, StoreError> {
    let Some(parent) = &call.scope.parent else { return Ok(None) };
    let sealed = call.engine().sealing().seal_batch(&parent.within.parent);
    let sealed = sealed.map_err(|error| StoreError::Failed(error.to_string()))?;
    let environment = call.engine().environment.clone();
    let sealed = Arc::new(Batch { environment, ..sealed });
    Ok(Some(Box::new(ParentCall { parent: sealed, ..parent.within.clone() })))
}

/// Stores a question with its call. If `here`, this process waits for the decision; otherwise the
/// process that handles the decision resumes the call.
pub(super) async fn store_question(
    call: &CallState,
    plan: &Plan,
    request: &ApprovalRequest,
    here: bool,
) -> Result<(), StoreError> {
    let args = RawArgs::Value(plan.display_args().clone());
    let args = call.engine().sealing().seal_args(args);
    let args = args.map_err(|error| StoreError::Failed(error.to_string()))?;
    let asked_about = Call { id: request.call, name: call.asked.clone(), args };
    let batch = Batch {
        run: request.run,
        origin: call.scope.origin,
        context: Arc::clone(&call.scope.context),
        view: Arc::clone(&call.scope.view),
        calls: vec![asked_about],
        is_replay: false,
        environment: call.engine().environment.clone(),
        parent_call: stored_parent(call)?,
    };
    let mut setup = call.engine().setup.clone();
    if let Some(setup) = setup.as_object_mut().filter(|_| here) {
        setup.insert("worker".to_owned(), call.engine().epoch().into());
    }
    let waiting = PendingApproval { request: request.clone(), batch, setup };
    call.engine().approvals.ask(waiting).await
}
