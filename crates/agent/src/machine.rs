//! The agent loop as a state machine without I/O: it returns the next step and accepts the step's
//! result.
//!
//! It can be stored at any step and completed by another process: its complete state is in
//! [`Machine`], which is plain data. Each call of the model has exactly one result, because a
//! message is sent only when each of its result slots is filled.

mod call_results;
mod human_answers;
mod model_answers;
pub(crate) mod model_messages;
mod stall_guard;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolcrib_core::{Call, CallId, ConversationId, Labels, RunId};
use toolcrib_providers::conversation::{CallAnswer, Message, ModelMessage, UserKind, UserMessage};

pub(crate) use call_results::user_question;

pub use state::{
    ActiveSkill, MAX_ROUNDS, Pending, PendingKind, Phase, Question, QuestionAnswer, ROUNDS,
    RequestMode, RunEnd, STATE_VERSION, StallProgress, State, UsageTotals,
};

use toolcrib_providers::Usage;

use crate::context::{Money, Summary};
use crate::tool_selection::FoundTools;

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NextStep<'a> {
    /// Ask the model; then call [`Machine::model_answered`] or [`Machine::model_failed`].
    CallModel(&'a RequestMode),
    /// Run the calls of the newest message through the invoker; then call
    /// [`Machine::calls_finished`].
    CallTools(&'a [Call]),
    /// Wait for people; then call [`Machine::question_answered`] or [`Machine::call_decided`], once
    /// for each.
    AskPerson(&'a [Pending]),
    /// None: the run has ended.
    Done(&'a RunEnd),
}

/// One run of the loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    state: State,
    history: Vec<Arc<Message>>,
}

impl Machine {
    /// Creates a run that starts with a message in a conversation.
    #[must_use]
    pub fn begin(
        run: RunId,
        conversation: ConversationId,
        mut history: Vec<Arc<Message>>,
        message: UserMessage,
        rounds_limit: Option<u32>,
    ) -> Self {
        close_open_calls(&mut history, &[]);
        let injected = FoundTools::from_history(history.iter().map(|message| &**message));
        history.push(Arc::new(Message::User(message)));
        let state = State {
            version: STATE_VERSION,
            run,
            conversation,
            rounds_limit,
            phase: Phase::Model { ask: RequestMode::Open },
            begun_at: None,
            rounds: 0,
            calls: 0,
            empty_answers: 0,
            questions: 0,
            summary: None,
            queued: Vec::new(),
            said: Vec::new(),
            skills: Vec::new(),
            progress: StallProgress::default(),
            closing_text: String::new(),
            spent: UsageTotals::default(),
            labels: Labels::default(),
            injected,
        };
        Self { state, history }
    }

    /// Restores a stored run.
    #[must_use]
    pub fn restore(state: State, history: Vec<Arc<Message>>) -> Self {
        Self { state, history }
    }

    /// Returns the next step, without changing the machine.
    #[must_use]
    pub fn next(&self) -> NextStep<'_> {
        match &self.state.phase {
            Phase::Model { ask } => NextStep::CallModel(ask),
            Phase::Tools { calls } => NextStep::CallTools(calls),
            Phase::Person { pending } => NextStep::AskPerson(pending),
            Phase::Ended { end } => NextStep::Done(end),
        }
    }

    /// Returns whether the newest message is the one whose calls are being answered, according to
    /// the state. It is not if another run has written to the conversation since this one was
    /// stored.
    #[must_use]
    pub fn matches_history(&self) -> bool {
        let open: Vec<usize> = match self.history.last().map(|message| &**message) {
            Some(Message::Model(message)) => message.unanswered().collect(),
            _ => Vec::new(),
        };
        match &self.state.phase {
            Phase::Tools { calls } => open.len() == calls.len(),
            Phase::Person { pending } => pending.iter().all(|wait| open.contains(&wait.index)),
            Phase::Model { .. } | Phase::Ended { .. } => open.is_empty(),
        }
    }

    /// Returns the state of the run, without the messages.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the messages, oldest first.
    #[must_use]
    pub fn history(&self) -> &[Arc<Message>] {
        &self.history
    }

    /// Returns the text of the newest message of the model, or of the loop if a guard ended the run
    /// before the model wrote one; empty if there is none in this run yet.
    #[must_use]
    pub fn answer(&self) -> &str {
        if !self.state.closing_text.is_empty() {
            return &self.state.closing_text;
        }
        self.newest().map_or("", |message| &message.turn.text)
    }

    /// Sets the summary, new or from an earlier run of the conversation.
    pub fn set_summary(&mut self, summary: Option<Summary>) {
        self.state.summary = summary;
    }

    /// Adds taint labels, from earlier in the conversation or from calls. Labels are never removed.
    pub fn add_labels(&mut self, labels: &Labels) {
        self.state.labels.inherit(labels);
    }

    /// Adds tools found by nested calls, for the conversation.
    pub fn add_found_tools(&mut self, names: impl IntoIterator<Item = String>) {
        self.state.injected.add(names);
    }

    /// Adds the tokens that a request saved by leaving tools out.
    pub fn add_tokens_saved(&mut self, tokens: u64) {
        let saved = &mut self.state.spent.tokens_saved;
        *saved = saved.saturating_add(tokens);
    }

    /// Adds the usage of a request outside the conversation, such as one for a summary.
    pub fn add_usage(&mut self, usage: Option<Usage>, cost: Option<Money>) {
        self.state.spent.add(usage, cost);
    }

    /// Activates a skill, once. A skill that was active from the start stays so: the model must not
    /// replace a limit that a person set by loading the skill itself.
    pub fn activate(&mut self, mut skill: ActiveSkill) {
        let mut same = self.state.skills.iter().filter(|active| active.name == skill.name);
        skill.in_prompt |= same.any(|active| active.in_prompt);
        self.state.skills.retain(|active| active.name != skill.name);
        self.state.skills.push(skill);
    }

    /// Sets the start of the run, in milliseconds since 1970; only the first call counts.
    pub fn set_begun_at(&mut self, at: i64) {
        self.state.begun_at.get_or_insert(at);
    }

    /// Inserts queued messages; called before a request to the model.
    pub fn before_request(&mut self) {
        if let Phase::Model { .. } = self.state.phase {
            self.inject_queued();
        }
    }

    /// Queues a message that arrived while the run is working, to be inserted before the next
    /// request.
    ///
    /// # Errors
    /// The message itself, if the run has ended.
    pub fn queue(&mut self, mut message: UserMessage) -> Result<(), UserMessage> {
        if let Phase::Ended { .. } = self.state.phase {
            return Err(message);
        }
        message.kind = UserKind::Queued;
        self.state.queued.push(message);
        Ok(())
    }

    /// Stops the run at any step: open calls receive a result, the text so far stays.
    pub fn stop(&mut self) {
        self.end(RunEnd::Stopped);
    }

    /// Ends the run: open calls receive a result, and queued messages stay. A run that has already
    /// ended is unchanged.
    fn end(&mut self, end: RunEnd) {
        if matches!(self.state.phase, Phase::Ended { .. }) {
            return;
        }
        close_open_calls(&mut self.history, &self.state.phase.open_calls());
        self.inject_queued();
        if self.newest().is_none_or(|message| message.turn.text.trim().is_empty()) {
            self.state.closing_text = end.text_without_answer().unwrap_or_default();
        }
        self.state.phase = Phase::Ended { end };
    }

    fn push_user_message(&mut self, text: impl Into<String>, kind: UserKind) {
        let message = UserMessage { text: text.into(), kind, ..UserMessage::default() };
        self.history.push(Arc::new(Message::User(message)));
    }

    /// Inserts queued messages; `true` if there were any.
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

    /// Returns the newest message, if the model wrote it and its calls are being answered.
    fn answering(&mut self) -> Option<&mut ModelMessage> {
        match Arc::make_mut(self.history.last_mut()?) {
            Message::Model(message) => Some(message),
            Message::User(_) => None,
        }
    }
}

/// Fills every open result slot, so that an interrupted conversation can be sent. `known` contains
/// the calls of the newest message with known ids, by index.
fn close_open_calls(history: &mut [Arc<Message>], known: &[(usize, CallId)]) {
    let newest = history.len().saturating_sub(1);
    for (at, message) in history.iter_mut().enumerate() {
        let is_open = match &**message {
            Message::Model(model) => model.unanswered().next().is_some(),
            Message::User(_) => false,
        };
        if is_open && let Message::Model(model) = Arc::make_mut(message) {
            let open: Vec<usize> = model.unanswered().collect();
            for index in open {
                let id = known.iter().find(|(place, _)| at == newest && *place == index);
                model.answer(index, cancelled(id.map_or_else(CallId::fresh, |(_, id)| *id)));
            }
        }
    }
}

fn cancelled(call: CallId) -> CallAnswer {
    let mut answer = CallAnswer::not_run(call, model_messages::STOPPED);
    answer.kind = Some(toolcrib_core::OutcomeKind::Cancelled);
    answer.wire = serde_json::json!({
        "status": "error",
        "error_type": toolcrib_core::ErrorType::Cancelled,
        "message": model_messages::STOPPED,
    });
    answer
}
