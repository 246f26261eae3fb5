//! A question of the model that a script asks (`ask_user`): it is stored, the script waits, and the
//! answer is the result of its call.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::display_text::escape_to_line;
use toolcrib_core::store::PendingApproval;
use toolcrib_core::{
    Answer, ApprovalId, ApprovalRequest, Batch, Context, Decision, DecisionRecord, Effect,
    ErrorType, ModelResult, Outcome, ParentCall, Reach, Risk, ToolError, UserQuestion,
};

use crate::engine_inner::EngineInner;

/// The tool that asks. Its own run only checks the question; the caller continues with the result.
const ASK_USER: &str = "ask_user";

/// Maximum number of questions of one script.
pub(super) const MAX_QUESTIONS: u32 = 3;

/// Returns the question of a call, if it asks one.
pub(super) fn from_outcome(outcome: &Outcome) -> Option<UserQuestion> {
    let asks = outcome.tool.as_ref().is_some_and(|tool| tool.as_str() == ASK_USER);
    let data = outcome.result.as_ref().ok().filter(|_| asks)?.structured.as_ref()?;
    serde_json::from_value(data.get("question")?.clone()).ok()
}

/// Returns the outcome with the answer, or the suspension of the script. `batch` is the call's own
/// batch.
pub(super) async fn answer(
    engine: &EngineInner,
    outcome: Outcome,
    question: UserQuestion,
    batch: Batch,
    within: ParentCall,
) -> Answer {
    let stored = match engine.approvals.for_call(outcome.call).await {
        Ok(Some((waiting, None))) => return Answer::Suspended(Box::new(waiting.request)),
        Ok(Some((_, Some(record)))) => return answered_outcome(outcome, &question, &record),
        Ok(None) => {
            let request = request(engine, &outcome, question, &batch);
            ask(engine, request.clone(), batch, within).await.map(|()| request)
        }
        Err(error) => Err(error.to_string()),
    };
    match stored {
        Ok(request) => Answer::Suspended(Box::new(request)),
        Err(error) => {
            let text =
                format!("The question could not be stored ({error}), so the user was not asked.");
            failed_answer(outcome, ToolError::new(ErrorType::StoreFailed, text))
        }
    }
}

/// Returns the outcome with an error in place of the question.
pub(super) fn failed_answer(outcome: Outcome, error: ToolError) -> Answer {
    Answer::Done(Box::new(Outcome {
        kind: error.error_type.outcome(),
        result: Err(error),
        ..outcome
    }))
}

async fn ask(
    engine: &EngineInner,
    request: ApprovalRequest,
    batch: Batch,
    within: ParentCall,
) -> Result<(), String> {
    // The script may contain a secret.
    let parent = engine.sealing().seal_batch(&within.parent).map_err(|error| error.to_string())?;
    let environment = engine.environment.clone();
    let parent = Batch { environment: environment.clone(), ..parent };
    let within = ParentCall { parent: Arc::new(parent), ..within };
    let parent_call = Some(Box::new(within));
    let batch = Batch { calls: Vec::new(), environment, parent_call, ..batch };
    let setup = engine.setup.clone();
    let asked = engine.approvals.ask(PendingApproval { request, batch, setup }).await;
    asked.map_err(|error| error.to_string())
}

fn request(
    engine: &EngineInner,
    outcome: &Outcome,
    question: UserQuestion,
    batch: &Batch,
) -> ApprovalRequest {
    let registry = engine.registry.read();
    let spec = registry.find_any_spelling(ASK_USER).map(|tool| tool.definition_hash().to_owned());
    let definition_hash = spec.unwrap_or_default();
    let args = json!({"question": question.question, "context": question.context, "options": question.options});
    let tool = outcome.tool.clone();
    ApprovalRequest {
        id: ApprovalId::fresh(),
        call: outcome.call,
        run: batch.run,
        // The outcome has data: the question was read from it.
        tool: tool.unwrap_or_else(|| toolcrib_core::remote_name("agent", ASK_USER)),
        operation: ASK_USER.to_owned(),
        risk: Risk::Safe,
        effect: Effect::Pure,
        reach: Reach::default(),
        summary: escape_to_line(&question.question),
        reasons: Vec::new(),
        origin: batch.origin,
        context: Context::clone(&batch.context),
        binding: ApprovalRequest::compute_binding(&definition_hash, &args, batch.run),
        definition_hash,
        args,
        requested_at: engine.clock.now_ms(),
        expires_at: None,
        question: Some(question),
    }
}

/// Returns the result of an answered question; every result has a status.
fn answered_outcome(outcome: Outcome, question: &UserQuestion, record: &DecisionRecord) -> Answer {
    let data = match &record.decision {
        Decision::Answer { text } => question.answered(text),
        _ if record.is_expiry() => json!({"status": "expired"}),
        _ => json!({"status": "skipped"}),
    };
    let words = match &record.decision {
        Decision::Answer { text } => Value::String(text.clone()),
        _ => data.clone(),
    };
    let answered = |result| ModelResult { result: words, structured: Some(data), ..result };
    Answer::Done(Box::new(Outcome { result: outcome.result.map(answered), ..outcome }))
}
