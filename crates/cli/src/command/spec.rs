//! `toolcrib spec`: the declarations to send to a provider.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::core::ViewRequest;

use crate::cli::Spec;
use crate::output::{self, Failure};
use crate::world;

pub(crate) fn run(command: &Spec, json: bool) -> Result<u8, Failure> {
    let declared = world::block_on(async {
        let toolcrib = world::look(&command.world, json).await?;
        let mut view = ViewRequest::default();
        view.model.provider = command.format.to_string();
        Ok(toolcrib.declare(command.format, &Arc::new(view), command.strict))
    })?;
    for warning in &declared.warnings {
        if json {
            output::note(&json!(warning).to_string());
        } else {
            output::note(&format!(
                "toolcrib: {}{}: {}",
                warning.tool, warning.path, warning.message
            ));
        }
    }
    match &declared.value {
        Value::String(prompt) if !json => output::data(prompt)?,
        value => output::document(value, json)?,
    }
    Ok(0)
}
