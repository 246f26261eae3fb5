//! `manage_process`: lists, reads and ends the background processes of a conversation.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{
    Assessment, CallCtx, Effect, ErrorType, Tool, ToolError, ToolOutput, ToolSpec, Trust, defaults,
};

use super::{base_spec, examples, text_output};
use crate::introspection::iso;
use crate::shell::background::{BackgroundProcess, ProcessEntry, State};
use crate::shell::{Owner, Shells};

/// Name of the tool.
const NAME: &str = "manage_process";

/// Default number of log lines.
const LINES: usize = 100;
/// Maximum number of log lines of one call.
const MOST_LINES: usize = 1000;

/// Characters of a command in the list.
const COMMAND: usize = 200;

/// Handler of `manage_process`.
pub(crate) struct ManageProcess {
    pub(crate) shells: Arc<Shells>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// list: show all running and finished background processes. log: output of one. kill: end a
    /// running one. remove: delete a finished one from the list.
    action: Action,
    /// The process, as execute_shell_command named it. Needed for log, kill and remove.
    session_id: Option<String>,
    /// For log: number of the first line, from 0. Default: the last lines.
    offset: Option<u64>,
    /// For log: number of lines, at most 1000. Default: 100.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    List,
    Log,
    Kill,
    Remove,
}

impl Action {
    fn as_str(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Log => "log",
            Self::Kill => "kill",
            Self::Remove => "remove",
        }
    }
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        NAME,
        "Manage background programs",
        "Look after programs that execute_shell_command started with background=true in this conversation: list them, read their output (log), end one (kill), take a finished one off the list (remove).",
    );
    spec.group = Some("shell".to_owned());
    spec.parameter_aliases = super::aliases([("id", "session_id"), ("process_id", "session_id")]);
    spec.effect = Effect::Idempotent;
    spec.timeout = defaults::TIMEOUT_FILE;
    spec.polling = true;
    spec.default_enabled = false;
    spec.enabled_with = Some("execute_shell_command".to_owned());
    spec.trust = Trust::External;
    spec.examples = examples([
        ("Is the server up?", json!({"action": "log", "session_id": "p1f3a9c07", "limit": 20})),
        ("Stop it", json!({"action": "kill", "session_id": "p1f3a9c07"})),
    ]);
    spec
}

impl Tool for ManageProcess {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let id = args.session_id.as_deref().unwrap_or_default();
        let action = args.action.as_str();
        let summary = format!("{action} background processes {id}");
        let mut assessment = Assessment::from_spec(spec).with_summary(summary.trim_end());
        assessment.operation = Some(format!("{NAME}.{action}"));
        if matches!(args.action, Action::List | Action::Log) {
            assessment.effect = Effect::Read;
        }
        if args.action != Action::List && id.is_empty() {
            return Err(ToolError::validation(format!(
                "`{action}` needs `session_id`. The action list shows which there are."
            )));
        }
        Ok(assessment)
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let Some(owner) = Owner::from_call(ctx) else {
            return Ok(text_output(
                "There are no background processes: this call is in no conversation.".to_owned(),
            ));
        };
        if args.action == Action::List {
            return Ok(list(&self.shells.processes.list(&owner)));
        }
        let id = args.session_id.unwrap_or_default();
        let found = self.shells.processes.find(&owner, &id);
        let found = found.ok_or_else(|| unknown(&id, &self.shells.processes.list(&owner)))?;
        match (args.action, found) {
            (Action::List | Action::Log, ProcessEntry::Known(process)) => {
                Ok(log(&process, args.offset, args.limit.unwrap_or(LINES).clamp(1, MOST_LINES)))
            }
            (Action::List | Action::Log, ProcessEntry::Lost(_)) => {
                Err(ToolError::execution(format!(
                    "{id} was lost with the program that had started it, and its output with it. Start it again, or remove it."
                )))
            }
            (Action::Kill, ProcessEntry::Known(process)) => {
                let before = process.state();
                let state = process.kill().await;
                let text = match (before, state) {
                    (State::Running, State::Running) => {
                        return Err(ToolError::execution(format!(
                            "{id} does not end. Try again in a few seconds."
                        )));
                    }
                    (State::Running, _) => {
                        format!("{id} was ended, with everything that it had started.")
                    }
                    _ => format!("{id} had ended before: {}.", words(state)),
                };
                Ok(text_output(text))
            }
            (Action::Kill, ProcessEntry::Lost(_)) => Ok(text_output(format!(
                "{id} does not run: it was lost with the program that had started it."
            ))),
            (Action::Remove, ProcessEntry::Known(process)) if process.runs() => {
                Err(ToolError::execution(format!("{id} still runs. End it first (action kill).")))
            }
            (Action::Remove, _) => {
                self.shells.processes.remove(&owner, &id);
                Ok(text_output(format!("{id} is off the list.")))
            }
        }
    }
}

fn list(all: &[ProcessEntry]) -> ToolOutput {
    if all.is_empty() {
        return text_output("There are no background processes in this conversation.".to_owned());
    }
    let rows: Vec<Value> = all.iter().map(row).collect();
    let line = |row: &Value| {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        format!(
            "{} {} (since {}): {}",
            text("session_id"),
            text("state"),
            text("started_at"),
            text("command")
        )
    };
    let text = rows.iter().map(line).collect::<Vec<_>>().join("\n");
    let mut output = ToolOutput::text(text).with_structured(json!({"processes": rows}));
    output.trust = Some(Trust::Tool);
    output
}

fn row(one: &ProcessEntry) -> Value {
    let (id, command, started, state) = match one {
        ProcessEntry::Known(one) => (&one.id, &one.command, one.started_at, words(one.state())),
        ProcessEntry::Lost(record) => {
            (&record.id, &record.command, record.started_at, "lost".to_owned())
        }
    };
    let mut shown: String = command.chars().take(COMMAND).collect();
    if shown.len() < command.len() {
        shown.push('…');
    }
    json!({"session_id": id, "state": state, "command": shown, "started_at": iso(started)})
}

fn words(state: State) -> String {
    match state {
        State::Running => "running".to_owned(),
        State::Killed => "killed".to_owned(),
        State::Forgotten => {
            "ended because the shell of this conversation was idle for long".to_owned()
        }
        State::Ended { stopped: Some(stop), .. } => format!("stopped because {}", stop.message()),
        State::Ended { status, .. } => format!("ended with code {}", status.code()),
    }
}

fn log(process: &BackgroundProcess, offset: Option<u64>, limit: usize) -> ToolOutput {
    let page = process.page(offset, limit);
    let state = words(process.state());
    let until = page.from + page.lines.len() as u64;
    let mut head = match page.lines.is_empty() {
        true => format!(
            "[{}: {state}; no lines from {} on, {} in all]",
            process.id, page.from, page.total
        ),
        false => format!(
            "[{}: {state}; lines {} to {} of {}]",
            process.id,
            page.from,
            until - 1,
            page.total
        ),
    };
    if page.from == page.kept_from && page.kept_from > 0 {
        head += &format!("\n[lines before {} are not kept]", page.kept_from);
    }
    let mut parts = vec![head];
    parts.extend(page.lines.iter().cloned());
    ToolOutput::text(parts.join("\n")).with_structured(json!({
        "session_id": process.id,
        "state": state,
        "offset": page.from,
        "next_offset": until,
        "total_lines": page.total,
        "lines": page.lines,
    }))
}

fn unknown(id: &str, all: &[ProcessEntry]) -> ToolError {
    let ids: Vec<&str> = all
        .iter()
        .map(|one| match one {
            ProcessEntry::Known(one) => one.id.as_str(),
            ProcessEntry::Lost(record) => record.id.as_str(),
        })
        .collect();
    let known = match ids.as_slice() {
        [] => "There are none in this conversation.".to_owned(),
        ids => format!("There are: {}.", ids.join(", ")),
    };
    ToolError::new(
        ErrorType::ExecutionError,
        format!("No background process is called {id}. {known}"),
    )
}
