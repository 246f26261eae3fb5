//! Machine transitions for answers and failures of the model.

use std::sync::Arc;

use toolcrib_core::Call;
use toolcrib_providers::conversation::{CallAnswer, Message, ModelMessage, UserKind};
use toolcrib_providers::model::{FailureKind, ModelError};
use toolcrib_providers::{Format, Stop, Turn};

use super::{Machine, Phase, RequestMode, RunEnd, model_messages};
use crate::context::Money;

/// Consecutive empty answers before the run ends: Gemini sometimes answers with nothing, and asking
/// again helps.
const EMPTY_ANSWERS: u32 = 2;

impl Machine {
    /// Records the model's answer. `calls` are those of the turn, in order, under canonical names.
    pub fn model_answered(
        &mut self,
        turn: Turn,
        provider: &str,
        model: &str,
        calls: Vec<Call>,
        cost: Option<Money>,
    ) {
        let Phase::Model { ask } = &self.state.phase else { return };
        let ask = ask.clone();
        self.state.spent.add(turn.usage, cost);
        let (stop, is_empty) = (turn.stop.clone(), turn.text.trim().is_empty());
        let message = ModelMessage::new(turn, provider, model);
        let has_calls = message.unanswered().next().is_some();
        self.history.push(Arc::new(Message::Model(Box::new(message))));
        match ask {
            RequestMode::Last { end } => {
                self.refuse_calls(&calls);
                self.last_answer(end, is_empty);
            }
            RequestMode::Open if has_calls => {
                self.state.empty_answers = 0;
                self.state.phase = Phase::Tools { calls };
            }
            RequestMode::Open => self.no_calls(&stop, is_empty),
        }
    }

    /// Records that no model answered; the partial answer is stored. The error message names the
    /// model and the remedy.
    pub fn model_failed(&mut self, error: &ModelError) {
        self.keep_partial(error);
        let end = match error.kind {
            FailureKind::Cancelled => RunEnd::Stopped,
            kind => RunEnd::Failed { kind, message: error.message.clone() },
        };
        self.end(end);
    }

    /// Handles an exhausted budget: the pending calls are not run, and the model is asked for its
    /// best answer without tools. A run that has already ended is unchanged, and one that already
    /// requests the last answer ends.
    pub fn budget_used_up(&mut self, message: String) {
        match &self.state.phase {
            Phase::Ended { .. } => return,
            Phase::Model { ask: RequestMode::Last { .. } } | Phase::Person { .. } => {
                return self.end(RunEnd::Budget { message });
            }
            Phase::Tools { calls } => {
                let calls = calls.clone();
                self.refuse_calls(&calls);
                self.state.rounds += 1;
            }
            Phase::Model { ask: RequestMode::Open } => {}
        }
        self.push_user_message(model_messages::budget(&message), UserKind::Guard);
        self.state.phase =
            Phase::Model { ask: RequestMode::Last { end: RunEnd::Budget { message } } };
    }

    /// Handles the end of the run's time during an answer; the partial answer is stored.
    pub fn out_of_time(&mut self, error: &ModelError, message: String) {
        self.keep_partial(error);
        self.inject_queued();
        self.end(RunEnd::Budget { message });
    }

    fn keep_partial(&mut self, error: &ModelError) {
        if error.partial.is_empty() {
            return;
        }
        let turn = partial_turn(&error.partial);
        let message = ModelMessage::new(turn, &error.provider, &error.model);
        self.history.push(Arc::new(Message::Model(Box::new(message))));
    }

    fn refuse_calls(&mut self, calls: &[Call]) {
        let Some(message) = self.answering() else { return };
        for (index, call) in calls.iter().enumerate() {
            message.answer(index, CallAnswer::not_run(call.id, model_messages::NO_MORE_TOOLS));
        }
    }

    /// Handles the answer that was requested without tools: one without text is requested once
    /// more, unless a budget forbids another request.
    fn last_answer(&mut self, end: RunEnd, is_empty: bool) {
        let may_ask = self.state.empty_answers == 0 && !matches!(end, RunEnd::Budget { .. });
        if !is_empty || !may_ask {
            return self.end(end);
        }
        self.state.empty_answers = 1;
        self.push_user_message(model_messages::EMPTY_LAST, UserKind::Guard);
        self.state.phase = Phase::Model { ask: RequestMode::Last { end } };
    }

    /// Handles an answer without calls: it ends the run, unless it is empty or a message is queued.
    fn no_calls(&mut self, stop: &Stop, is_empty: bool) {
        if *stop == Stop::Paused {
            self.next_round();
            return;
        }
        if self.inject_queued() {
            self.state.phase = Phase::Model { ask: RequestMode::Open };
            return;
        }
        let end = match stop {
            Stop::Refused => RunEnd::Refused,
            _ if is_empty => return self.ask_again(stop),
            Stop::Length => RunEnd::Length,
            _ => RunEnd::Completed,
        };
        self.end(end);
    }

    fn ask_again(&mut self, stop: &Stop) {
        self.state.empty_answers += 1;
        if self.state.empty_answers > EMPTY_ANSWERS {
            let message = format!(
                "the model answered with nothing {} times ({stop:?})",
                self.state.empty_answers
            );
            return self.end(RunEnd::Failed { kind: FailureKind::Unreadable, message });
        }
        self.push_user_message(model_messages::EMPTY, UserKind::Guard);
        self.state.phase = Phase::Model { ask: RequestMode::Open };
    }
}

/// Creates a turn from a partial answer: its text is stored for people and the model, without any
/// calls.
fn partial_turn(text: &str) -> Turn {
    Turn {
        format: Format::Text,
        calls: Vec::new(),
        hosted: Vec::new(),
        text: text.to_owned(),
        reasoning: String::new(),
        usage: None,
        stop: Stop::Missing,
        assistant: serde_json::Value::Null,
        complete: false,
        notes: vec!["the answer was stopped, or broke off, here".to_owned()],
    }
}
