//! What the model said, or why it said nothing.

use std::sync::Arc;

use toolcrib_core::Call;
use toolcrib_providers::chat::{CallAnswer, Message, ModelMessage, UserKind};
use toolcrib_providers::model::{FailureKind, ModelError};
use toolcrib_providers::{Format, Stop, Turn};

use super::{Ask, End, Machine, Phase, texts};
use crate::context::Money;

/// Empty answers in a row before the run ends (research/protocols 2.4: re-ask, bounded).
const EMPTY_ANSWERS: u32 = 2;

impl Machine {
    /// The model answered. `calls` are those of the turn, in its order, under canonical names.
    pub fn answered(
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
        let has_calls = message.open().next().is_some();
        self.history.push(Arc::new(Message::Model(Box::new(message))));
        match ask {
            Ask::Last { end } => {
                self.refuse_calls(&calls);
                self.end(end);
            }
            Ask::Open if has_calls => {
                self.state.empty_answers = 0;
                self.state.phase = Phase::Tools { calls };
            }
            Ask::Open => self.no_calls(&stop, is_empty),
        }
    }

    /// No model answered; what had arrived of an answer is kept. The error's message says which model, and what to do.
    pub fn failed(&mut self, error: &ModelError) {
        self.keep_partial(error);
        let end = match error.kind {
            FailureKind::Cancelled => End::Stopped,
            kind => End::Failed { kind, message: error.message.clone() },
        };
        self.end(end);
    }

    /// The run's time was over before the model is asked: it is asked for the best answer that it has, without tools.
    pub fn no_time_left(&mut self, message: String) {
        if self.state.phase != (Phase::Model { ask: Ask::Open }) {
            return;
        }
        self.say(texts::budget(&message), UserKind::Guard);
        self.state.phase = Phase::Model { ask: Ask::Last { end: End::Budget { message } } };
    }

    /// The run's time was over while the model answered; what had arrived is kept.
    pub fn out_of_time(&mut self, error: &ModelError, message: String) {
        self.keep_partial(error);
        self.inject_queued();
        self.out_of_budget(message);
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
            message.answer(index, CallAnswer::not_run(call.id, texts::NO_MORE_TOOLS));
        }
    }

    /// An answer without calls ends the run, unless it is none, or somebody wrote meanwhile.
    fn no_calls(&mut self, stop: &Stop, is_empty: bool) {
        if *stop == Stop::Paused {
            self.next_round();
            return;
        }
        if self.inject_queued() {
            self.state.phase = Phase::Model { ask: Ask::Open };
            return;
        }
        let end = match stop {
            Stop::Refused => End::Refused,
            _ if is_empty => return self.ask_again(stop),
            Stop::Length => End::Length,
            _ => End::Completed,
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
            return self.end(End::Failed { kind: FailureKind::Unreadable, message });
        }
        self.say(texts::EMPTY, UserKind::Guard);
        self.state.phase = Phase::Model { ask: Ask::Open };
    }
}

/// A turn of which only the beginning arrived: its text is kept for people and for the model, no call of it exists.
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
