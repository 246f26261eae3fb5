//! A model that can be asked: what the live client, a scripted model and a test's model have in common.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolcrib_core::{BoxFuture, CancellationToken};

use crate::chat::Message;
use crate::declare::{Declarations, Options};
use crate::format::Format;
use crate::turn::{Turn, Usage};

/// What is known of a model before it is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelInfo {
    /// Id of the provider entry: `anthropic`, or the name of an entry of the configuration.
    pub provider: String,
    /// The model's name, as the provider knows it.
    pub model: String,
    /// Wire format of declarations, calls and results.
    pub format: Format,
    /// Whether it only replays a file; shown wherever its words are.
    pub scripted: bool,
    /// Whether it runs on this device: it is then given only the tools of the small allow list, is never fallen back to and never
    /// falls back (seed 000).
    pub on_device: bool,
}

/// One request. Everything in it is immutable, so that a retry sends the same again.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The system prompt; empty = none.
    pub system: String,
    /// The outgoing copy of the conversation, oldest first.
    pub messages: Vec<Arc<Message>>,
    /// The declared tools; `None` = the model must answer without tools.
    pub tools: Option<Arc<Declarations>>,
    /// Temperature, 0 to 2; `None` = the provider's default.
    pub temperature: Option<f64>,
    /// Most tokens of the answer; `None` = the provider's default (Anthropic: see the request writer).
    pub max_output: Option<u64>,
    /// Whether the answer is streamed.
    pub stream: bool,
}

/// A piece of an answer on its way, for people to watch. Nothing is run from pieces: only the whole [`ModelReply`] counts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "delta", rename_all = "snake_case")]
pub enum Delta {
    /// Text of the answer.
    Text {
        /// The piece.
        text: String,
    },
    /// Reasoning, where the provider shows it.
    Reasoning {
        /// The piece.
        text: String,
    },
    /// A call begins.
    CallStart {
        /// Place of the call in the answer, from 0.
        index: usize,
        /// Name of the tool as the model writes it.
        name: String,
    },
    /// A piece of a call's arguments.
    CallArgs {
        /// Place of the call in the answer.
        index: usize,
        /// The piece.
        text: String,
    },
    /// The provider runs a tool of its own.
    Hosted {
        /// Its kind, such as `web_search_call`.
        kind: String,
    },
    /// The request is sent again: what was shown of the answer so far is void.
    Retry {
        /// Number of the attempt that begins, from 2.
        attempt: u32,
        /// How long it is waited before.
        #[serde(with = "seconds")]
        wait: Duration,
        /// Why.
        why: String,
    },
}

/// The whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelReply {
    /// What was said.
    pub turn: Turn,
    /// Attempts that it took, from 1.
    pub attempts: u32,
}

impl ModelReply {
    /// What the answer used.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.turn.usage
    }
}

/// What kind of failure it is: decides whether the request is sent again, whether the next model is asked, and the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Too many requests; the provider may say when to come back.
    RateLimited,
    /// The provider is overloaded or broken (5xx, 529).
    Unavailable,
    /// No connection, or it broke before the answer was whole.
    Connection,
    /// Nothing came for as long as the idle limit allows.
    Idle,
    /// The circuit breaker is open: nothing was sent.
    CircuitOpen,
    /// The key is missing, wrong, or has no right to this model.
    BadKey,
    /// The account is out of credits or quota.
    NoCredit,
    /// The provider does not know this model.
    UnknownModel,
    /// The conversation does not fit the model's window.
    ContextExceeded,
    /// The provider refuses the content.
    Moderated,
    /// The model takes no tools.
    NoTools,
    /// The provider refuses the request for another reason (400, 413, 422).
    BadRequest,
    /// The answer cannot be read.
    Unreadable,
    /// Somebody stopped the request.
    Cancelled,
    /// The script of a scripted model does not fit the conversation.
    Script,
}

impl FailureKind {
    /// Whether the same request may be sent to the same model again (SPEC 1.7, research/protocols 2.6).
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(self, Self::RateLimited | Self::Unavailable | Self::Connection | Self::Idle)
    }
}

/// A request without an answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub struct ModelError {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// Id of the provider entry.
    pub provider: String,
    /// The model.
    pub model: String,
    /// HTTP status, when there was a response.
    pub status: Option<u16>,
    /// What is wrong and what to do, in words for people; no key in it.
    pub message: String,
    /// When the provider says to come back.
    pub retry_after: Option<Duration>,
    /// Attempts that were made, 0 when nothing was sent.
    pub attempts: u32,
    /// Text of the answer that had arrived, when it broke or was stopped in the middle.
    pub partial: String,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.model, self.provider, self.message)
    }
}

/// Receives the pieces of an answer.
pub type DeltaSink<'a> = &'a mut (dyn FnMut(Delta) + Send);

/// A model that can be asked.
pub trait Model: Send + Sync {
    /// What is known of it.
    fn info(&self) -> &ModelInfo;

    /// The format in which its tools are declared and its results are written: that of [`ModelInfo::format`], or [`Format::Text`] once it is
    /// known that the model takes no tools. Ask before every round; a model learns it by [`FailureKind::NoTools`].
    fn tool_format(&self) -> Format {
        self.info().format
    }

    /// How its tools are declared beside that; ask together with the format.
    fn tool_options(&self) -> Options {
        Options::default()
    }

    /// Asks it. Retries of the request happen inside; no tool is ever run here.
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>>;
}

mod seconds {
    use std::time::Duration;

    use serde::Serializer;

    pub(super) fn serialize<S: Serializer>(wait: &Duration, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(wait.as_secs_f64())
    }
}
