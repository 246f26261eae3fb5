//! The scenarios of a file of recorded traffic, ready to be played.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::file_format::{self, ReadError};
use super::response_body::Event;

/// The scenarios of one provider.
#[derive(Debug, Clone)]
pub struct Suite {
    /// What the file is for.
    pub about: String,
    /// Id of the provider that is spoken to.
    pub provider: String,
    /// The model that is asked.
    pub model: String,
    /// The scenarios.
    pub scenarios: Vec<Scenario>,
}

/// One conversation and its traffic.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name, unique in the file.
    pub name: String,
    /// What it shows.
    pub shows: String,
    /// Whether answers are streamed.
    pub stream: bool,
    /// Whose ways the server has, when they are not those of the provider.
    pub server: Option<String>,
    /// Single ways in which the server differs, by name.
    pub quirks: Map<String, Value>,
    /// Names of the tools that are offered.
    pub tools: Vec<String>,
    /// The user's message.
    pub user: String,
    /// What goes over the wire, in order.
    pub exchanges: Vec<Exchange>,
    /// What is there at the end.
    pub outcome: Outcome,
}

/// One request and its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// What the body must hold, each of them (see [`super::differences`]).
    pub expect: Vec<Value>,
    /// The path that is asked for, with its query.
    pub path: String,
    /// What the headers must hold; names in lower case.
    pub headers: Value,
    /// The answer.
    pub respond: Response,
}

/// One answer, byte by byte.
#[derive(Debug, Clone)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Headers beside `content-type`, which is also here, and the framing.
    pub headers: BTreeMap<String, String>,
    /// The whole body, also where it is cut on the way.
    pub body: Vec<u8>,
    /// The events in it; empty when it is no stream.
    pub events: Vec<Event>,
    /// How it is sent.
    pub stream: Stream,
}

/// How a body is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stream {
    /// Bytes of one piece; `None` = all at once.
    pub chunks: Option<usize>,
    /// Wait before each piece but the first.
    pub delay: Duration,
    /// Bytes after which the connection is closed, as if a cable were pulled.
    pub cut_after: Option<usize>,
    /// Bytes after which the answer ends in good order, although the body is longer.
    pub end_after: Option<usize>,
}

/// What is there at the end of a scenario.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The final text, as [`super::differences`] takes it; not looked at when missing.
    pub text: Option<Value>,
    /// Every call that the model made, in order, whether it ran or not.
    #[serde(default)]
    pub calls: Vec<ExpectedCall>,
    /// The kind of failure with which it ends, such as `rate_limited`.
    pub error: Option<String>,
    /// How it ends otherwise.
    #[serde(default = "completed")]
    pub end: String,
    /// The waits before requests that were sent again, in milliseconds; not looked at when missing.
    pub waits_ms: Option<Vec<u64>>,
    /// What all answers together used; not looked at when missing.
    pub usage: Option<Usage>,
}

fn completed() -> String {
    "completed".to_owned()
}

/// Tokens, as the provider reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens of the requests.
    pub input: u64,
    /// Tokens of the answers.
    pub output: u64,
}

/// One call and its end.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedCall {
    /// The tool, as the model named it.
    pub tool: String,
    /// What the tool ran with, as [`super::differences`] takes it; not looked at when missing.
    pub args: Option<Value>,
    /// `succeeded`, the type of the error, or `not_run` for a call that never came to the pipeline.
    #[serde(default = "succeeded")]
    pub outcome: String,
}

fn succeeded() -> String {
    "succeeded".to_owned()
}

impl Suite {
    /// Reads a file.
    ///
    /// # Errors
    /// [`ReadError`] when it cannot be read, is not in the format, or contradicts itself.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        file_format::suite(path)
    }
}
