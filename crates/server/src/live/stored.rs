//! The state of a run that nobody works on here, out of what is stored of it.

use serde_json::Value;
use toolcrib_app::agent::events::Waiting;
use toolcrib_app::agent::machine::{End, Pending, Waits};
use toolcrib_app::core::{RunStatus, StoredMessage, StoredRun};
use toolcrib_app::providers::chat::{Message, ModelMessage};

use super::view::{Answer, Call, Item, RunState, RunView, args_of, json, word};
use crate::daemon::Daemon;
use crate::problem::Problem;

/// The state of a stored run. What is stored is opened for whoever goes on with it; what is shown has its secrets masked.
pub(crate) async fn view(daemon: &Daemon, run: &StoredRun) -> Result<RunView, Problem> {
    let messages = daemon.stores().runs.messages(run.conversation, 0).await?;
    let secrets = &daemon.toolcrib().engine().sealing().secrets;
    let open = of(run, &messages);
    if secrets.is_empty() {
        return Ok(open);
    }
    let masked = json(&open).map(|open| secrets.mask_data(&open)).unwrap_or_default();
    Ok(serde_json::from_value(masked).unwrap_or_default())
}

/// The same from its messages.
fn of(run: &StoredRun, messages: &[StoredMessage]) -> RunView {
    let state = &run.state;
    let at = |pointer: &str| state.pointer(pointer).cloned().filter(|value| !value.is_null());
    let number = |pointer: &str| state.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let mut view = RunView {
        run: run.id.to_string(),
        conversation: run.conversation.to_string(),
        agent: run.context.agent.clone(),
        state: of_status(run.status),
        usage: at("/state/spent/usage"),
        cost: at("/state/spent/cost"),
        tokens_saved: number("/state/spent/tokens_saved"),
        rounds: number("/state/rounds") as u32,
        ..RunView::default()
    };
    (view.status, view.message) = status_of(run);
    view.waiting = pending(run).iter().filter_map(|wait| json(&waiting(wait))).collect();
    let mut round = 0;
    for message in messages.iter().filter(|message| message.run == Some(run.id)) {
        match serde_json::from_value(message.body.clone()) {
            Ok(Message::User(said)) => {
                view.items.push(Item::Message { kind: word(&said.kind), text: said.text });
            }
            Ok(Message::Model(said)) => {
                let has_calls = !said.turn.calls.is_empty();
                add(&mut view, *said, round);
                round += u32::from(has_calls);
            }
            // A message that a newer version wrote is shown by that version.
            Err(_) => {}
        }
    }
    ask(&mut view, &pending(run), round.saturating_sub(1));
    view
}

fn of_status(status: RunStatus) -> RunState {
    match status {
        RunStatus::Running => RunState::Running,
        RunStatus::Paused => RunState::Paused,
        RunStatus::Ended => RunState::Ended,
    }
}

/// How a stored run ended, or why it waits, and in which words.
pub(crate) fn status_of(run: &StoredRun) -> (Option<String>, Option<String>) {
    match run.status {
        RunStatus::Running => (None, None),
        RunStatus::Paused => {
            let waits = pending(run);
            let asks = |wait: &Pending| matches!(wait.what, Waits::Answer(_));
            let status =
                if waits.iter().any(asks) { "clarification_needed" } else { "approval_needed" };
            (Some(status.to_owned()), None)
        }
        RunStatus::Ended => {
            let end = run.state.pointer("/state/phase/end").cloned().unwrap_or_default();
            match serde_json::from_value::<End>(end) {
                Ok(end) => {
                    let message = match &end {
                        End::Failed { message, .. } | End::Budget { message } => {
                            Some(message.clone())
                        }
                        _ => None,
                    };
                    (Some(end.as_str().to_owned()), message)
                }
                Err(_) => (None, None),
            }
        }
    }
}

/// What a stored run waits for.
pub(crate) fn pending(run: &StoredRun) -> Vec<Pending> {
    let pending = run.state.pointer("/state/phase/pending").cloned().unwrap_or_default();
    serde_json::from_value(pending).unwrap_or_default()
}

/// As the event `run-paused` has it.
fn waiting(wait: &Pending) -> Waiting {
    match &wait.what {
        Waits::Approval(request) => Waiting::Approval(request.clone()),
        Waits::Answer(question) => {
            let (call, approval) = (wait.call, wait.approval());
            Waiting::Answer { call, approval, question: question.clone() }
        }
    }
}

/// An answer of the model with its calls.
fn add(view: &mut RunView, said: ModelMessage, round: u32) {
    let model = format!("{}/{}", said.provider, said.model);
    view.text.clone_from(&said.turn.text);
    view.items.push(Item::Answer(Answer {
        round,
        model: model.clone(),
        text: said.turn.text.clone(),
        reasoning: said.turn.reasoning.clone(),
        done: true,
        stop: json(&said.turn.stop),
        usage: json(&said.turn.usage),
        cost: None,
    }));
    view.model.get_or_insert(model);
    for (index, call) in said.turn.calls.iter().enumerate() {
        let answer = said.answers().get(index).and_then(Option::as_ref);
        let mut shown = Call {
            round,
            index,
            tool: call.name.clone(),
            state: "input-available".to_owned(),
            args: Some(args_of(&call.args)),
            ..Call::default()
        };
        if let Some(answer) = answer {
            shown.call = Some(answer.call.to_string());
            if let Some(tool) = &answer.tool {
                shown.tool = tool.to_string();
            }
            shown.output = Some(answer.wire.clone());
            shown.error_type =
                answer.wire.get("error_type").and_then(Value::as_str).map(str::to_owned);
            let kind = answer.kind.as_ref().map_or_else(|| "denied".to_owned(), word);
            shown.state = match kind.as_str() {
                "succeeded" if !answer.is_error => "output-available",
                "denied" | "expired" => "output-denied",
                _ => "output-error",
            }
            .to_owned();
            shown.outcome = Some(kind).filter(|kind| kind != "succeeded");
        }
        view.items.push(Item::Call(Box::new(shown)));
    }
}

/// What waits is shown with its call.
fn ask(view: &mut RunView, pending: &[Pending], round: u32) {
    for wait in pending {
        let found = view.items.iter_mut().find_map(|item| match item {
            Item::Call(call) if (call.round, call.index) == (round, wait.index) => Some(call),
            _ => None,
        });
        if let Some(call) = found {
            call.call = Some(wait.call.to_string());
            if let Waits::Approval(request) = &wait.what {
                call.state = "approval-requested".to_owned();
                call.approval = json(request);
            }
        }
        if let Waits::Answer(question) = &wait.what {
            view.items.push(Item::Question {
                call: wait.call.to_string(),
                approval: wait.approval().map(|id| id.to_string()).unwrap_or_default(),
                question: json(question).unwrap_or_default(),
                said: None,
            });
        }
    }
}
