//! The file format, typed: what is not in it is refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::body::{self, Eol, Event, Frames, Item, Style};

/// A file that cannot be used.
#[derive(Debug)]
pub struct ReadError {
    path: PathBuf,
    reason: String,
}

impl ReadError {
    pub(super) fn new(path: &Path, reason: impl Into<String>) -> Self {
        Self { path: path.to_owned(), reason: reason.into() }
    }
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for ReadError {}

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
    /// What somebody says.
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
    /// `succeeded`, the type of the error, or `not_run` for a call that never came to the door.
    #[serde(default = "succeeded")]
    pub outcome: String,
}

fn succeeded() -> String {
    "succeeded".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteFile {
    about: String,
    provider: String,
    model: String,
    paths: Paths,
    #[serde(default)]
    expect: Value,
    #[serde(default)]
    expect_headers: Map<String, Value>,
    #[serde(default)]
    frames: Frames,
    scenarios: Vec<ScenarioFile>,
}

/// The paths of requests that ask for a stream and for a whole answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Paths {
    stream: String,
    whole: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioFile {
    name: String,
    shows: String,
    #[serde(default = "yes")]
    stream: bool,
    server: Option<String>,
    #[serde(default)]
    quirks: Map<String, Value>,
    #[serde(default)]
    tools: Vec<String>,
    user: String,
    exchanges: Vec<ExchangeFile>,
    outcome: Outcome,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExchangeFile {
    #[serde(default)]
    expect: Value,
    expect_path: Option<String>,
    #[serde(default)]
    expect_headers: Map<String, Value>,
    /// How often it happens in a row.
    #[serde(default = "one")]
    times: usize,
    respond: ResponseFile,
}

fn one() -> usize {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResponseFile {
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    sse: Option<Vec<Item>>,
    lines: Option<Vec<Item>>,
    json: Option<Value>,
    /// One JSON text, from a frame.
    frame: Option<Vec<Value>>,
    raw: Option<String>,
    #[serde(default)]
    eol: Eol,
    #[serde(default)]
    bom: bool,
    #[serde(default)]
    named: bool,
    #[serde(default)]
    numbered: bool,
    #[serde(default)]
    tight: bool,
    chunks: Option<usize>,
    #[serde(default)]
    delay_ms: u64,
    cut_after: Option<usize>,
    end_after: Option<usize>,
}

fn ok() -> u16 {
    200
}

impl Suite {
    /// Reads a file.
    ///
    /// # Errors
    /// [`ReadError`] when it cannot be read, is not in the format, or contradicts itself.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let file: SuiteFile = read(path)?;
        let wrong = |reason: String| ReadError::new(path, reason);
        let mut scenarios: Vec<Scenario> = Vec::new();
        for scenario in &file.scenarios {
            if scenarios.iter().any(|other| other.name == scenario.name) {
                return Err(wrong(format!("two scenarios are called {}", scenario.name)));
            }
            let made = scenario_of(scenario, &file);
            scenarios.push(made.map_err(|reason| wrong(format!("{}: {reason}", scenario.name)))?);
        }
        Ok(Self { about: file.about, provider: file.provider, model: file.model, scenarios })
    }
}

/// Any typed YAML file; `yes` and `no` are texts, as in JSON.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, ReadError> {
    let text = std::fs::read_to_string(path).map_err(|e| ReadError::new(path, e.to_string()))?;
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(&text, options)
        .map_err(|error| ReadError::new(path, error.to_string()))
}

fn scenario_of(scenario: &ScenarioFile, suite: &SuiteFile) -> Result<Scenario, String> {
    let path = if scenario.stream { &suite.paths.stream } else { &suite.paths.whole };
    let mut exchanges = Vec::new();
    for (i, file) in scenario.exchanges.iter().enumerate() {
        let respond = response_of(&file.respond, &suite.frames)
            .map_err(|reason| format!("exchange {}: {reason}", i + 1))?;
        let mut headers = suite.expect_headers.clone();
        headers.extend(file.expect_headers.clone());
        let exchange = Exchange {
            expect: [&suite.expect, &file.expect]
                .into_iter()
                .filter(|e| !e.is_null())
                .cloned()
                .collect(),
            path: file.expect_path.as_ref().unwrap_or(path).clone(),
            headers: headers.into(),
            respond,
        };
        exchanges.extend(std::iter::repeat_n(exchange, file.times));
    }
    Ok(Scenario {
        name: scenario.name.clone(),
        shows: scenario.shows.clone(),
        stream: scenario.stream,
        server: scenario.server.clone(),
        quirks: scenario.quirks.clone(),
        tools: scenario.tools.clone(),
        user: scenario.user.clone(),
        exchanges,
        outcome: scenario.outcome.clone(),
    })
}

fn response_of(file: &ResponseFile, frames: &Frames) -> Result<Response, String> {
    let style = Style {
        eol: file.eol,
        bom: file.bom,
        named: file.named,
        numbered: file.numbered,
        tight: file.tight,
    };
    let whole = |json: Value| (json.to_string().into_bytes(), Vec::new());
    let given = (&file.sse, &file.lines, &file.json, &file.frame, &file.raw);
    let (content_type, (body, events)) = match given {
        (Some(items), None, None, None, None) => {
            ("text/event-stream; charset=utf-8", body::sse(items, frames, style)?)
        }
        (None, Some(items), None, None, None) => {
            ("application/x-ndjson", body::lines(items, frames, style)?)
        }
        (None, None, Some(json), None, None) => ("application/json", whole(body::expanded(json)?)),
        (None, None, None, Some(parts), None) => {
            ("application/json", whole(body::framed(parts, frames)?))
        }
        (None, None, None, None, Some(raw)) => {
            ("text/plain", (raw.clone().into_bytes(), Vec::new()))
        }
        _ => return Err("an answer has exactly one of sse, lines, json, frame, raw".to_owned()),
    };
    let beyond = |at: Option<usize>| at.is_some_and(|at| at >= body.len());
    if beyond(file.cut_after) || beyond(file.end_after) {
        return Err(format!("the body has only {} bytes", body.len()));
    }
    let mut headers = BTreeMap::from([("content-type".to_owned(), content_type.to_owned())]);
    headers.extend(file.headers.clone());
    let stream = Stream {
        chunks: file.chunks.map(|n| n.max(1)),
        delay: Duration::from_millis(file.delay_ms),
        cut_after: file.cut_after,
        end_after: file.end_after,
    };
    Ok(Response { status: file.status, headers, body, events, stream })
}
