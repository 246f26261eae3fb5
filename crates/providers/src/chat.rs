//! A conversation, in one form for all providers: what is stored, trimmed and shown, and from which every request is written.
//!
//! Each call of a model has exactly one result, in order, and nothing can stand between them: the results are kept inside the message
//! that asked for them, one slot per call. An orphan result or a call without a place for its result cannot be written down.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::{Blob, Block, CallId, Outcome, OutcomeKind, ToolName};

use crate::turn::Turn;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// To the model.
    User(UserMessage),
    /// From the model, with the results of its calls.
    Model(Box<ModelMessage>),
}

/// What is said to the model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UserMessage {
    /// The text.
    pub text: String,
    /// Pictures beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Blob>,
    /// Where it comes from.
    #[serde(default)]
    pub kind: UserKind,
}

/// Where a message to the model comes from. To a provider all of them are user messages; people see them differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserKind {
    /// Somebody wrote it.
    #[default]
    Typed,
    /// Somebody wrote it while the run was working; it was injected at a boundary.
    Queued,
    /// The answer to a question that the model asked: "[Answer to: Q] A".
    Answer,
    /// A guard of the loop: a hint, or the text that ends the loop.
    Guard,
    /// The summary of older messages, which it replaces in requests.
    Summary,
}

/// What a model said, and what became of its calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelMessage {
    /// What it said.
    pub turn: Turn,
    /// Id of the provider entry that answered; what only that provider understands goes back to no other.
    pub provider: String,
    /// The model that answered.
    pub model: String,
    /// One slot per call of the turn, in the order of the calls; `None` = not answered yet. A slot that is still empty when a request is
    /// written is answered there as not run.
    answers: Vec<Option<CallAnswer>>,
}

impl ModelMessage {
    /// A turn without answers yet.
    pub fn new(turn: Turn, provider: impl Into<String>, model: impl Into<String>) -> Self {
        let answers = vec![None; turn.calls.len()];
        Self { turn, provider: provider.into(), model: model.into(), answers }
    }

    /// What became of each call, in the order of [`Turn::calls`].
    #[must_use]
    pub fn answers(&self) -> &[Option<CallAnswer>] {
        &self.answers
    }

    /// Records what became of a call; the first answer stands. `false` = there is no such call, or it has its answer.
    pub fn answer(&mut self, call: usize, answer: CallAnswer) -> bool {
        match self.answers.get_mut(call) {
            Some(slot @ None) => {
                *slot = Some(answer);
                true
            }
            _ => false,
        }
    }

    /// Places of the calls that have no answer yet.
    pub fn open(&self) -> impl Iterator<Item = usize> {
        self.answers.iter().enumerate().filter(|(_, answer)| answer.is_none()).map(|(at, _)| at)
    }
}

/// What became of one call, as it is kept: the wire form that the model reads, and what people and guards look at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallAnswer {
    /// Our id of the call.
    pub call: CallId,
    /// Canonical name of the tool, when it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// How it ended; `None` = it was never asked of the door.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<OutcomeKind>,
    /// The seeds' wire form ([`Outcome::to_wire`]), an object.
    pub wire: Value,
    /// Whether the provider is told of an error.
    pub is_error: bool,
    /// Pictures and sounds beside the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Block>,
    /// Parts for people, which no model sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub for_people: Vec<Block>,
}

impl CallAnswer {
    /// An outcome, as it is kept.
    #[must_use]
    pub fn of(outcome: &Outcome) -> Self {
        let (media, for_people) = match &outcome.result {
            Ok(result) => (result.media.clone(), result.for_people.clone()),
            Err(_) => (Vec::new(), Vec::new()),
        };
        Self {
            call: outcome.call,
            tool: outcome.tool.clone(),
            kind: Some(outcome.kind),
            wire: outcome.to_wire(),
            is_error: outcome.is_error(),
            media,
            for_people,
        }
    }

    /// A call that was never asked of the door, and why, in words for the model.
    #[must_use]
    pub fn not_run(call: CallId, why: &str) -> Self {
        Self {
            call,
            tool: None,
            kind: None,
            wire: serde_json::json!({"status": "not_run", "message": why}),
            is_error: true,
            media: Vec::new(),
            for_people: Vec::new(),
        }
    }
}
