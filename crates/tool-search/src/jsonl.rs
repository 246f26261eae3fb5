//! Batch search over JSON lines: reads tools and queries, writes one result line per query.

use std::io::{BufRead, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::index::Index;
use crate::model::{Model, ModelError};
use crate::tool_profile::ToolProfile;

/// Maximum bytes of a line, so that a file without line ends does not exhaust memory.
const LONGEST_LINE: u64 = 16 * 1024 * 1024;

/// The reasons why a batch search fails.
#[derive(Debug, thiserror::Error)]
pub enum JsonlError {
    /// The model cannot be loaded.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Reading or writing failed.
    #[error("{what}: {error}")]
    Io {
        /// Name of the stream.
        what: &'static str,
        /// The system's error.
        error: std::io::Error,
    },
    /// A line is invalid.
    #[error("{what}, line {line}: {reason}")]
    Line {
        /// Name of the stream.
        what: &'static str,
        /// Line number, from 1.
        line: u64,
        /// The problem.
        reason: String,
    },
}

/// A row that may be a tool.
#[derive(Deserialize)]
struct ToolRow {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    id: Option<String>,
    #[serde(flatten)]
    profile: ToolProfile,
}

/// A row that may be a query.
#[derive(Deserialize)]
struct QueryRow {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    id: serde_json::Value,
    query: Option<String>,
}

/// The result line of a query.
#[derive(Serialize)]
struct Answer<'a> {
    id: &'a serde_json::Value,
    results: Vec<RankedTool>,
}

#[derive(Serialize)]
struct RankedTool {
    id: Arc<str>,
    score: f32,
}

/// Reads tools, one JSON object per line (`id`, `server`, `name`, `description`, `parameters`, and
/// optionally `guide`, `examples`, `aliases`), and passes each on with its id, by default its name.
/// Blank lines and rows of another `type` are skipped.
///
/// # Errors
/// [`JsonlError`] at the first invalid line.
pub fn read_tools(
    tools: impl BufRead,
    mut give: impl FnMut(String, ToolProfile),
) -> Result<(), JsonlError> {
    each_line::<ToolRow>("tools", tools, |row, line| {
        if row.kind.is_some_and(|kind| kind != "tool") {
            return Ok(());
        }
        let id = row.id.unwrap_or_else(|| row.profile.name.clone());
        if id.is_empty() {
            let reason = "a tool needs an `id` or a `name`".to_owned();
            return Err(JsonlError::Line { what: "tools", line, reason });
        }
        give(id, row.profile);
        Ok(())
    })
}

/// Ranks the tools for every query (rows `{id, query}`) and writes a line per query: `{"id",
/// "results": [{"id", "score"}]}`, best first, at most `limit` results. No score threshold is
/// applied; the reader does that.
///
/// # Errors
/// [`JsonlError`]; lines written before it remain written.
pub fn search_jsonl(
    model: &Arc<Model>,
    tools: impl BufRead,
    queries: impl BufRead,
    limit: usize,
    mut out: impl Write,
) -> Result<(), JsonlError> {
    let mut index = Index::new(Arc::clone(model));
    read_tools(tools, |id, profile| index.put(&id, &profile))?;
    each_line::<QueryRow>("queries", queries, |row, line| {
        if row.kind.is_some_and(|kind| kind != "query") {
            return Ok(());
        }
        let Some(query) = row.query else {
            let reason = "a query needs a `query`".to_owned();
            return Err(JsonlError::Line { what: "queries", line, reason });
        };
        let hits = index.find(&query, limit);
        let results =
            hits.into_iter().map(|hit| RankedTool { id: hit.id, score: hit.score }).collect();
        let answer = serde_json::to_string(&Answer { id: &row.id, results });
        let written = answer.map_err(Into::into).and_then(|text| writeln!(out, "{text}"));
        written.map_err(|error| JsonlError::Io { what: "output", error })
    })?;
    out.flush().map_err(|error| JsonlError::Io { what: "output", error })
}

/// Parses every line that is not blank.
pub(crate) fn each_line<T: for<'de> Deserialize<'de>>(
    what: &'static str,
    mut from: impl BufRead,
    mut take: impl FnMut(T, u64) -> Result<(), JsonlError>,
) -> Result<(), JsonlError> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let read = from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes);
        match read.map_err(|error| JsonlError::Io { what, error })? {
            0 => break,
            n if n as u64 == LONGEST_LINE && !bytes.ends_with(b"\n") => {
                let reason = "it is longer than 16 MiB".to_owned();
                return Err(JsonlError::Line { what, line, reason });
            }
            _ if bytes.iter().all(u8::is_ascii_whitespace) => continue,
            _ => {}
        }
        let row = serde_json::from_slice(&bytes).map_err(|error| JsonlError::Line {
            what,
            line,
            reason: error.to_string(),
        })?;
        take(row, line)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: &str = r#"
{"type":"tool","source":"s","id":"s:weather","server":"","name":"get_weather","description":"Forecast for a city.","parameters":[]}
{"type":"query","id":"s-1","query":"not a tool","relevant":[]}
{"name":"send_mail","description":"Sends an e-mail.","parameters":null}
"#;

    fn run(tools: &str, queries: &str, limit: usize) -> Result<String, String> {
        let mut out = Vec::new();
        let model = Model::builtin().unwrap();
        search_jsonl(&model, tools.as_bytes(), queries.as_bytes(), limit, &mut out)
            .map_err(|error| error.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_line_per_query() {
        let queries = "{\"id\":\"q1\",\"query\":\"will it rain in Oslo\"}\n\n{\"id\":7,\"query\":\"write to my boss\"}";
        let out = run(TOOLS, queries, 1).unwrap();
        let lines: Vec<serde_json::Value> =
            out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["id"], "q1");
        assert_eq!(lines[0]["results"][0]["id"], "s:weather");
        assert_eq!(lines[1]["id"], 7);
        assert_eq!(lines[1]["results"].as_array().unwrap().len(), 1);
        assert_eq!(lines[1]["results"][0]["id"], "send_mail");
        assert!(lines[1]["results"][0]["score"].as_f64().unwrap() > 0.0);
    }

    #[test]
    fn nothing_to_do_is_nothing() {
        assert_eq!(run("", "", 5).unwrap(), "");
        assert_eq!(
            run("", "{\"id\":1,\"query\":\"x\"}", 5).unwrap(),
            "{\"id\":1,\"results\":[]}\n"
        );
    }

    #[test]
    fn bad_lines_are_named() {
        for (tools, queries, expected) in [
            ("\n{", "", "tools, line 2: "),
            ("{\"description\":\"x\"}", "", "tools, line 1: a tool needs an `id` or a `name`"),
            ("{\"name\":7}", "", "tools, line 1: "),
            ("", "{\"id\":1}", "queries, line 1: a query needs a `query`"),
            ("", "[]", "queries, line 1: "),
        ] {
            let error = run(tools, queries, 5).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
