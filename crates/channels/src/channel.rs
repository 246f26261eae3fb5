//! What a chat service can do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use toolcrib_assistant::chat_channel::InboundBatch;
use toolcrib_core::BoxFuture;

use crate::error::ChannelError;

/// A chat service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChannelKind {
    /// Telegram, over its Bot API.
    Telegram,
    /// Matrix, over its client-server API.
    Matrix,
}

impl ChannelKind {
    /// All services.
    pub const ALL: [Self; 2] = [Self::Telegram, Self::Matrix];

    /// Returns the name in commands and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Telegram => "telegram",
            Self::Matrix => "matrix",
        }
    }

    /// Returns whether a text has the form of a person's id at this service.
    #[must_use]
    pub fn is_user_id(self, text: &str) -> bool {
        match self {
            Self::Telegram => {
                (1..=20).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit())
            }
            Self::Matrix => {
                let parts = text.strip_prefix('@').and_then(|rest| rest.split_once(':'));
                let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
                text.len() <= 255
                    && text.chars().all(is_plain)
                    && parts.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
            }
        }
    }
}

impl fmt::Display for ChannelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ChannelKind {
    type Err = ChannelError;

    fn from_str(text: &str) -> Result<Self, ChannelError> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            ChannelError::BadAccount(format!(
                "A channel is telegram or matrix, not \"{}\".",
                text.escape_debug()
            ))
        })
    }
}

/// A question to a person, with buttons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The text.
    pub text: String,
    /// The buttons, at most ten.
    pub buttons: Vec<Button>,
}

/// A button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    /// Its label.
    pub label: String,
    /// Its meaning, which comes back when the button is pressed: `allow`, `deny`, `skip`, or `opt0`
    /// to `opt3`.
    pub data: String,
}

/// An id, such as that of a sent message.
pub type Sent = Result<String, ChannelError>;

/// One account at a chat service.
pub trait Channel: Send + Sync {
    /// Returns the service.
    fn kind(&self) -> ChannelKind;

    /// Returns the maximum number of characters of a message.
    fn max_chars(&self) -> usize;

    /// Returns the room in which a person is written to first.
    fn room_of<'a>(&'a self, user: &'a str) -> BoxFuture<'a, Sent>;

    /// Returns whether a room has no members but one person and this account.
    fn is_private<'a>(&'a self, room: &'a str) -> BoxFuture<'a, Result<bool, ChannelError>>;

    /// Checks the token; returns the account's own name at the service.
    fn test(&self) -> BoxFuture<'_, Result<String, ChannelError>>;

    /// Waits for messages behind a position, and returns after a while without any.
    fn receive<'a>(
        &'a self,
        cursor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<InboundBatch, ChannelError>>;

    /// Sends a text. A service that supports it sends a text with the same key once.
    fn send_text<'a>(&'a self, room: &'a str, text: &'a str, key: &'a str) -> BoxFuture<'a, Sent>;

    /// Sends a question with buttons.
    fn ask<'a>(
        &'a self,
        room: &'a str,
        question: &'a Question,
        key: &'a str,
    ) -> BoxFuture<'a, Sent>;

    /// Replaces the text of a sent message, and removes its buttons.
    fn edit<'a>(
        &'a self,
        room: &'a str,
        message: &'a str,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), ChannelError>>;

    /// Tells the service, and the person who pressed a button, that the press arrived.
    fn acknowledge<'a>(
        &'a self,
        press: &'a str,
        words: &'a str,
    ) -> BoxFuture<'a, Result<(), ChannelError>>;
}
