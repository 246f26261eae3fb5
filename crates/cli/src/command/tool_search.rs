//! `toolcrib tool find`: finds tools for a need in words, as models do.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::{ViewRequest, display_text};
use toolcrib_ops::tools::{self, FindToolsRequest, FoundTools, ToolRow};
use toolcrib_tool_search::{JsonlError, Model, search_jsonl};

use crate::clap_args::{Find, WorkspaceArgs};
use crate::config::Env;
use crate::json_document::with_members;
use crate::output::{self, Failure};
use crate::{bootstrap, op_context, terminal};

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
    let result = bootstrap::block_on(async {
        let toolcrib =
            bootstrap::inspect_as_agent(&command.workspace_args.to_workspace_args(), json).await?;
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        let limit = Some(usize::from(command.limit));
        let request = FindToolsRequest { need: need.to_owned(), limit };
        Ok(tools::search(&ctx, &ViewRequest::default(), &request).await?)
    })?;
    if let Some(note) = &result.note {
        output::warn(&format!("the order is that of the built-in index: {note}"), json);
    }
    if json || command.lines {
        output::print_json(&to_json(&result), true)?;
        return Ok(0);
    }
    let mut text = String::new();
    for tool in &result.found {
        let about = terminal::escape_to_line(display_text::first_sentence(&tool.description));
        text += &format!("{:>5.2}  {:<24} {about}\n", tool.score.unwrap_or_default(), tool.name);
    }
    for tool in &result.not_ready {
        let reason = terminal::escape_to_line(&not_ready_reason(tool));
        text += &format!("    -  {:<24} {reason}\n", tool.name);
    }
    if !text.is_empty() {
        output::print_line(&text)?;
    } else {
        let near = match result.nearest.is_empty() {
            true => String::new(),
            false => format!("; the nearest names are {}", result.nearest.join(", ")),
        };
        output::eprint_line(&format!("toolcrib: no tool fits{near}"));
    }
    Ok(0)
}

/// Returns the rows of `GET /tools?find=`, in two lists, with the `summary` of each tool.
fn to_json(result: &FoundTools) -> Value {
    let row = |tool: &ToolRow| with_members(tool, json!({ "summary": tool.description }));
    let rows = |tools: &[ToolRow]| -> Value { tools.iter().map(row).collect() };
    json!({
        "found": rows(&result.found),
        "not_ready": rows(&result.not_ready),
        "nearest": result.nearest,
    })
}

/// Describes the steps that are required before a tool can be used.
fn not_ready_reason(tool: &ToolRow) -> String {
    match (tool.missing.as_slice(), &tool.reason) {
        ([], Some(reason)) if tool.status == "offline" => format!("offline: {reason}"),
        ([], _) => "not ready".to_owned(),
        (missing, _) => format!("configuration is missing: {}", missing.join(", ")),
    }
}
