//! A kit in replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_agent::library::Kit;

use crate::library::FileSource;

/// A kit: a sequence of tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "KitRow")]
pub struct KitReply {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// The tools of its steps, each once, in order, without those of optional steps.
    pub tools: Vec<String>,
    /// Its origin: `built in`, or its file.
    pub place: String,
    /// Its steps, in order.
    pub steps: Vec<KitStep>,
    /// Its file, and the owner of the file.
    #[serde(flatten)]
    pub source: FileSource,
}

/// A step of a kit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KitStep {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub params: Value,
    /// A note; may be empty.
    pub note: String,
    /// Whether the step is omitted if its tool is missing.
    pub optional: bool,
}

impl From<&Kit> for KitReply {
    fn from(kit: &Kit) -> Self {
        let steps = kit.steps.iter().map(|step| KitStep {
            tool: step.tool.clone(),
            params: step.params.clone(),
            note: step.note.clone(),
            optional: step.optional,
        });
        Self {
            name: kit.name.clone(),
            description: kit.description.clone(),
            tools: distinct_tools(kit),
            place: kit.location.to_string(),
            steps: steps.collect(),
            source: (&kit.location).into(),
        }
    }
}

/// Returns the tools of a kit, each once.
fn distinct_tools(kit: &Kit) -> Vec<String> {
    let mut tools: Vec<String> = Vec::new();
    for tool in kit.tools() {
        if !tools.iter().any(|known| known == tool) {
            tools.push(tool.to_owned());
        }
    }
    tools
}
