//! The tools that a node offers.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_core::{Origin, RawArgs, ToolSpec};
use toolcrib_ops::OpError;
use toolcrib_ops::calls::CallDocument;
use toolcrib_ops::tools::find_tool;

/// The chosen tools of this machine.
pub struct NodeTools {
    toolcrib: Toolcrib,
    chosen: BTreeMap<String, Arc<ToolSpec>>,
}

/// The body of `/execute`.
#[derive(Deserialize)]
pub(super) struct Execution {
    capability: String,
    #[serde(default)]
    params: Map<String, Value>,
    /// The id of the call at the daemon; a call with the same id runs once.
    call: String,
}

impl NodeTools {
    /// Chooses tools by their names.
    ///
    /// # Errors
    /// [`OpError::NotFound`] with similar names.
    pub fn choose(toolcrib: Toolcrib, names: &[String]) -> Result<Self, OpError> {
        let found = names.iter().map(|name| {
            let spec = find_tool(&toolcrib, name)?;
            Ok((spec.name.as_str().to_owned(), spec))
        });
        let chosen = found.collect::<Result<_, OpError>>()?;
        Ok(Self { toolcrib, chosen })
    }

    /// Returns the definitions, in the form of `/capabilities`.
    #[must_use]
    pub fn capabilities(&self) -> Value {
        let tools = self.chosen.iter().map(|(name, spec)| {
            json!({
                "name": name, "title": spec.title, "description": spec.description,
                "risk": spec.risk, "parameters": spec.input_schema,
            })
        });
        Value::Array(tools.collect())
    }

    /// Runs a call through the pipeline of this machine; returns the answer of `/execute`.
    pub(super) async fn execute(&self, execution: Execution) -> Value {
        let Execution { capability, params, call } = execution;
        if !self.chosen.contains_key(&capability) {
            return json!({ "error": format!("this node does not offer {capability}") });
        }
        let args = RawArgs::Text(Value::Object(params).to_string());
        let answer = self.toolcrib.call_with_key(&capability, args, Origin::Device, &call).await;
        match answer {
            Ok(Some(answer)) => reply(CallDocument::from(answer)),
            Ok(None) => json!({ "error": "the call has no answer" }),
            Err(error) => json!({ "error": error.to_string() }),
        }
    }
}

/// Converts a finished call.
fn reply(document: CallDocument) -> Value {
    let text = match document.result {
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
        None => String::new(),
    };
    if document.error_type.is_some() || document.refusal.is_some() {
        return json!({ "error": document.message.unwrap_or(text) });
    }
    json!({ "text": text })
}
