//! The state of an account of a chat channel: pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toolcrib_core::{ApprovalId, ConversationId, RunId};

/// Number of stored lines of the log, the newest ones.
const LOG_LINES: usize = 50;
/// Maximum characters of a name or a line of the log.
pub(super) const LINE_CHARS: usize = 120;

/// The state of an account.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChannelState {
    /// The read position at the service; `None` before the first read.
    pub cursor: Option<String>,
    /// When the service answered last: Unix time in milliseconds; 0 = never.
    pub read_at: i64,
    /// Why the service cannot be read now.
    pub problem: Option<String>,
    /// Ids of the last messages, so that a message that the service delivers twice is known.
    pub(super) seen: Vec<String>,
    /// People who wrote without being on the list, the newest last.
    pub strangers: Vec<Stranger>,
    /// The people on the list who have written, by their id.
    pub people: BTreeMap<String, ChatPerson>,
    /// The last events, the newest last.
    pub log: Vec<LogLine>,
}

/// A person who wrote without being on the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stranger {
    /// Their id at the service.
    pub user: String,
    /// Their name, as they chose it.
    pub name: String,
    /// When they wrote first: Unix time in milliseconds.
    pub at: i64,
}

/// A person on the list, with everything that is still to be done for them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChatPerson {
    /// Their name, as they chose it.
    pub name: String,
    /// Their conversation.
    pub conversation: Option<ConversationId>,
    /// Messages that wait, the oldest first.
    pub waiting: Vec<WaitingMessage>,
    /// Pressed buttons that were not handled yet.
    pub presses: Vec<ButtonPress>,
    /// The message that is being answered.
    pub turn: Option<Turn>,
    /// Questions that were sent and that are open.
    pub shown: Vec<ShownQuestion>,
    /// Texts to send.
    pub outbox: Vec<OutgoingText>,
}

/// A message that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingMessage {
    /// Its id at the service.
    pub id: String,
    /// The room in which it was written, and is answered.
    pub room: String,
    /// Its text.
    pub text: String,
    /// Whether it repeats words of another person.
    #[serde(default)]
    pub forwarded: bool,
}

/// A pressed button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ButtonPress {
    /// Id of the press at the service.
    pub id: String,
    /// The message with the button.
    pub message: String,
    /// The meaning of the button.
    pub data: String,
}

/// A message that is being answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The idempotency key of its run.
    pub key: String,
    /// The room in which it is answered.
    pub room: String,
    /// The message.
    pub text: String,
    /// The source of the message, if it is text from outside.
    #[serde(default)]
    pub untrusted: Option<String>,
    /// The run that answers it, once that is stored.
    #[serde(default)]
    pub run: Option<RunId>,
    /// Whether the person was told that the run waits for a decision.
    #[serde(default)]
    pub told: bool,
}

/// A question that was sent to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownQuestion {
    /// The question.
    pub approval: ApprovalId,
    /// The nonce of the version that was sent.
    pub nonce: String,
    /// The room with the message that shows it.
    pub room: String,
    /// The message that shows it.
    pub message: String,
    /// The text of that message.
    pub text: String,
    /// Answers that the model suggests, for a question of the model.
    #[serde(default)]
    pub options: Option<Vec<String>>,
}

/// A text to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingText {
    /// Its key, the same in every attempt.
    pub key: String,
    /// The room to send it to.
    pub room: String,
    /// Whether all members of the room may read it, because it contains nothing of a conversation.
    #[serde(default)]
    pub is_public: bool,
    /// The text.
    pub text: String,
    /// Number of messages of it that were sent.
    #[serde(default)]
    pub sent: usize,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// Unix time in milliseconds.
    pub at: i64,
    /// The person; empty for the account.
    pub user: String,
    /// What happened, without the texts of people.
    pub event: String,
}

impl ChannelState {
    /// Adds an event to the log.
    pub fn log(&mut self, at: i64, user: &str, event: &str) {
        self.log.push(LogLine { at, user: line(user), event: line(event) });
        let over = self.log.len().saturating_sub(LOG_LINES);
        self.log.drain(..over);
    }

    /// Returns whether something is to be done for a person.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.people.values().any(ChatPerson::has_work)
    }
}

impl ChatPerson {
    /// Returns whether something is to be done for this person.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.turn.is_some()
            || !(self.waiting.is_empty()
                && self.presses.is_empty()
                && self.shown.is_empty()
                && self.outbox.is_empty())
    }

    /// Adds a text to send to a room, which the other people in it must not read; a key that is
    /// there already is not added again.
    pub fn say(&mut self, room: &str, key: impl Into<String>, text: impl Into<String>) {
        self.add_text(room, key.into(), text.into(), false);
    }

    /// Adds a text that all members of the room may read.
    pub(super) fn say_in_public(&mut self, room: &str, key: &str, text: &str) {
        self.add_text(room, key.to_owned(), text.to_owned(), true);
    }

    fn add_text(&mut self, room: &str, key: String, text: String, is_public: bool) {
        if self.outbox.iter().all(|one| one.key != key) {
            let room = room.to_owned();
            self.outbox.push(OutgoingText { key, room, is_public, text, sent: 0 });
        }
    }
}

/// Returns a text of others as one short line.
pub(super) fn line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(LINE_CHARS).collect()
}
