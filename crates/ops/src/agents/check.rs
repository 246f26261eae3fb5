//! Checks an agent while it is being written, and changes single keys of its text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolcrib_agent::library::{AgentFault, AgentFields, Skill, read_agent};

use super::agent_file;
use super::context::AgentFiles;
use super::details::AgentTools;
use super::key_edit::{replace_body, replace_in_front_matter, replace_in_toml};
use super::put::AgentFormat;
use crate::error::OpError;

/// A new text for the file of an agent.
#[derive(Debug, Clone)]
pub struct CheckAgentRequest {
    /// Name of the agent.
    pub name: String,
    /// The text.
    pub text: String,
    /// Its format; `None` selects the format of the present file, or Markdown for a new one.
    pub format: Option<AgentFormat>,
    /// New values of keys; `None` changes no key.
    pub fields: Option<Map<String, Value>>,
    /// New prompt; `None` keeps the prompt.
    pub prompt: Option<String>,
}

/// The text, its values, and its faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CheckedAgent")]
pub struct CheckAgentReply {
    /// The text with the changed keys.
    pub text: String,
    /// Its keys as written, including those with an invalid value; `null` = the text cannot be
    /// parsed.
    pub fields: Option<Map<String, Value>>,
    /// Its prompt.
    pub prompt: String,
    /// Its faults; empty = the agent can be saved.
    pub faults: Vec<AgentFaultRow>,
    /// The entries of its list of tools with the tools that each names.
    pub entries: Vec<AgentToolEntry>,
    /// The tools that its list selects; `null` = the text is not a valid agent.
    pub tools: Option<AgentTools>,
}

/// An entry of a list of tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentToolEntry {
    /// A name, `group:G`, `server:S` or a glob.
    pub entry: String,
    /// The tools that it names.
    pub tools: Vec<String>,
}

/// A fault of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AgentFault")]
pub struct AgentFaultRow {
    /// The key, `prompt`, or a limit such as `limits.rounds`; `null` = the text as a whole.
    pub field: Option<String>,
    /// Description of the fault.
    pub message: String,
}

impl From<AgentFault> for AgentFaultRow {
    fn from(fault: AgentFault) -> Self {
        Self { field: fault.field, message: fault.message }
    }
}

/// Checks a text as the file of an agent. With `fields` or `prompt`, the text is changed first;
/// comments, order and all other keys stay. No file is written.
///
/// # Errors
/// [`OpError::Invalid`] for a bad name; [`OpError::Unusable`] if the text cannot be changed: it
/// cannot be parsed, or has a form that only a person can edit.
pub fn check(ctx: &AgentFiles<'_>, request: CheckAgentRequest) -> Result<CheckAgentReply, OpError> {
    let CheckAgentRequest { name, text, format, fields, prompt } = request;
    let existing = agent_file::existing(&ctx.folder.path, &name)?;
    let is_toml = match format {
        Some(format) => format == AgentFormat::Toml,
        None => existing.is_some_and(|(path, _)| path.extension().is_some_and(|it| it == "toml")),
    };
    let text = if fields.is_some() || prompt.is_some() {
        changed(&text, is_toml, fields, prompt)?
    } else {
        text
    };
    Ok(report(ctx, &name, text, is_toml))
}

/// Returns the text with these keys and this prompt.
fn changed(
    text: &str,
    is_toml: bool,
    fields: Option<Map<String, Value>>,
    prompt: Option<String>,
) -> Result<String, OpError> {
    let parse = |text: &str| {
        AgentFields::parse(text, is_toml)
            .map_err(|why| OpError::Unusable(format!("the text cannot be parsed: {why}")))
    };
    let mut now = parse(text)?;
    now.keys.retain(|_, value| !value.is_null());
    let mut wanted = AgentFields {
        keys: fields.unwrap_or_else(|| now.keys.clone()),
        prompt: prompt.map_or_else(|| now.prompt.clone(), |prompt| prompt.trim().to_owned()),
    };
    wanted.keys.retain(|_, value| !value.is_null());
    let mut edited = Some(text.to_owned());
    let gone = now.keys.keys().filter(|key| !wanted.keys.contains_key(*key));
    let set = wanted.keys.iter().filter(|(key, value)| now.keys.get(*key) != Some(value));
    for (key, value) in gone.map(|key| (key, &Value::Null)).chain(set) {
        edited = edited.and_then(|text| replace(&text, is_toml, key, value));
    }
    if wanted.prompt != now.prompt {
        edited = edited.and_then(|text| match is_toml {
            true => replace(&text, true, "prompt", &Value::from(wanted.prompt.as_str())),
            false => replace_body(&text, &wanted.prompt),
        });
    }
    // The extent of a key was derived from its indentation, so check the result.
    match edited {
        Some(edited) if parse(&edited)? == wanted => Ok(edited),
        _ => Err(OpError::Unusable(
            "the text is written in a way that cannot be changed safely; change the text itself"
                .to_owned(),
        )),
    }
}

fn replace(text: &str, is_toml: bool, key: &str, value: &Value) -> Option<String> {
    if is_toml {
        replace_in_toml(text, key, value)
    } else {
        replace_in_front_matter(text, key, value)
    }
}

fn report(ctx: &AgentFiles<'_>, name: &str, text: String, is_toml: bool) -> CheckAgentReply {
    let library = &ctx.library.library;
    let skills: Vec<Skill> = library.skills.iter().chain(&library.skills_off).cloned().collect();
    let names = ctx.library.tool_names();
    let agent = read_agent(name, &text, is_toml, &skills, &names);
    let fields = AgentFields::parse(&text, is_toml);
    let mut faults = match &fields {
        Ok(fields) => fields.faults(name, &skills, &names),
        Err(_) => Vec::new(),
    };
    if let Err(message) = &agent
        && faults.is_empty()
    {
        faults.push(AgentFault { field: None, message: message.clone() });
    }
    let tools = agent.ok().map(|agent| AgentTools::new(ctx, &agent));
    let (fields, prompt) = match fields {
        Ok(AgentFields { keys, prompt }) => (Some(keys), prompt),
        Err(_) => (None, String::new()),
    };
    CheckAgentReply {
        text,
        fields,
        prompt,
        faults: faults.into_iter().map(Into::into).collect(),
        entries: tools.as_ref().map(entries).unwrap_or_default(),
        tools,
    }
}

fn entries(tools: &AgentTools) -> Vec<AgentToolEntry> {
    let each = tools.expansion.entries.iter();
    each.map(|one| AgentToolEntry { entry: one.entry.clone(), tools: one.tools.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn keys(value: Value) -> Option<Map<String, Value>> {
        value.as_object().cloned()
    }

    #[test]
    fn what_is_not_changed_stays_as_it_is_written() {
        let text = "---\ntitle: X   # the name\n# why\ntools:\n  - a\n  - b\nmode: auto\n---\n\nOld prompt.\n";
        let wanted = keys(json!({"title": "X", "tools": ["a"], "temperature": 0.2}));
        let changed = changed(text, false, wanted, Some("New\nprompt.".to_owned())).unwrap();
        let expected = "---\ntitle: X   # the name\n# why\ntools: [\"a\"]\ntemperature: 0.2\n---\n\nNew\nprompt.\n";
        assert_eq!(changed, expected);
    }

    #[test]
    fn a_text_that_cannot_be_changed_safely_is_left_alone() {
        let check = |text: &str, wanted: Value| {
            let refused = changed(text, false, keys(wanted), None).unwrap_err();
            assert!(matches!(refused, OpError::Unusable(_)), "{refused:?}");
        };
        check("---\ntools: [a\n---\nP", json!({}));
        // One key uses the value of another.
        check("---\ntools: &t [a]\nskills: *t\n---\nP", json!({"tools": ["b"], "skills": ["a"]}));
    }

    #[test]
    fn a_value_is_data_whatever_it_looks_like() {
        let hostile = "x\n---\nmode: auto\n# \"";
        let wanted = keys(json!({"title": hostile}));
        let text = changed("---\ntitle: A\n---\nP", false, wanted.clone(), None).unwrap();
        assert_eq!(AgentFields::parse(&text, false).unwrap().keys, wanted.unwrap());
        let toml =
            changed("prompt = \"P\"\n", true, keys(json!({"title": hostile})), None).unwrap();
        assert_eq!(AgentFields::parse(&toml, true).unwrap().keys["title"], hostile);
    }
}
