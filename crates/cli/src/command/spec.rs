//! `toolcrib tool spec`: the declarations to send to a provider.

use serde_json::{Value, json};
use toolcrib_ops::tools::{self, DeclareRequest};

use super::agent;
use super::library_snapshot::LibrarySnapshot;
use crate::clap_args::Spec;
use crate::op_context;
use crate::output::{self, Failure};

pub(crate) fn run(command: &Spec, json: bool) -> Result<u8, Failure> {
    let snapshot = LibrarySnapshot::load_for(command.workspace_args.clone(), json)?;
    if let Some(name) = &command.agent {
        // This check reports why the file of an agent cannot be read; the operation would only
        // report an unknown agent.
        agent::require(&snapshot, name)?;
    }
    let ctx = op_context::for_toolcrib(&snapshot.toolcrib, Some(snapshot.library()));
    let request = DeclareRequest {
        format: command.format,
        strict: command.strict,
        agent: command.agent.clone(),
        tools: command.listed.clone(),
    };
    let declared = tools::declare(&ctx, &request)?;
    for warning in &declared.warnings {
        if json {
            output::eprint_line(&json!(warning).to_string());
        } else {
            output::eprint_line(&format!(
                "toolcrib: {}{}: {}",
                warning.tool, warning.path, warning.message
            ));
        }
    }
    match &declared.value {
        Value::String(prompt) if !json => output::print_line(prompt)?,
        value => output::print_json(value, json)?,
    }
    Ok(0)
}
