//! Rows of the assistant: lists, goals, instructions, documents, drafts, mail inboxes, arrivals,
//! chat channels, pairings and apps, each a JSON body under a key.

use std::fmt;

use serde_json::Value;

use crate::memory::Author;

/// Kind of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKind {
    /// A shopping or to-do list.
    List,
    /// A goal of a person, and the run that pursues it.
    Goal,
    /// Custom instructions: the person's own part of the system prompt.
    CustomInstructions,
    /// A file that a person added, without its text.
    Document,
    /// A message to be sent in a person's name, such as an e-mail.
    Draft,
    /// Read position in the inbox of a mail account, and the last arrivals.
    MailInbox,
    /// Messages or notifications of other programs, for the heartbeat.
    Arrival,
    /// Read position of an account of a chat channel, and what is to be done for its people.
    ChatChannel,
    /// A pairing code, and the app or device that used it.
    Pairing,
    /// A paired app.
    App,
    /// The read position of the phone for SMS, and each SMS that arrived.
    Sms,
}

impl RowKind {
    /// All kinds of rows.
    pub const ALL: [Self; 11] = [
        Self::List,
        Self::Goal,
        Self::CustomInstructions,
        Self::Document,
        Self::Draft,
        Self::MailInbox,
        Self::Arrival,
        Self::ChatChannel,
        Self::Pairing,
        Self::App,
        Self::Sms,
    ];

    /// Returns the name in databases.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Goal => "goal",
            // Databases have it under its former name.
            Self::CustomInstructions => "soul",
            Self::Document => "document",
            Self::Draft => "draft",
            Self::MailInbox => "mail_inbox",
            Self::Arrival => "arrival",
            Self::ChatChannel => "chat_channel",
            Self::Pairing => "pairing",
            Self::App => "app",
            Self::Sms => "sms",
        }
    }
}

impl fmt::Display for RowKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct AssistantRow {
    /// Key, unique for the owner and the kind.
    pub key: String,
    /// Number of the row's last change; the store assigns it.
    pub revision: i64,
    /// Everything else.
    pub body: Value,
}

/// A change of one row, for [`crate::store::AssistantRowStore::write_assistant_rows`].
#[derive(Debug, Clone, PartialEq)]
pub struct AssistantRowWrite {
    /// Owner.
    pub owner: String,
    /// Kind.
    pub kind: RowKind,
    /// Key.
    pub key: String,
    /// Revision of the row that the change is based on; `None` for a new row.
    pub expected: Option<i64>,
    /// The row after the change; `None` removes it.
    pub body: Option<Value>,
    /// The change in a few words, for its history.
    pub note: String,
    /// The author of the change.
    pub author: Author,
    /// Unix time in milliseconds.
    pub at: i64,
    /// The recorded change that this one undoes.
    pub undoes: Option<i64>,
}

/// A recorded change.
#[derive(Debug, Clone, PartialEq)]
pub struct AssistantRowChange {
    /// Its number: later changes have larger ones.
    pub number: i64,
    /// Key.
    pub key: String,
    /// The row before the change; `None` if it did not exist.
    pub before: Option<Value>,
    /// The change in a few words.
    pub note: String,
    /// The author of the change.
    pub author: Author,
    /// Unix time in milliseconds.
    pub at: i64,
    /// Whether the change can be undone: it is not itself an undo and was not undone.
    pub can_be_undone: bool,
}
