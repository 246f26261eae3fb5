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
    /// JSON Schema of its data, when it promises any.
    pub output_schema: Option<Value>,
    /// Other names that mean it.
    pub aliases: Vec<String>,
    /// Sample calls: what a person would ask for, and the arguments.
    pub examples: Vec<Value>,
    /// Milliseconds that one attempt may take, as it is set up.
    pub timeout_ms: u64,
    /// Milliseconds that it declares itself.
    pub declared_timeout_ms: u64,
    /// Attempts of a call that may be repeated, the first one included.
    pub attempts: u32,
    /// How far a call reaches: `outbound`, `exec`, `private_read`.
    pub reach: Value,
    /// Whose words its results are: `tool`, `workspace` or `external`.
    pub trust: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of the whole definition: approvals and records are bound to it.
    pub definition_hash: String,
    /// Values that it needs.
    pub config: Vec<ConfigRow>,
}

/// Shows a tool to a caller, by its canonical name or an alias.
///
/// # Errors
/// [`OpError::NotFound`] with near names.
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
