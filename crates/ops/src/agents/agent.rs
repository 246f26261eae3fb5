//! An agent in replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_agent::library::{Agent, AgentPreset, Limits, Rounds};

use super::context::AgentFiles;
use crate::library::FileSource;

/// An agent in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AgentRow")]
pub struct AgentReply {
    /// Its name.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Its purpose.
    pub description: String,
    /// Its model as `provider/model`; `null` = the configured one.
    pub model: Option<String>,
    /// Its list of tools as written; `null` = all tools.
    pub tools: Option<Vec<String>>,
    /// Skills that are active from the start.
    pub skills: Vec<String>,
    /// Its role.
    pub role: String,
    /// The calls that run without asking; `null` = as configured.
    pub mode: Option<String>,
    /// Temperature, 0 to 2.
    pub temperature: Option<f64>,
    /// Maximum number of tokens of one answer.
    pub max_output: Option<u64>,
    /// Limits of a run: `rounds`, `calls`, `tokens`, `time` in seconds, `cost` in US dollars.
    pub limits: Value,
    /// Its origin: `built in`, or its file.
    pub place: String,
    /// Whether this API can write and remove it.
    pub writable: bool,
    /// Its file, and the owner of the file.
    #[serde(flatten)]
    pub source: FileSource,
}

impl AgentReply {
    pub(super) fn new(ctx: &AgentFiles<'_>, agent: &Agent) -> Self {
        let path = agent.location.path();
        Self {
            name: agent.name.clone(),
            title: agent.title.clone(),
            description: agent.description.clone(),
            model: agent.model.as_ref().map(ToString::to_string),
            tools: agent.tools.clone(),
            skills: agent.skills.clone(),
            role: agent.role.clone(),
            mode: agent.preset.map(AgentPreset::as_str).map(str::to_owned),
            temperature: agent.temperature,
            max_output: agent.max_output,
            limits: limits_json(&agent.limits),
            place: agent.location.to_string(),
            writable: path.is_some_and(|path| path.parent() == Some(&*ctx.folder.path)),
            source: (&agent.location).into(),
        }
    }
}

/// Returns the limits of a run, with `null` for missing ones.
pub(super) fn limits_json(limits: &Limits) -> Value {
    let rounds = limits.rounds.map(|rounds| match rounds {
        Rounds::AtMost(rounds) => json!(rounds),
        Rounds::Unlimited => json!("unlimited"),
    });
    json!({
        "rounds": rounds,
        "calls": limits.calls,
        "tokens": limits.tokens,
        "time": limits.time.map(|time| time.as_secs()),
        "cost": limits.cost,
    })
}
