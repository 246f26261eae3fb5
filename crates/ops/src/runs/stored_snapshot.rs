//! The snapshot of a run that this process does not drive, built from its stored state.

use serde_json::Value;
use toolcrib_agent::events::PendingInput;
use toolcrib_agent::machine::{Pending, PendingKind};
use toolcrib_app::{Secrets, Stores};
use toolcrib_core::{StoreError, StoredMessage, StoredRun};
use toolcrib_providers::conversation::{Message, ModelMessage};

use super::snapshot::{ModelAnswer, RunSnapshot, SnapshotCall, SnapshotItem, args_value, to_value};
use super::stored_state::{pending_questions, status_text};
use crate::calls::serialized_name;

/// Loads the snapshot of a stored run, with secrets masked: the stored state contains them for the
/// process that resumes the run.
///
/// # Errors
/// [`StoreError`] if its messages cannot be read.
pub async fn load_snapshot(
    stores: &Stores,
    secrets: &Secrets,
    run: &StoredRun,
) -> Result<RunSnapshot, StoreError> {
    let messages = stores.runs.messages_of_run(run.conversation, run.id).await?;
    let open = from_messages(run, &messages);
    if secrets.is_empty() {
        return Ok(open);
    }
    let masked = to_value(&open).map(|open| secrets.mask_json(&open)).unwrap_or_default();
    Ok(serde_json::from_value(masked).unwrap_or_default())
}

/// Builds the snapshot of a stored run from its messages, including secrets.
fn from_messages(run: &StoredRun, messages: &[StoredMessage]) -> RunSnapshot {
    let state = &run.state;
    let at = |pointer: &str| state.pointer(pointer).cloned().filter(|value| !value.is_null());
    let number = |pointer: &str| state.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let mut view = RunSnapshot {
        run: run.id.to_string(),
        conversation: run.conversation.to_string(),
        agent: run.context.agent.clone(),
        state: run.status,
        usage: at("/state/spent/usage"),
        cost: at("/state/spent/cost"),
        tokens_saved: number("/state/spent/tokens_saved"),
        rounds: number("/state/rounds") as u32,
        scripted: state.get("scripted").and_then(Value::as_bool).unwrap_or(false),
        ..RunSnapshot::default()
    };
    (view.status, view.message) = status_text(run);
    view.waiting =
        pending_questions(run).iter().filter_map(|wait| to_value(&waiting(wait))).collect();
    let mut round = 0;
    for message in messages {
        match serde_json::from_value(message.body.clone()) {
            Ok(Message::User(said)) => {
                view.items.push(SnapshotItem::Message {
                    kind: serialized_name(&said.kind).unwrap_or_default(),
                    text: said.text,
                    images: said.images.len(),
                });
            }
            Ok(Message::Model(said)) => {
                let has_calls = !said.turn.calls.is_empty();
                add_answer(&mut view, *said, round);
                round += u32::from(has_calls);
            }
            // A newer version wrote this message, of a kind that this version does not know.
            Err(_) => {}
        }
    }
    add_pending(&mut view, &pending_questions(run), round.saturating_sub(1));
    view
}

/// Converts a pending question to the form of the event `run-paused`.
fn waiting(wait: &Pending) -> PendingInput {
    match &wait.what {
        PendingKind::Approval(request) => PendingInput::Approval(request.clone()),
        PendingKind::Answer(question) => {
            let (call, approval) = (wait.call, wait.approval());
            PendingInput::Answer { call, approval, question: question.clone() }
        }
    }
}

/// Adds a response of the model with its calls.
fn add_answer(view: &mut RunSnapshot, said: ModelMessage, round: u32) {
    let model = format!("{}/{}", said.provider, said.model);
    view.text.clone_from(&said.turn.text);
    view.items.push(SnapshotItem::Answer(ModelAnswer {
        round,
        model: model.clone(),
        text: said.turn.text.clone(),
        reasoning: said.turn.reasoning.clone(),
        done: true,
        stop: to_value(&said.turn.stop),
        usage: to_value(&said.turn.usage),
        cost: None,
    }));
    view.model.get_or_insert(model);
    for (index, call) in said.turn.calls.iter().enumerate() {
        let answer = said.answers().get(index).and_then(Option::as_ref);
        let mut shown = SnapshotCall {
            round,
            index,
            tool: call.name.clone(),
            state: "input-available".to_owned(),
            args: Some(args_value(&call.args)),
            ..SnapshotCall::default()
        };
        if let Some(answer) = answer {
            shown.call = Some(answer.call.to_string());
            if let Some(tool) = &answer.tool {
                shown.tool = tool.to_string();
            }
            shown.output = Some(answer.wire.clone());
            shown.cards = answer.cards();
            shown.error_type =
                answer.wire.get("error_type").and_then(Value::as_str).map(str::to_owned);
            let kind = answer.kind.as_ref().and_then(serialized_name);
            let kind = kind.unwrap_or_else(|| "denied".to_owned());
            shown.state = match kind.as_str() {
                "succeeded" if !answer.is_error => "output-available",
                "denied" | "expired" => "output-denied",
                _ => "output-error",
            }
            .to_owned();
            shown.outcome = Some(kind);
            shown.elapsed_ms = Some(answer.elapsed_ms.unwrap_or(0));
        }
        view.items.push(SnapshotItem::Call(Box::new(shown)));
    }
}

/// Adds approvals and questions to the calls that wait for them.
fn add_pending(view: &mut RunSnapshot, pending: &[Pending], round: u32) {
    for wait in pending {
        let found = view.items.iter_mut().find_map(|item| match item {
            SnapshotItem::Call(call) if (call.round, call.index) == (round, wait.index) => {
                Some(call)
            }
            _ => None,
        });
        if let Some(call) = found {
            call.call = Some(wait.call.to_string());
            if let PendingKind::Approval(request) = &wait.what {
                call.state = "approval-requested".to_owned();
                call.approval = to_value(request);
            }
        }
        if let PendingKind::Answer(question) = &wait.what {
            view.items.push(SnapshotItem::Question {
                call: wait.call.to_string(),
                approval: wait.approval().map(|id| id.to_string()).unwrap_or_default(),
                question: to_value(question).unwrap_or_default(),
                said: None,
            });
        }
    }
}
