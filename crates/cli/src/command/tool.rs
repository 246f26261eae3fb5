//! `toolcrib tool list|show|call`: tools used manually, through the same pipeline.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolcrib_app::{StateChanges, SubmitError, Toolcrib};
use toolcrib_core::{
    Answer, ApprovalRequest, Batch, Block, Call, ErrorType, Invoker as _, ModelResult, Origin,
    Outcome, RawArgs, SwitchState, ToolError, ToolSpec, ViewRequest, display_text,
};
use toolcrib_ops::advice;
use toolcrib_ops::calls::{self, CallDocument, CallerContextRequest, ResultLimit};
use toolcrib_ops::tools::{self, ListToolsRequest, ToolRow};

use super::library_snapshot::LibrarySnapshot;
use super::{call_json, dry_run, kill_switch, result_media, tool_call_in_daemon};
use crate::clap_args::{LibraryArgs, ToolCall, ToolList, WorkspaceArgs, tool_arguments};
use crate::output::{self, Failure};
use crate::{bootstrap, json_document, jsonl, op_context, stage_trace, terminal};

pub(crate) fn list(command: &ToolList, json: bool) -> Result<u8, Failure> {
    kill_switch::warn_if_engaged(json)?;
    let toolcrib = bootstrap::block_on(bootstrap::inspect_as_agent(&command.workspace_args, json))?;
    let rows = bootstrap::block_on(async {
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        Ok(tools::list(&ctx, ListToolsRequest::default()).await?)
    })?;
    if json {
        output::print_json(&rows.iter().map(|row| row_json(&toolcrib, row)).collect(), true)?;
        return Ok(0);
    }
    let last = if command.all { "OFFERED" } else { "DESCRIPTION" };
    let mut text = format!("{LIST_HEADER}{last}\n");
    for row in &rows {
        let about = match (command.all, &row.reason) {
            (true, _) if row.offered => "yes".to_owned(),
            (true, _) => {
                let reason = row.excluded.as_ref().map(ToString::to_string).unwrap_or_default();
                terminal::escape_to_line(&format!("no: {reason}"))
            }
            // For a broken tool, show the reason.
            (false, Some(reason)) if row.status == "error" => reason.clone(),
            (false, _) => display_text::first_sentence(&row.description).to_owned(),
        };
        text += &list_line(row, &about);
    }
    output::print_line(&text)?;
    Ok(0)
}

/// Returns a tool for machines, with members that only this command has.
fn row_json(toolcrib: &Toolcrib, row: &ToolRow) -> Value {
    let infos = toolcrib.infos().into_iter().find(|info| info.id.as_str() == row.name);
    let info = infos.map(|info| json!(info)).unwrap_or_default();
    json_document::with_members(row, info)
}

/// All columns except the last.
const LIST_HEADER: &str =
    "TOOL                   RISK      STATUS     TIER         SOURCE       TOKENS  ";

fn list_line(row: &ToolRow, about: &str) -> String {
    // The source includes where the tool runs; most run in this program.
    let source = match row.kind.as_str() {
        "local" => row.source.clone(),
        kind => format!("{} ({})", row.source, kind.replace('_', "-")),
    };
    format!(
        "{:<22} {:<9} {:<10} {:<12} {:<12} {:>6}  {about}\n",
        row.name,
        row.risk,
        status_column(row),
        row.tier,
        terminal::escape_to_line(&source),
        row.tokens,
    )
}

/// Returns its status; for an available tool, whether its calls ask for an approval.
fn status_column(row: &ToolRow) -> &str {
    match (row.status.as_str(), row.state) {
        ("system" | "connected", SwitchState::Ask) => "ask",
        (status, _) => status,
    }
}

/// Returns the wire name of an enum value.
fn wire_name(value: Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub(crate) fn show(name: &str, world: &WorkspaceArgs, json: bool) -> Result<u8, Failure> {
    let toolcrib = bootstrap::block_on(bootstrap::inspect_as_agent(world, json))?;
    let spec = tools::find_tool(&toolcrib, name)?;
    if json {
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        let document = tools::show(&ctx, name, &ViewRequest::default())?;
        output::print_json(&json_document::with_members(&document, json!(*spec)), true)?;
    } else {
        output::print_line(&to_text(&spec))?;
    }
    Ok(0)
}

/// Lists the configuration keys of a tool, one per line.
fn config_keys(spec: &ToolSpec) -> String {
    let mut text = String::new();
    for (n, key) in spec.config.iter().enumerate() {
        let title = if n == 0 { "configure" } else { "" };
        let kind = match (key.required, key.secret) {
            (true, true) => "required, secret",
            (true, false) => "required",
            (false, true) => "secret",
            (false, false) => "optional",
        };
        let about = if key.description.is_empty() { "" } else { ": " };
        text += &format!("{title:<12} {} ({kind}){about}{}\n", key.key, key.description);
    }
    text
}

fn to_text(spec: &ToolSpec) -> String {
    let mut text = format!("{} - {}\n\n{}\n\n", spec.name, spec.title, spec.description);
    let facts = [
        ("risk", wire_name(json!(spec.risk))),
        ("effect", wire_name(json!(spec.effect))),
        ("timeout", format!("{} s", spec.timeout.as_secs_f64())),
        (
            "permissions",
            spec.permissions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        ),
        ("aliases", spec.aliases.join(", ")),
    ];
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        text += &format!("{name:<12} {value}\n");
    }
    text += &config_keys(spec);
    text += &format!("\nparameters   {:#}\n", spec.input_schema);
    for example in &spec.examples {
        text += &format!("\nexample      {}\n             {}\n", example.need, example.args);
    }
    text
}

pub(crate) fn call(command: &ToolCall, json: bool) -> Result<u8, Failure> {
    if command.lines {
        return call_jsonl(command, json);
    }
    let name = command.name.as_deref().unwrap_or_default();
    let args = match command.args.as_str() {
        _ if !command.arguments.is_empty() => tool_arguments::to_json(&command.arguments)?,
        "-" => String::from_utf8(output::read_stdin()?).map_err(|error| {
            Failure::usage(format!("the arguments are not UTF-8: {}", error.utf8_error()))
        })?,
        text => text.to_owned(),
    };
    if command.daemon {
        return tool_call_in_daemon::run(command, name, args, json);
    }
    // Agents are files, which only a call of an agent needs.
    let agents = command.agent.as_ref().map(|_| {
        let WorkspaceArgs { root, tools, .. } = &command.workspace_args;
        let places = LibraryArgs { workspace: root.first().cloned(), tools: tools.clone() };
        LibrarySnapshot::load(&places, json)
    });
    let agents = agents.transpose()?;
    if command.dry_run {
        return bootstrap::block_on(async {
            let toolcrib =
                bootstrap::build_read_only(&command.workspace_args, command.on_ask).await?;
            let batch = batch(&toolcrib, agents.as_ref(), command, RawArgs::Text(args)).await?;
            dry_run::run(&toolcrib, name, batch, (command.explain, json)).await
        });
    }
    let limit = command.max_tokens.map(ResultLimit::new).transpose()?;
    let answer = bootstrap::block_on(async {
        let toolcrib = bootstrap::build_for_calls(&command.workspace_args, command.on_ask).await?;
        let _watching = toolcrib.watch_switches(StateChanges::default(), |_| ());
        let batch = batch(&toolcrib, agents.as_ref(), command, RawArgs::Text(args)).await?;
        let answer = run_one(&toolcrib, batch, command.idempotency_key.as_deref()).await;
        bootstrap::flush_hooks(&toolcrib).await;
        Ok::<_, Failure>(answer)
    })?;
    let answer = match answer {
        Ok(answer) => match limit {
            Some(limit) => limit.apply(answer),
            None => answer,
        },
        Err(refusal) => {
            if json {
                output::print_json(&Value::Object(refusal.to_json()), true)?;
            }
            return Err(refusal.into());
        }
    };
    if command.explain {
        stage_trace::print(&answer, None, json);
    }
    print_answer(&answer, json)
}

/// Prints the answer to a call; returns its exit code.
pub(super) fn print_answer(answer: &Answer, json: bool) -> Result<u8, Failure> {
    match answer {
        Answer::Suspended(request) => {
            if json {
                output::print_json(&Value::Object(answer_json(answer)), true)?;
            }
            Err(Failure { code: 6, message: waiting_message(request) })
        }
        Answer::Done(outcome) => {
            if json {
                output::print_json(&Value::Object(answer_json(answer)), true)?;
            } else {
                print_outcome(outcome)?;
            }
            Ok(outcome.exit_code())
        }
    }
}

/// Describes a waiting call, and how to decide it.
pub(super) fn waiting_message(request: &ApprovalRequest) -> String {
    let id = request.id;
    format!("{} waits for approval {id}; `toolcrib approve yes {id}` lets it run", request.tool)
}

/// Builds the call of a command, in the context that it names.
async fn batch(
    toolcrib: &Toolcrib,
    agents: Option<&LibrarySnapshot>,
    command: &ToolCall,
    args: RawArgs,
) -> Result<Batch, Failure> {
    let name = command.name.clone().unwrap_or_default();
    let batch = toolcrib.manual_batch(vec![Call::new(name, args)], Origin::Cli);
    let ctx = op_context::for_toolcrib(toolcrib, agents.map(LibrarySnapshot::library));
    let conversation = match &command.conversation {
        Some(id) => Some(calls::resolve_conversation(&ctx.store, id).await?),
        None => None,
    };
    let (agent, topic) = (command.agent.clone(), command.topic.clone());
    let request = CallerContextRequest { agent, conversation, topic };
    Ok(calls::with_caller_context(&ctx, batch, request).await?)
}

async fn run_one(
    toolcrib: &Toolcrib,
    batch: Batch,
    key: Option<&str>,
) -> Result<Answer, CallRefusal> {
    let mut answers = match key {
        Some(key) => toolcrib.batch_with_key(batch, key).await?,
        None => toolcrib.engine().invoke(batch).await,
    };
    let answer = answers.pop();
    let error_type = ErrorType::ExecutionError;
    answer
        .ok_or_else(|| CallRefusal { error_type, failure: Failure::run("the call has no answer") })
}

/// A call that was not accepted, such as one whose key belongs to other calls.
struct CallRefusal {
    error_type: ErrorType,
    failure: Failure,
}

impl From<SubmitError> for CallRefusal {
    fn from(error: SubmitError) -> Self {
        Self { error_type: error.error_type(), failure: error.into() }
    }
}

impl From<CallRefusal> for Failure {
    fn from(refusal: CallRefusal) -> Self {
        refusal.failure
    }
}

impl CallRefusal {
    /// Returns the JSON of a call that has ended.
    fn to_json(&self) -> Map<String, Value> {
        let mut reply = refused(self.error_type);
        reply.insert("result".to_owned(), json!(self.failure.message));
        reply
    }
}

/// Returns the JSON of a call that was not accepted.
fn refused(error_type: ErrorType) -> Map<String, Value> {
    jsonl::into_object(json!({"outcome": error_type.outcome(), "error_type": error_type}))
}

/// Prints the result to standard output, and everything else to standard error.
fn print_outcome(outcome: &Outcome) -> Result<(), Failure> {
    outcome.notes.iter().for_each(|note| output::eprint_line(&format!("toolcrib: {note}")));
    if let Some(end) = &outcome.unrecorded {
        print_result(&end.result)?;
    }
    print_result(&outcome.result)?;
    // The text of the call is for models; a person gets advice.
    if let Some(advice) = advice::outcome_advice(outcome) {
        output::eprint_line(&format!("toolcrib: {advice}"));
    }
    Ok(())
}

fn print_result(result: &Result<ModelResult, ToolError>) -> Result<(), Failure> {
    match result {
        Ok(result) => {
            match &result.result {
                Value::String(text) => output::print_line(text)?,
                data => output::print_json(data, false)?,
            }
            result_media::print(&result.media)?;
            let columns = terminal::terminal_size().0.saturating_sub(1);
            for block in &result.for_people {
                let Block::Card { card } = block else { continue };
                for row in terminal::draw_card(card, columns).into_iter().flatten() {
                    output::print_line(&row)?;
                }
            }
            output::eprint_sanitized(result.flagged, &result.changes);
        }
        Err(error) => {
            let message = error.message_for_people();
            output::eprint_line(&format!("toolcrib: {message} ({})", error.error_type));
        }
    }
    Ok(())
}

/// Returns the JSON of `--json` and `--lines`.
fn answer_json(answer: &Answer) -> Map<String, Value> {
    call_json::to_json(&json!(CallDocument::from(answer.clone())))
}

#[derive(Deserialize)]
struct CallRequest {
    tool: String,
    #[serde(default)]
    args: Value,
    key: Option<String>,
}

fn call_jsonl(command: &ToolCall, json: bool) -> Result<u8, Failure> {
    let runtime = bootstrap::runtime()?;
    let (toolcrib, _watching) = runtime.block_on(async {
        let toolcrib = bootstrap::build_for_calls(&command.workspace_args, command.on_ask).await?;
        let watching = toolcrib.watch_switches(StateChanges::default(), |_| ());
        Ok::<_, Failure>((toolcrib, watching))
    })?;
    let mut code = 0;
    let unreadable = refused(ErrorType::ValidationError);
    let read = jsonl::run_filter_with(unreadable, |line: CallRequest| {
        // Text is parsed as output of a model; other values are used unchanged.
        let args = match line.args {
            Value::String(text) => RawArgs::Text(text),
            Value::Null => RawArgs::Text(String::new()),
            value => RawArgs::Value(value),
        };
        let batch = toolcrib.manual_batch(vec![Call::new(&line.tool, args)], Origin::Cli);
        let call = run_one(&toolcrib, batch, line.key.as_deref());
        let answer = match runtime.block_on(call) {
            Ok(answer) => answer,
            Err(refusal) => {
                code = 2;
                let error = json!(refusal.failure.message);
                return Ok([("error".to_owned(), error)]
                    .into_iter()
                    .chain(refusal.to_json())
                    .collect());
            }
        };
        if command.explain {
            stage_trace::print(&answer, None, json);
        }
        Ok(answer_json(&answer))
    });
    let code = read.map(|read| read.max(code));
    runtime.block_on(bootstrap::flush_hooks(&toolcrib));
    runtime.shutdown_background();
    code
}
