//! `toolcrib spec`: the declarations to send to a provider.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::core::ViewRequest;

use crate::bootstrap;
use crate::clap_args::Spec;
use crate::output::{self, Failure};

pub(crate) fn run(command: &Spec, json: bool) -> Result<u8, Failure> {
    let declared = bootstrap::block_on(async {
        let toolcrib = bootstrap::inspect(&command.workspace_args, json).await?;
        let mut view = ViewRequest::default();
        view.model.provider = command.format.to_string();
        Ok(toolcrib.declare(command.format, &Arc::new(view), command.strict))
    })?;
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
