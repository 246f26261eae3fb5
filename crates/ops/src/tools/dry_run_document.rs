//! The prediction of a dry run as a document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::dry_run::DryRunReply;

/// The predicted outcome of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ForecastDocument")]
pub struct DryRunDocument {
    /// `run`, `ask`, `deny`, or `fail` before policy evaluates it.
    pub would: String,
    /// The tool, by its canonical name; null if it does not exist.
    pub tool: Option<String>,
    /// The tool, as the caller named it.
    pub asked: String,
    /// The operation that policy names.
    pub operation: Option<String>,
    /// The arguments of the run, with secrets masked.
    pub args: Value,
    /// Assessed risk.
    pub risk: Option<Value>,
    /// Assessed effect.
    pub effect: Option<Value>,
    /// Assessed reach.
    pub reach: Option<Value>,
    /// The ruling of policy, with the rule.
    pub ruling: Option<Value>,
    /// Current taint labels of the caller's run.
    pub labels: Value,
    /// The reasons for asking a person.
    pub reasons: Vec<Value>,
    /// The meaning of asking for this caller, in words.
    pub asking: Option<String>,
    /// The type of the error, if it would not run.
    pub error_type: Option<String>,
    /// The error in words.
    pub message: Option<String>,
    /// Advice for the owner.
    pub advice: Option<String>,
    /// The stages that it passed.
    pub stages: Vec<Value>,
}

impl From<&DryRunReply> for DryRunDocument {
    fn from(reply: &DryRunReply) -> Self {
        Self {
            would: reply.would.as_str().to_owned(),
            tool: reply.tool.as_ref().map(ToString::to_string),
            asked: reply.asked.clone(),
            operation: reply.operation.clone(),
            args: reply.args.clone(),
            risk: reply.risk.map(|risk| json!(risk)),
            effect: reply.effect.map(|effect| json!(effect)),
            reach: reply.reach.map(|reach| json!(reach)),
            ruling: reply.ruling.as_ref().map(|ruling| json!(ruling)),
            labels: json!(reply.labels),
            reasons: reply.reasons.iter().map(|reason| json!(reason)).collect(),
            asking: reply.asking.clone(),
            error_type: reply.refused.as_ref().map(|why| why.error_type.as_str().to_owned()),
            message: reply.refused.as_ref().map(|why| why.message.clone()),
            advice: reply.advice(),
            stages: reply.stages.iter().map(|stage| json!(stage)).collect(),
        }
    }
}
