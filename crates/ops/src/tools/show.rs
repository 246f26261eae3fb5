//! Shows one tool: its definition, its state and its configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_core::ViewRequest;

use super::config::{ConfigRow, config};
use super::find_tool;
use super::list::rows;
use super::row::ToolRow;
use crate::calls::serialized_name;
use crate::context::OpContext;
use crate::error::{OpError, Resource};

/// A tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolDocument {
    /// Its state.
    #[serde(flatten)]
    pub row: ToolRow,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
    /// JSON Schema of its data, if it declares one.
    pub output_schema: Option<Value>,
    /// Alternative names.
    pub aliases: Vec<String>,
    /// Sample calls: the request of a person, and the arguments.
    pub examples: Vec<Value>,
    /// Configured time limit of one attempt, in milliseconds.
    pub timeout_ms: u64,
    /// Time limit that the tool declares, in milliseconds.
    pub declared_timeout_ms: u64,
    /// Maximum number of attempts of a repeatable call, including the first one.
    pub attempts: u32,
    /// Its reach: `outbound`, `exec`, `private_read`.
    pub reach: Value,
    /// Origin of the text of its results: `tool`, `workspace` or `external`.
    pub trust: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of the complete definition, which approvals and records refer to.
    pub definition_hash: String,
    /// Its configuration values.
    pub config: Vec<ConfigRow>,
}

/// Shows a tool to a caller, by its canonical name or an alias.
///
/// # Errors
/// [`OpError::NotFound`] with similar names.
pub fn show(
    ctx: &OpContext<'_>,
    name: &str,
    caller: &ViewRequest,
) -> Result<ToolDocument, OpError> {
    let spec = find_tool(ctx.toolcrib, name)?;
    let row = rows(ctx, caller, |info| info.id == spec.name).pop();
    let row = row.ok_or_else(|| OpError::not_found(Resource::Tool, name))?;
    let settings = ctx.toolcrib.engine().settings();
    let own = settings.tools.get(spec.name.as_str()).and_then(|tool| tool.timeout);
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Ok(ToolDocument {
        row,
        input_schema: Value::clone(&spec.input_schema),
        output_schema: spec.output_schema.as_deref().cloned(),
        aliases: spec.aliases.clone(),
        examples: spec.examples.iter().map(|example| json!(example)).collect(),
        timeout_ms: millis(own.unwrap_or(spec.timeout)),
        declared_timeout_ms: millis(spec.timeout),
        attempts: spec.attempts,
        reach: json!(spec.reach),
        trust: serialized_name(&spec.trust).unwrap_or_default(),
        version: spec.version.clone(),
        definition_hash: spec.definition_hash(),
        config: config(ctx.toolcrib, &spec),
    })
}
