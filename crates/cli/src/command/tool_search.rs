//! `toolcrib tool find`: finds tools for a need in words, as models do.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_core::{Entry, Status, ViewRequest, display_text};
use toolcrib_tool_search::find_tools::ToolSearchResult;
use toolcrib_tool_search::{JsonlError, Model, search_jsonl};

use crate::clap_args::{Find, WorkspaceArgs};
use crate::config::Env;
use crate::output::{self, Failure};
use crate::{bootstrap, terminal};

pub(super) fn run(command: &Find, json: bool) -> Result<u8, Failure> {
    let need = command.need.as_deref().unwrap_or_default();
    if command.queries.is_none() && need.trim().is_empty() {
        return Err(Failure::usage("say in words what the tool is needed for"));
    }
    match &command.file {
        Some(file) => search_file(command, file, need, json),
        None => search_tools(command, need, json),
    }
}

/// Searches the tools of a file.
fn search_file(command: &Find, file: &Path, need: &str, json: bool) -> Result<u8, Failure> {
    if command.queries.as_deref() == Some(file) {
        return Err(Failure::usage("--tools and --queries are two files"));
    }
    let model = load_model(&command.workspace_args.to_workspace_args())?;
    let tools = open(file)?;
    let limit = usize::from(command.limit);
    if command.lines || json || command.queries.is_some() {
        let queries: Box<dyn BufRead> = match &command.queries {
            Some(queries) => open(queries)?,
            None => Box::new(Cursor::new(json!({"id": null, "query": need}).to_string())),
        };
        let out = io::BufWriter::new(io::stdout().lock());
        search_jsonl(&model, tools, queries, limit, out).map_err(failure)?;
        return Ok(0);
    }
    let mut out = Vec::new();
    let queries = json!({"id": null, "query": need}).to_string();
    search_jsonl(&model, tools, queries.as_bytes(), limit, &mut out).map_err(failure)?;
    let answer: Value = serde_json::from_slice(&out).unwrap_or_default();
    let rows = answer.get("results").and_then(Value::as_array).into_iter().flatten();
    let text: String = rows
        .map(|row| {
            let id = row.get("id").and_then(Value::as_str).unwrap_or_default();
            let score = row.get("score").and_then(Value::as_f64).unwrap_or_default();
            format!("{score:>5.2}  {}\n", terminal::escape_to_line(id))
        })
        .collect();
    output::print_line(&text)?;
    Ok(0)
}

/// Loads the configured model, else the built-in one.
fn load_model(at: &WorkspaceArgs) -> Result<Arc<Model>, Failure> {
    let config = bootstrap::load_config(&bootstrap::or_current_dir(at))?;
    config
        .search_model(&Env::from_process())
        .load()
        .map_err(|error| model_failure(&error.to_string()))
}

fn model_failure(error: &str) -> Failure {
    Failure::configuration(format!(
        "the model for finding tools cannot be used: {error}; see `[discovery]` in the configuration"
    ))
}

fn failure(error: JsonlError) -> Failure {
    match error {
        JsonlError::Model(error) => model_failure(&error.to_string()),
        JsonlError::Io { what: "output", error } => error.into(),
        JsonlError::Io { .. } => Failure::run(error.to_string()),
        JsonlError::Line { .. } => Failure::usage(error.to_string()),
    }
}

fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let file = File::open(path)
        .map_err(|error| Failure::run(format!("cannot read {}: {error}", path.display())))?;
    Ok(Box::new(BufReader::with_capacity(1 << 20, file)))
}

/// Searches the tools of agents.
fn search_tools(command: &Find, need: &str, json: bool) -> Result<u8, Failure> {
    let (toolcrib, sought) = bootstrap::block_on(async {
        let toolcrib =
            bootstrap::inspect_as_agent(&command.workspace_args.to_workspace_args(), json).await?;
        let view = Arc::new(ViewRequest::default());
        let sought = toolcrib.search_tools(&view, need, usize::from(command.limit)).await;
        let sought =
            sought.map_err(|error| model_failure(&error.detail.unwrap_or(error.message)))?;
        Ok((toolcrib, sought))
    })?;
    if let Some(note) = &sought.note {
        output::warn(&format!("the order is that of the built-in index: {note}"), json);
    }
    if json || command.lines {
        output::print_json(&results_json(&toolcrib, &sought), true)?;
        return Ok(0);
    }
    let mut text = String::new();
    for (entry, score) in &sought.usable {
        let spec = entry.spec();
        let about = display_text::first_sentence(&spec.description);
        text += &format!(
            "{score:>5.2}  {:<24} {}\n",
            spec.name.as_str(),
            terminal::escape_to_line(about)
        );
    }
    for (name, status) in &sought.not_ready {
        text += &format!(
            "    -  {:<24} {}\n",
            name.as_str(),
            terminal::escape_to_line(&not_ready_reason(status))
        );
    }
    if !text.is_empty() {
        output::print_line(&text)?;
    } else {
        let near = match sought.nearest.is_empty() {
            true => String::new(),
            false => format!("; the nearest names are {}", sought.nearest.join(", ")),
        };
        output::eprint_line(&format!("toolcrib: no tool fits{near}"));
    }
    Ok(0)
}

fn results_json(toolcrib: &Toolcrib, sought: &ToolSearchResult) -> Value {
    let row = |(entry, score): &(Entry, f32)| {
        let spec = entry.spec();
        json!({
            "name": spec.name,
            "score": score,
            "summary": spec.description,
            "risk": spec.risk,
            "tokens": toolcrib.declaration_tokens(entry),
        })
    };
    let found: Vec<Value> = sought.usable.iter().map(row).collect();
    let waiting =
        |(name, status): &(_, Status)| json!({"name": name, "reason": not_ready_reason(status)});
    let not_ready: Vec<Value> = sought.not_ready.iter().map(waiting).collect();
    json!({"found": found, "not_ready": not_ready, "nearest": sought.nearest})
}

/// Describes the steps that are required before a tool can be used.
fn not_ready_reason(status: &Status) -> String {
    match status {
        Status::Available { missing } => {
            format!("configuration is missing: {}", missing.join(", "))
        }
        Status::Offline { reason } => format!("offline: {reason}"),
        _ => "not ready".to_owned(),
    }
}
