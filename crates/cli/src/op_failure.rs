//! Converts failed operations to failures of a command: the text for people, with the command that
//! helps, and the exit code.

use toolcrib_ops::{OpError, Resource};

use crate::output::Failure;
use crate::terminal;

/// Maximum number of listed ids for an ambiguous prefix.
const LISTED_IDS: usize = 10;
/// Number of columns of an unknown name that an error repeats.
const NAME_WIDTH: usize = 80;

impl From<OpError> for Failure {
    fn from(error: OpError) -> Self {
        let list = match &error {
            OpError::NotFound { what, .. } => list_command(*what),
            _ => "",
        };
        from_op_error(error, list)
    }
}

/// The reason why a step failed that this program runs for an operation.
impl From<Failure> for OpError {
    fn from(failure: Failure) -> Self {
        match failure.code {
            2 => Self::Invalid(failure.message),
            3 => Self::Unusable(failure.message),
            4 => Self::Absent(failure.message),
            _ => Self::Internal(failure.message),
        }
    }
}

/// Returns the failure; `list` is the command that lists the existing objects.
pub(crate) fn from_op_error(error: OpError, list: &str) -> Failure {
    let code = error.exit_code();
    let message = match error {
        OpError::NotFound { what, name, near } => missing(what, name, near, list),
        OpError::Ambiguous { prefix, ids, .. } => {
            let prefix = terminal::escape_to_line(&prefix);
            let some = ids.iter().take(LISTED_IDS);
            format!("{prefix} is the beginning of {} ids:{}", ids.len(), id_lines(some))
        }
        OpError::NoOwnSwitch { tool, feature } => {
            format!("{tool} has no switch of its own; use --feature {feature}")
        }
        OpError::OpenRun { run } => {
            return Failure::usage(format!(
                "the run {run} of this conversation is not over, and what it did would be lost: `toolcrib resume {run}` brings it to its end"
            ));
        }
        OpError::WithFacts { error, .. } => return (*error).into(),
        error => error.to_string(),
    };
    Failure { code, message }
}

/// Returns the command that lists objects of this kind.
fn list_command(what: Resource) -> &'static str {
    match what {
        Resource::Tool => "tool list",
        Resource::Agent => "agent list",
        Resource::Skill => "skill list",
        Resource::Kit => "kit list",
        Resource::Call => "history",
        Resource::Run => "history --json",
        Resource::Conversation => "conversation list",
        Resource::Grant => "grant list",
        Resource::Approval => "approve list --all",
        Resource::Artifact => "artifact list",
        Resource::Task => "task list",
        Resource::Notification => "notification list --all",
        Resource::Memory => "memory list",
        Resource::List => "list all",
        Resource::Goal => "goal list",
        Resource::App => "app list",
        Resource::Pairing => "app confirm",
        Resource::Draft => "draft list",
        Resource::Document => "document list",
        Resource::Switch => "tool list",
        Resource::McpServer => "mcp list",
        Resource::Secret => "secret list",
        Resource::Rule => "rules list",
        Resource::Chain => "chain list",
        Resource::Token => "token list",
    }
}

fn missing(what: Resource, name: String, near: Vec<String>, list: &str) -> String {
    match what {
        Resource::Tool => {
            let name = terminal::escape_to_line(&terminal::truncate_to_width(&name, NAME_WIDTH));
            let near = near.first().map(|near| format!("did you mean {near}? "));
            let near = near.unwrap_or_default();
            format!("there is no tool {name}; {near}`toolcrib {list}` shows what there is")
        }
        Resource::Agent => {
            let name = terminal::escape_to_line(&terminal::truncate_to_width(&name, NAME_WIDTH));
            let next = match near.as_slice() {
                [] => format!("`toolcrib {list}` shows those that there are"),
                near => format!("did you mean {}?", near.join(" or ")),
            };
            format!("there is no agent {name}; {next}")
        }
        what => {
            let name = terminal::escape_to_line(&name);
            // People decide questions; the decision is the approval.
            let what = match what {
                Resource::Approval => "question".to_owned(),
                what => what.to_string(),
            };
            let nearest = match near.as_slice() {
                [] => String::new(),
                near => format!(". The nearest:{}", id_lines(near.iter())),
            };
            format!("there is no {what} {name}; `toolcrib {list}` shows what there is{nearest}")
        }
    }
}

fn id_lines<'a>(ids: impl Iterator<Item = &'a String>) -> String {
    ids.map(|id| format!("\n  {id}")).collect()
}
