//! The `Model` trait: the interface of HTTP models, scripted models and test models.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolcrib_core::{BoxFuture, CancellationToken};

use crate::conversation::Message;
use crate::model_turn::{Turn, Usage};
use crate::tool_declarations::{Declarations, Options};
use crate::wire_format::Format;

/// Static facts about a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelInfo {
    /// Id of the provider entry: `anthropic`, or the name of an entry of the configuration.
    pub provider: String,
    /// The model's name at the provider.
    pub model: String,
    /// Wire format of declarations, calls and results.
    pub format: Format,
    /// Whether the model only replays a file; user interfaces mark its answers.
    pub scripted: bool,
    /// Whether the model runs on this device. Such a model gets only the tools of a small allow
    /// list and takes no part in fallback, in either direction.
    pub on_device: bool,
    /// Context window that every request asks the server to keep, in tokens (Ollama's `num_ctx`).
    /// This is the effective window: the server silently drops the beginning of a longer prompt.
    /// `None` if requests do not set the window.
    pub requested_window: Option<u64>,
}

/// One request. All its parts are immutable, so that a retry sends the same request again.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The system prompt; empty if there is none.
    pub system: String,
    /// The conversation to send, oldest message first.
    pub messages: Vec<Arc<Message>>,
    /// The declared tools; with `None` the model must answer without tools.
    pub tools: Option<Arc<Declarations>>,
    /// Temperature, 0 to 2; `None` for the provider's default.
    pub temperature: Option<f64>,
    /// Limit of output tokens; `None` for the provider's default (for Anthropic:
    /// [`DEFAULT_MAX_TOKENS`](crate::request::DEFAULT_MAX_TOKENS)).
    pub max_output: Option<u64>,
    /// Whether the answer is streamed.
    pub stream: bool,
}

/// A piece of a streamed answer, for display only. Calls run only from the complete [`ModelReply`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "delta", rename_all = "snake_case")]
pub enum Delta {
    /// Text of the answer.
    Text {
        /// The piece.
        text: String,
    },
    /// Reasoning, if the provider shows it.
    Reasoning {
        /// The piece.
        text: String,
    },
    /// A call begins.
    CallStart {
        /// Index of the call in the answer, from 0.
        index: usize,
        /// Name of the tool as the model writes it.
        name: String,
    },
    /// A piece of a call's arguments.
    CallArgs {
        /// Index of the call in the answer.
        index: usize,
        /// The piece.
        text: String,
    },
    /// The provider runs a hosted tool.
    Hosted {
        /// Its kind, such as `web_search_call`.
        kind: String,
    },
    /// The request is sent again: discard the pieces shown so far.
    Retry {
        /// Number of the attempt that begins, from 2.
        attempt: u32,
        /// Delay before it.
        #[serde(with = "seconds")]
        wait: Duration,
        /// Reason of the retry.
        why: String,
    },
}

/// The complete answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelReply {
    /// The model's turn.
    pub turn: Turn,
    /// Number of attempts, from 1.
    pub attempts: u32,
}

impl ModelReply {
    /// Returns the usage of the answer.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.turn.usage
    }
}

/// Kind of a failure. It decides about retries, fallback to the next model, and the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Too many requests; the provider may say when to retry.
    RateLimited,
    /// The provider is overloaded or broken (5xx, 529).
    Unavailable,
    /// No connection, or it broke before the answer was complete.
    Connection,
    /// No data within the idle limit.
    Idle,
    /// The circuit breaker is open: nothing was sent.
    CircuitOpen,
    /// The key is missing, wrong, or has no access to this model.
    BadKey,
    /// The account is out of credits or quota.
    NoCredit,
    /// The provider does not have this model.
    UnknownModel,
    /// The conversation does not fit the model's context window.
    ContextExceeded,
    /// The provider refuses the content.
    Moderated,
    /// The model has no function calling.
    NoTools,
    /// The provider refuses the request for another reason (400, 413, 422).
    BadRequest,
    /// The answer cannot be read.
    Unreadable,
    /// The request was cancelled.
    Cancelled,
    /// The script of a scripted model does not fit the conversation.
    Script,
}

impl FailureKind {
    /// Returns whether the same request may be sent to the same model again.
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(self, Self::RateLimited | Self::Unavailable | Self::Connection | Self::Idle)
    }
}

/// A failed request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub struct ModelError {
    /// Kind of the failure.
    pub kind: FailureKind,
    /// Id of the provider entry.
    pub provider: String,
    /// The model.
    pub model: String,
    /// HTTP status, if there was a response.
    pub status: Option<u16>,
    /// Message for users with the problem and the remedy. Contains no key.
    pub message: String,
    /// Delay that the provider asks for before a retry.
    pub retry_after: Option<Duration>,
    /// Number of attempts; 0 if nothing was sent.
    pub attempts: u32,
    /// Text of the answer that was received before the request failed or was cancelled.
    pub partial: String,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.model, self.provider, self.message)
    }
}

/// Receives the pieces of an answer.
pub type DeltaSink<'a> = &'a mut (dyn FnMut(Delta) + Send);

/// The interface of a model.
///
/// ```
/// use serde_json::json;
/// use toolcrib_core::{BoxFuture, CancellationToken};
/// use toolcrib_providers::conversation::{Message, UserMessage};
/// use toolcrib_providers::model::{
///     Delta, DeltaSink, Model, ModelError, ModelInfo, ModelReply, ModelRequest,
/// };
/// use toolcrib_providers::{Format, Stop, Turn};
///
/// /// Repeats the length of the conversation, and calls no tool.
/// struct Counter(ModelInfo);
///
/// impl Model for Counter {
///     fn info(&self) -> &ModelInfo {
///         &self.0
///     }
///
///     fn ask<'a>(
///         &'a self,
///         request: &'a ModelRequest,
///         deltas: DeltaSink<'a>,
///         _: &'a CancellationToken,
///     ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
///         let text = format!("{} messages", request.messages.len());
///         // Pieces are for display; the reply has everything.
///         deltas(Delta::Text { text: text.clone() });
///         let turn = Turn {
///             format: self.0.format,
///             calls: Vec::new(),
///             hosted: Vec::new(),
///             assistant: json!({"role": "assistant", "content": &text}),
///             text,
///             reasoning: String::new(),
///             usage: None,
///             stop: Stop::End,
///             complete: true,
///             notes: Vec::new(),
///         };
///         Box::pin(std::future::ready(Ok(ModelReply { turn, attempts: 1 })))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), ModelError> {
/// let model = Counter(ModelInfo {
///     provider: "local".to_owned(),
///     model: "counter".to_owned(),
///     format: Format::OpenAiChat,
///     scripted: false,
///     on_device: true,
///     requested_window: None,
/// });
/// let hello = UserMessage { text: "Hello".to_owned(), ..UserMessage::default() };
/// let request = ModelRequest {
///     system: String::new(),
///     messages: vec![Message::User(hello).into()],
///     tools: None,
///     temperature: None,
///     max_output: None,
///     stream: true,
/// };
/// let reply = model.ask(&request, &mut |_| (), &CancellationToken::new()).await?;
/// assert_eq!(reply.turn.text, "1 messages");
/// # Ok(())
/// # }
/// ```
pub trait Model: Send + Sync {
    /// Returns static facts about the model.
    fn info(&self) -> &ModelInfo;

    /// Returns the format of declarations and results: that of [`ModelInfo::format`], or
    /// [`Format::Text`] once the model is known to have no function calling. Call this before every
    /// round, because a [`FailureKind::NoTools`] may change it.
    fn tool_format(&self) -> Format {
        self.info().format
    }

    /// Returns options for the declarations; read them together with the format.
    fn tool_options(&self) -> Options {
        Options::default()
    }

    /// Sends a request, with retries. Runs no tool.
    ///
    /// # Errors
    /// [`ModelError`]; its kind decides whether the next model is asked.
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
