//! The file format, typed: what is not in it is refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::response_body::{self, Frames, Item, LineEnding, Style};
use super::scenarios::{Exchange, Outcome, Response, Scenario, Stream, Suite};

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
    #[serde(default = "default_true")]
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

fn default_true() -> bool {
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
    #[serde(default = "default_count")]
    times: usize,
    respond: ResponseFile,
}

fn default_count() -> usize {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResponseFile {
    #[serde(default = "default_status")]
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
    eol: LineEnding,
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

fn default_status() -> u16 {
    200
}

/// Reads a file.
pub(super) fn suite(path: &Path) -> Result<Suite, ReadError> {
    suite_of(&read(path)?).map_err(|reason| ReadError::new(path, reason))
}

fn suite_of(file: &SuiteFile) -> Result<Suite, String> {
    let mut scenarios: Vec<Scenario> = Vec::new();
    for scenario in &file.scenarios {
        let name = &scenario.name;
        if scenarios.iter().any(|other| other.name == *name) {
            return Err(format!("two scenarios are called {name}"));
        }
        scenarios.push(scenario_of(scenario, file).map_err(|reason| format!("{name}: {reason}"))?);
    }
    let SuiteFile { about, provider, model, .. } = file;
    let (about, provider, model) = (about.clone(), provider.clone(), model.clone());
    Ok(Suite { about, provider, model, scenarios })
}

/// Any typed YAML file.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, ReadError> {
    let text = std::fs::read_to_string(path).map_err(|e| ReadError::new(path, e.to_string()))?;
    typed(&text).map_err(|reason| ReadError::new(path, reason))
}

/// `yes` and `no` are texts, as in JSON.
fn typed<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
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
            ("text/event-stream; charset=utf-8", response_body::sse(items, frames, style)?)
        }
        (None, Some(items), None, None, None) => {
            ("application/x-ndjson", response_body::lines(items, frames, style)?)
        }
        (None, None, Some(json), None, None) => {
            ("application/json", whole(response_body::expanded(json)?))
        }
        (None, None, None, Some(parts), None) => {
            ("application/json", whole(response_body::framed(parts, frames)?))
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

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
about: a test
provider: p
model: m
paths: { stream: /s, whole: /w }
expect: { model: m }
expect_headers: { a: b }
frames: { f: { "x": "$0" } }
scenarios:
  - name: one
    shows: it
    user: Hello, yes.
    stream: false
    exchanges:
      - expect: { said: yes }
        expect_headers: { c: d }
        respond: { frame: [f, 1] }
        times: 2
      - respond: { sse: [ [f, { $text: [[ab, 2]] }] ], status: 500, cut_after: 3, chunks: 0, delay_ms: 5 }
    outcome: { text: done, calls: [ { tool: t } ] }
"#;

    fn read_text(text: &str) -> Result<Suite, String> {
        suite_of(&typed(text)?)
    }

    #[test]
    fn a_file_is_read_with_its_defaults() {
        let suite = read_text(FILE).unwrap();
        let scenario = &suite.scenarios[0];
        assert_eq!((suite.provider.as_str(), scenario.exchanges.len()), ("p", 3));
        let first = &scenario.exchanges[0];
        assert_eq!(first.path, "/w");
        assert_eq!(first.headers, serde_json::json!({"a": "b", "c": "d"}));
        let said = serde_json::json!({"said": "yes"});
        assert_eq!(first.expect, [serde_json::json!({"model": "m"}), said]);
        assert_eq!(first.respond.body, br#"{"x":1}"#);
        assert_eq!(first.respond.headers["content-type"], "application/json");
        let last = &scenario.exchanges[2].respond;
        assert_eq!((last.status, last.body.as_slice()), (500, &b"data: {\"x\":\"abab\"}\n\n"[..]));
        assert_eq!(last.events[0].data, r#"{"x":"abab"}"#);
        assert_eq!((last.stream.cut_after, last.stream.chunks), (Some(3), Some(1)));
        let call = &scenario.outcome.calls[0];
        assert_eq!(
            (call.outcome.as_str(), scenario.outcome.end.as_str()),
            ("succeeded", "completed")
        );
    }

    #[test]
    fn slips_are_refused() {
        for (from, to, part) in [
            ("shows: it", "show: it", "show"),
            ("cut_after: 3", "cut_after: 300", "the body has only"),
            ("frame: [f, 1]", "frame: [g, 1]", "one: exchange 1: there is no frame \"g\""),
            ("frame: [f, 1]", "frame: [f, 1], raw: x", "exactly one of"),
            ("frame: [f, 1]", "status: 200", "exactly one of"),
            ("tool: t", "tool: t, result: x", "result"),
        ] {
            let text = FILE.replace(from, to);
            assert_ne!(text, FILE, "{from}");
            let error = read_text(&text).unwrap_err();
            assert!(error.contains(part), "{to}: {error}");
        }
        let twice = format!("{FILE}{}", FILE.split_once("scenarios:\n").unwrap().1);
        assert!(read_text(&twice).unwrap_err().contains("two scenarios"));
    }
}
