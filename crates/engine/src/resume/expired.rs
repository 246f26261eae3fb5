//! The end of a call about which no decision came in time.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::store::{ARGS_BYTES, PendingApproval};
use toolcrib_core::{
    Answer, CallDetails, CallEnd, CallRecord, ErrorType, Outcome, OutcomeKind, Report, Settlement,
    ToolError, canonical_json,
};

use crate::engine_inner::EngineInner;

pub(crate) fn expired_error(operation: &str) -> ToolError {
    let text = format!(
        "No person answered in time whether {operation} may run; it was not run. Ask the user before you try again."
    );
    ToolError::new(ErrorType::ApprovalExpired, text)
}

/// Records the one outcome of an expired call. The question was closed just before, so nothing else
/// settles the call. `real` are its arguments with the secrets in them.
pub(super) async fn settle_expired(
    engine: &EngineInner,
    waiting: &PendingApproval,
    real: &Value,
) -> Answer {
    let request = &waiting.request;
    let error = expired_error(&request.operation);
    let parent = waiting.batch.parent_call.as_deref();
    let text = canonical_json::to_string(&engine.secrets.mask_json(&request.args));
    let facts = CallDetails {
        call: request.call,
        run: request.run,
        origin: request.origin,
        context: Arc::new(request.context.clone()),
        tool: Some(request.tool.clone()),
        asked: None,
        operation: Some(request.operation.clone()),
        definition_hash: Some(request.definition_hash.clone()),
        risk: Some(request.risk),
        effect: Some(request.effect),
        args: Some(text).filter(|text| text.len() <= ARGS_BYTES),
        args_hash: Some(canonical_json::sha256(real)),
        approval: Some(request.id),
        approved_by: None,
        parent: parent.and_then(|within| within.parent.calls.first()).map(|call| call.id),
        policy: request.reasons.first().map(|reason| format!("ask: {}", reason.text)),
        received_at: request.requested_at,
    };
    let end = CallEnd {
        outcome: OutcomeKind::Expired,
        error_type: Some(error.error_type),
        message: Some(error.message.clone()),
        attempts: 0,
        run_nanos: 0,
        ended_at: engine.clock.now_ms(),
        output_hash: None,
    };
    let outcome = Outcome {
        call: request.call,
        asked: request.tool.to_string(),
        tool: Some(request.tool.clone()),
        kind: OutcomeKind::Expired,
        result: Err(error),
        notes: Vec::new(),
        report: Report::default(),
        unrecorded: None,
    };
    // If this write fails, the next request for the call writes it: the stored decision holds.
    if let Ok(epoch) = engine.claim().await {
        let record = CallRecord { facts, started_at: None, epoch, end };
        let mut settlement = Settlement { record, outcome: None };
        if engine.calls.keeps_details() {
            settlement = settlement.with_outcome(&outcome);
        }
        let _ = engine.calls.settle(settlement).await;
    }
    Answer::Done(Box::new(outcome))
}
