//! The file of an agent as keys and values, for forms: read loosely, so that a form can show a
//! value that is wrong, and checked key by key, so that each fault stands at its field.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value};

use super::agent::{self, Agent, FileFormat};
use super::front_matter;
use super::loader::check_references;
use super::location::Location;
use super::skill::Skill;
use super::tool_lists::{KnownTools, ToolNames};

/// The keys of an agent's file with their values, and its prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentFields {
    /// The keys as written, without the prompt.
    pub keys: Map<String, Value>,
    /// The prompt, without surrounding blank lines.
    pub prompt: String,
}

/// A problem of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFault {
    /// The key, `prompt`, or a limit such as `limits.rounds`; `None` for the text as a whole.
    pub field: Option<String>,
    /// The problem, as a sentence fragment.
    pub message: String,
}

impl AgentFields {
    /// Reads the text of a file. Values are not checked.
    ///
    /// # Errors
    /// The reason why the text cannot be parsed, with the line if known.
    pub fn parse(text: &str, is_toml: bool) -> Result<Self, String> {
        if is_toml {
            let mut keys: Map<String, Value> = front_matter::toml(text)?;
            let prompt = keys.remove("prompt").and_then(|value| value.as_str().map(str::to_owned));
            return Ok(Self { keys, prompt: prompt.unwrap_or_default().trim().to_owned() });
        }
        let (yaml, body) = front_matter::split(text)?;
        let keys: Option<Map<String, Value>> = front_matter::yaml(yaml)?;
        Ok(Self { keys: keys.unwrap_or_default(), prompt: body.to_owned() })
    }

    /// Returns the problems, key by key.
    #[must_use]
    pub fn faults(&self, name: &str, skills: &[Skill], tools: &[ToolNames]) -> Vec<AgentFault> {
        let each = self.keys.iter().filter(|(_, value)| !value.is_null());
        let mut faults: Vec<AgentFault> = each
            .filter_map(|(key, value)| {
                let alone = Map::from_iter([(key.clone(), value.clone())]);
                let message = check_alone(name, alone, skills, tools).err()?;
                Some(AgentFault { field: Some(field_of(key, &message)), message })
            })
            .collect();
        if self.prompt.trim().is_empty() {
            let message = "the prompt is missing".to_owned();
            faults.push(AgentFault { field: Some("prompt".to_owned()), message });
        }
        faults
    }
}

/// Returns the full name of a limit if the message begins with it.
fn field_of(key: &str, message: &str) -> String {
    let word = message.split([' ', ':']).next().unwrap_or_default();
    if key == "limits" && word.starts_with("limits.") { word.to_owned() } else { key.to_owned() }
}

fn check_alone(
    name: &str,
    key: Map<String, Value>,
    skills: &[Skill],
    tools: &[ToolNames],
) -> Result<(), String> {
    let agent = agent::from_keys(name, key, "prompt".to_owned())?;
    referenced(agent, skills, tools).map(drop)
}

fn referenced(agent: Agent, skills: &[Skill], tools: &[ToolNames]) -> Result<Agent, String> {
    let known = KnownTools { names: tools, check: &|_, _| Ok(()) };
    check_references(agent, skills, &known).map(|(agent, _)| agent)
}

/// Reads the text of an agent's file in the same way as a run.
///
/// # Errors
/// The problem, as a sentence fragment.
pub fn read_agent(
    name: &str,
    text: &str,
    is_toml: bool,
    skills: &[Skill],
    tools: &[ToolNames],
) -> Result<Agent, String> {
    let format = if is_toml { FileFormat::Toml } else { FileFormat::Markdown };
    referenced(agent::read(name, text, format, Location::BuiltIn)?, skills, tools)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_stands_at_its_field() {
        let text = "---\ntitle: X\ntemperature: 9\nmodel: none\nmode: sometimes\nlimits: {rounds: 900}\ntools: [red_file]\nskills: [poems]\ncolour: red\nmax_output: many\n---\n";
        let read = ToolNames {
            name: "read_file".into(),
            aliases: Vec::new(),
            group: None,
            source: "builtin".into(),
        };
        let fields = AgentFields::parse(text, false).unwrap();
        let faults = fields.faults("x", &[], &[read]);
        let mut at: Vec<_> = faults.iter().filter_map(|fault| fault.field.as_deref()).collect();
        at.sort_unstable();
        let expected = [
            "colour",
            "limits.rounds",
            "max_output",
            "mode",
            "model",
            "prompt",
            "skills",
            "temperature",
            "tools",
        ];
        assert_eq!(at, expected);
        let said = |field: &str| {
            let found = faults.iter().find(|fault| fault.field.as_deref() == Some(field));
            found.unwrap().message.clone()
        };
        assert!(said("tools").contains("read_file"), "{}", said("tools"));
        assert!(said("colour").starts_with("unknown key \"colour\""), "{}", said("colour"));
    }

    #[test]
    fn a_text_is_read_loosely_and_both_formats_are_one() {
        let markdown =
            AgentFields::parse("---\ntools: [a]\nlimits: {time: 15m}\n---\n\nP\n", false);
        let toml =
            AgentFields::parse("prompt = \"P\"\ntools = [\"a\"]\n[limits]\ntime = \"15m\"\n", true);
        assert_eq!(markdown, toml);
        assert_eq!(AgentFields::parse("---\n---\nP", false).unwrap().prompt, "P");
        assert!(AgentFields::parse("---\ntools: [a\n---\nP", false).is_err());
        assert!(AgentFields::parse("P", false).is_err());
    }
}
