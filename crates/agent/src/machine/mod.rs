//! The loop as a state machine without I/O: it says what is to be done next and is told what came of it.
//!
//! It can be stored at any step and finished by another process: everything that it knows is in [`Machine`], which is plain data. Each call
//! of the model has exactly one result, because a message cannot be sent on before each of its slots is filled.

mod guard;
mod model;
mod person;
mod state;
#[cfg(test)]
mod tests;
pub(crate) mod texts;
mod tools;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolcrib_core::{Call, CallId, ConversationId, Labels, RunId};
use toolcrib_providers::chat::{CallAnswer, Message, ModelMessage, UserKind, UserMessage};

pub(crate) use tools::asked;

pub use state::{
    ActiveSkill, Ask, End, MOST_ROUNDS, Pending, Phase, Progress, Question, ROUNDS, STATE_VERSION,
    Said, Spent, State, Waits,
};

use toolcrib_providers::Usage;

use crate::context::{Money, Summary};
use crate::offer::Injected;

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next<'a> {
    /// Ask the model; then [`Machine::answered`] or [`Machine::failed`].
    CallModel(&'a Ask),
    /// Run the calls of the newest message through the door; then [`Machine::ran`].
    CallTools(&'a [Call]),
    /// Wait for people; then [`Machine::said`] and [`Machine::decided`], once for each.
    AskPerson(&'a [Pending]),
    /// Nothing: it is over.
    Done(&'a End),
}

/// One run of the loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    state: State,
    history: Vec<Arc<Message>>,
}

impl Machine {
    /// A run that begins with a message in a conversation.
    #[must_use]
    pub fn begin(
        run: RunId,
        conversation: ConversationId,
        mut history: Vec<Arc<Message>>,
        message: UserMessage,
        rounds_limit: Option<u32>,
    ) -> Self {
        close_open_calls(&mut history, &[]);
        let injected = Injected::of(history.iter().map(|message| &**message));
        history.push(Arc::new(Message::User(message)));
        let state = State {
            version: STATE_VERSION,
            run,
            conversation,
            rounds_limit,
            phase: Phase::Model { ask: Ask::Open },
            begun_at: None,
            rounds: 0,
            calls: 0,
            empty_answers: 0,
            questions: 0,
            summary: None,
            queued: Vec::new(),
            said: Vec::new(),
            skills: Vec::new(),
            progress: Progress::default(),
            spent: Spent::default(),
            labels: Labels::default(),
            injected,
        };
        Self { state, history }
    }

    /// A run as it was stored.
    #[must_use]
    pub fn restore(state: State, history: Vec<Arc<Message>>) -> Self {
        Self { state, history }
    }

    /// What is to be done next. Asking twice changes nothing.
    #[must_use]
    pub fn next(&self) -> Next<'_> {
        match &self.state.phase {
            Phase::Model { ask } => Next::CallModel(ask),
            Phase::Tools { calls } => Next::CallTools(calls),
            Phase::Person { pending } => Next::AskPerson(pending),
            Phase::Ended { end } => Next::Done(end),
        }
    }

    /// Whether the newest message is the one whose calls are being answered, as the state says. It is not when another run has written
    /// into the conversation since this one was stored.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        let open: Vec<usize> = match self.history.last().map(|message| &**message) {
            Some(Message::Model(message)) => message.open().collect(),
            _ => Vec::new(),
        };
        match &self.state.phase {
            Phase::Tools { calls } => open.len() == calls.len(),
            Phase::Person { pending } => pending.iter().all(|wait| open.contains(&wait.index)),
            Phase::Model { .. } | Phase::Ended { .. } => open.is_empty(),
        }
    }

    /// Everything but the messages.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The messages, oldest first.
    #[must_use]
    pub fn history(&self) -> &[Arc<Message>] {
        &self.history
    }

    /// Text of the newest message of the model; empty when it has said nothing yet in this run.
    #[must_use]
    pub fn answer(&self) -> &str {
        self.newest().map_or("", |message| &message.turn.text)
    }

    /// Takes over the summary of an earlier run of the conversation, or a new one.
    pub fn summarised(&mut self, summary: Option<Summary>) {
        self.state.summary = summary;
    }

    /// What was read before, in the conversation, or meanwhile. Nothing is ever taken away.
    pub fn labelled(&mut self, labels: &Labels) {
        self.state.labels.inherit(labels);
    }

    /// Tools were found by calls inside of calls: they stay for the conversation.
    pub fn inject(&mut self, names: impl IntoIterator<Item = String>) {
        self.state.injected.add(names);
    }

    /// A request left tools out, and with them so many tokens.
    pub fn saved(&mut self, tokens: u64) {
        let saved = &mut self.state.spent.tokens_saved;
        *saved = saved.saturating_add(tokens);
    }

    /// A request besides the conversation was answered, such as one for a summary.
    pub fn charged(&mut self, usage: Option<Usage>, cost: Option<Money>) {
        self.state.spent.add(usage, cost);
    }

    /// A skill is active from here on; one that is active already is not added twice, and one that was active from the start stays so: a
    /// model must not turn a bound that a person set into one of its own.
    pub fn activate(&mut self, mut skill: ActiveSkill) {
        let mut same = self.state.skills.iter().filter(|active| active.name == skill.name);
        skill.in_prompt |= same.any(|active| active.in_prompt);
        self.state.skills.retain(|active| active.name != skill.name);
        self.state.skills.push(skill);
    }

    /// When the run began, in milliseconds since 1970; the first time that is said stands.
    pub fn begun(&mut self, at: i64) {
        self.state.begun_at.get_or_insert(at);
    }

    /// The model is about to be asked: a boundary, at which what was queued is said.
    pub fn before_request(&mut self) {
        if let Phase::Model { .. } = self.state.phase {
            self.inject_queued();
        }
    }

    /// A message that was written while the run works: it is injected at the next boundary. One that comes when the run is over is given
    /// back.
    ///
    /// # Errors
    /// The message itself, when the run is over.
    pub fn queue(&mut self, mut message: UserMessage) -> Result<(), UserMessage> {
        if let Phase::Ended { .. } = self.state.phase {
            return Err(message);
        }
        message.kind = UserKind::Queued;
        self.state.queued.push(message);
        Ok(())
    }

    /// Stops it wherever it stands: open calls are answered, what was said stays.
    pub fn stop(&mut self) {
        self.end(End::Stopped);
    }

    /// A budget is used up: the run ends where it stands, what was said stays. One that has ended already stays as it ended.
    pub fn out_of_budget(&mut self, message: String) {
        self.end(End::Budget { message });
    }

    /// Ends it: open calls are answered, and what somebody said meanwhile is not lost. One that has ended already stays as it ended.
    fn end(&mut self, end: End) {
        if matches!(self.state.phase, Phase::Ended { .. }) {
            return;
        }
        close_open_calls(&mut self.history, &self.state.phase.open_calls());
        self.inject_queued();
        self.state.phase = Phase::Ended { end };
    }

    fn say(&mut self, text: impl Into<String>, kind: UserKind) {
        let message = UserMessage { text: text.into(), kind, ..UserMessage::default() };
        self.history.push(Arc::new(Message::User(message)));
    }

    /// Adds what was queued; `true` = there was something.
    fn inject_queued(&mut self) -> bool {
        let said = self.state.said.drain(..);
        let queued = self.state.queued.drain(..);
        let before = self.history.len();
        self.history.extend(said.chain(queued).map(|message| Arc::new(Message::User(message))));
        self.history.len() > before
    }

    fn newest(&self) -> Option<&ModelMessage> {
        self.history.iter().rev().find_map(|message| match &**message {
            Message::Model(message) => Some(&**message),
            Message::User(_) => None,
        })
    }

    /// The newest message, when the model wrote it and its calls are being answered.
    fn answering(&mut self) -> Option<&mut ModelMessage> {
        match Arc::make_mut(self.history.last_mut()?) {
            Message::Model(message) => Some(message),
            Message::User(_) => None,
        }
    }
}

/// Fills every open slot: a conversation that was left in the middle can be sent on. `known` are the calls of the newest message whose ids
/// are known, by their places.
fn close_open_calls(history: &mut [Arc<Message>], known: &[(usize, CallId)]) {
    let newest = history.len().saturating_sub(1);
    for (at, message) in history.iter_mut().enumerate() {
        let is_open = match &**message {
            Message::Model(model) => model.open().next().is_some(),
            Message::User(_) => false,
        };
        if is_open && let Message::Model(model) = Arc::make_mut(message) {
            let open: Vec<usize> = model.open().collect();
            for index in open {
                let id = known.iter().find(|(place, _)| at == newest && *place == index);
                model.answer(index, cancelled(id.map_or_else(CallId::fresh, |(_, id)| *id)));
            }
        }
    }
}

fn cancelled(call: CallId) -> CallAnswer {
    let mut answer = CallAnswer::not_run(call, texts::STOPPED);
    answer.kind = Some(toolcrib_core::OutcomeKind::Cancelled);
    answer.wire = serde_json::json!({
        "status": "error",
        "error_type": toolcrib_core::ErrorType::Cancelled,
        "message": texts::STOPPED,
    });
    answer
}
