//! Provider-independent conversation: the messages are stored, trimmed and displayed, and every
//! request is rendered from them.
//!
//! Each call has exactly one result, and results follow the calls in order. Results are stored
//! inside the message that made the calls, one slot per call, so an orphan result or a call without
//! a result slot cannot be represented.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::{Blob, Block, CallId, Outcome, OutcomeKind, ToolName};

use crate::model_turn::Turn;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A message to the model.
    User(UserMessage),
    /// A message from the model, with the results of its calls.
    Model(Box<ModelMessage>),
}

/// A message to the model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UserMessage {
    /// The text.
    pub text: String,
    /// Attached images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Blob>,
    /// Its origin.
    #[serde(default)]
    pub kind: UserKind,
}

/// Origin of a message to the model. Providers see user messages only; user interfaces show each
/// kind differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserKind {
    /// Typed by the user.
    #[default]
    Typed,
    /// Typed by the user while the run was working; inserted between two rounds.
    Queued,
    /// The answer to a question of the model: "[Answer to: Q] A".
    Answer,
    /// Inserted by a loop guard: a hint, or the text that ends the loop.
    Guard,
    /// The summary that replaces older messages in requests.
    Summary,
}

/// A message from the model, and the results of its calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelMessage {
    /// The model's turn.
    pub turn: Turn,
    /// Id of the provider entry that answered. Provider-specific content is sent back to this
    /// provider only.
    pub provider: String,
    /// The model that answered.
    pub model: String,
    /// One slot per call of the turn, in the order of the calls; `None` until the result exists. A
    /// request renders an empty slot as a call that was not run.
    answers: Vec<Option<CallAnswer>>,
}

impl ModelMessage {
    /// Creates a message with a turn without results.
    pub fn new(turn: Turn, provider: impl Into<String>, model: impl Into<String>) -> Self {
        let answers = vec![None; turn.calls.len()];
        Self { turn, provider: provider.into(), model: model.into(), answers }
    }

    /// Returns the results of the calls, in the order of [`Turn::calls`].
    #[must_use]
    pub fn answers(&self) -> &[Option<CallAnswer>] {
        &self.answers
    }

    /// Sets the result of a call once. Returns `false` if there is no such call or it has a result
    /// already.
    pub fn answer(&mut self, call: usize, answer: CallAnswer) -> bool {
        match self.answers.get_mut(call) {
            Some(slot @ None) => {
                *slot = Some(answer);
                true
            }
            _ => false,
        }
    }

    /// Returns the indexes of the calls without a result.
    pub fn unanswered(&self) -> impl Iterator<Item = usize> {
        self.answers.iter().enumerate().filter(|(_, answer)| answer.is_none()).map(|(at, _)| at)
    }
}

/// Stored result of one call: the wire form that the model reads, and the details for users and
/// guards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallAnswer {
    /// Toolcrib's id of the call.
    pub call: CallId,
    /// Canonical name of the tool, if it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// How the call ended; `None` if it never reached the invoker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<OutcomeKind>,
    /// The wire form of the outcome ([`Outcome::to_wire`]), an object.
    pub wire: Value,
    /// Whether the result is marked as an error for the provider.
    pub is_error: bool,
    /// Milliseconds that the tool ran, without waiting for people; `None` if it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// Images and audio in addition to the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Block>,
    /// Parts for users, hidden from models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub for_people: Vec<Block>,
    /// Why the call failed, for people; `None` if the message for the model serves both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl CallAnswer {
    /// Creates the stored form of an outcome.
    #[must_use]
    pub fn from_outcome(outcome: &Outcome) -> Self {
        let (media, for_people) = match &outcome.result {
            Ok(result) => (result.media.clone(), result.for_people.clone()),
            Err(_) => (Vec::new(), Vec::new()),
        };
        let reason = outcome.result.as_ref().err().and_then(|error| error.for_people.clone());
        Self {
            call: outcome.call,
            tool: outcome.tool.clone(),
            kind: Some(outcome.kind),
            wire: outcome.to_wire(),
            is_error: outcome.is_error(),
            elapsed_ms: Some(outcome.report.run_nanos / 1_000_000)
                .filter(|_| outcome.report.attempts > 0),
            media,
            for_people,
            reason,
        }
    }

    /// Returns the cards among the parts for users: `{blocks, untrusted?}` or `{html}`.
    #[must_use]
    pub fn cards(&self) -> Vec<Value> {
        let card = |block: &Block| match block {
            Block::Card { card } => Some(card.clone()),
            Block::Html { html } => Some(serde_json::json!({ "html": html })),
            _ => None,
        };
        self.for_people.iter().filter_map(card).collect()
    }

    /// Creates the result of a call that never reached the invoker, with the reason for the model.
    #[must_use]
    pub fn not_run(call: CallId, why: &str) -> Self {
        Self {
            call,
            tool: None,
            kind: None,
            wire: serde_json::json!({"status": "not_run", "message": why}),
            is_error: true,
            elapsed_ms: None,
            media: Vec::new(),
            for_people: Vec::new(),
            reason: None,
        }
    }
}
