//! Agents: a prompt with a model, tools, skills and limits, one per file.
//!
//! `NAME.toml` contains all fields as keys. `NAME.md` has the same keys as YAML front matter, and
//! the prompt as its body.
#![deny(clippy::indexing_slicing)]

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::front_matter;
use super::location::Location;
use super::run_limits::{Limits, RawLimits};
use super::suggest::{did_you_mean, quote_name, similar_names};
use super::{name_rules, tool_lists};

/// Name of the agent that always exists.
pub const GENERAL_ASSISTANT: &str = "general-assistant";

/// Role of an agent that names none.
pub const DEFAULT_ROLE: &str = "agent";

/// Longest description, in characters; the same as for skills.
const MAX_DESCRIPTION: usize = 1024;

/// A model by its provider and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRef {
    /// Id of the provider entry.
    pub provider: String,
    /// The model's name as the provider knows it; may contain slashes.
    pub model: String,
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// Approval preset: selects the calls that run without approval. The names are those of the
/// engine's presets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentPreset {
    /// `auto`: safe and high-risk calls run, critical ones need approval.
    Auto,
    /// `ask-risky`: high-risk and critical calls need approval.
    AskRisky,
    /// `ask-all`: all calls except those of innate tools need approval.
    AskAll,
    /// `locked`: only safe reads run, and no call asks for approval.
    Locked,
}

impl AgentPreset {
    /// All presets.
    pub const ALL: [Self; 4] = [Self::Auto, Self::AskRisky, Self::AskAll, Self::Locked];

    /// Returns its name in files, the same as the preset's.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::AskRisky => "ask-risky",
            Self::AskAll => "ask-all",
            Self::Locked => "locked",
        }
    }
}

/// An agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// Its name: that of its file without the extension.
    pub name: String,
    /// Display name.
    pub title: String,
    /// Its purpose, on one line; may be empty.
    pub description: String,
    /// Its part of the system prompt.
    pub prompt: String,
    /// Its model; `None` for the configured default.
    pub model: Option<ModelRef>,
    /// Its tool list as for [`expand_tool_list`](super::expand_tool_list); `None` for all tools,
    /// empty for none.
    pub tools: Option<Vec<String>>,
    /// Skills that are active from the start.
    pub skills: Vec<String>,
    /// Limits of its runs.
    pub limits: Limits,
    /// Its role, to which the `allow_TOOL_ROLE` flags of the configuration refer: 1 to 40 of `a-z`,
    /// `0-9`, `-` and `_`.
    pub role: String,
    /// Approval preset; `None` for the configured default.
    pub preset: Option<AgentPreset>,
    /// Temperature, 0 to 2; `None` for the provider's default.
    pub temperature: Option<f64>,
    /// Limit of output tokens per answer, at least 1; `None` for the provider's default.
    pub max_output: Option<u64>,
    /// Its origin.
    pub location: Location,
}

/// Format of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileFormat {
    Toml,
    Markdown,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAgent {
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
    prompt: Option<String>,
    model: Option<String>,
    tools: Option<Vec<String>>,
    #[serde(default)]
    skills: Vec<String>,
    limits: Option<RawLimits>,
    role: Option<String>,
    mode: Option<String>,
    temperature: Option<f64>,
    max_output: Option<u64>,
}

/// Reads an agent's file. `stem` is the file's name without the extension.
///
/// # Errors
/// The problem, as a sentence fragment. The loader checks the tools and skills that the agent
/// names.
pub(super) fn read(
    stem: &str,
    text: &str,
    form: FileFormat,
    place: Location,
) -> Result<Agent, String> {
    let mut raw: RawAgent = match form {
        FileFormat::Toml => front_matter::toml(text)?,
        FileFormat::Markdown => {
            let (yaml, body) = front_matter::split(text)?;
            let mut raw: RawAgent = front_matter::yaml(yaml)?;
            if raw.prompt.is_some() {
                return Err("the prompt of a Markdown file is its body; remove the key \"prompt\""
                    .to_owned());
            }
            raw.prompt = Some(body.to_owned());
            raw
        }
    };
    let prompt = raw.prompt.take().filter(|prompt| !prompt.trim().is_empty());
    let Some(prompt) = prompt else {
        return Err(match form {
            FileFormat::Toml => "the key \"prompt\" is missing or empty",
            FileFormat::Markdown => {
                "the prompt is missing: the text behind the front matter is empty"
            }
        }
        .to_owned());
    };
    check(stem, raw, prompt.trim().to_owned(), place)
}

/// Creates the agent from these keys.
///
/// # Errors
/// The problem, as a sentence fragment.
pub(super) fn from_keys(
    stem: &str,
    keys: Map<String, Value>,
    prompt: String,
) -> Result<Agent, String> {
    let raw: RawAgent = serde_json::from_value(Value::Object(keys)).map_err(|error| {
        let message = error.to_string();
        // Serde's message: unknown field `x`, expected one of `a`, `b`
        let mut quoted = message.split('`').skip(1).step_by(2);
        match message.strip_prefix("unknown field") {
            Some(_) => front_matter::unknown_key(
                quoted.next().unwrap_or_default(),
                &quoted.collect::<Vec<_>>(),
            ),
            None => message,
        }
    })?;
    check(stem, raw, prompt, Location::BuiltIn)
}

fn check(stem: &str, raw: RawAgent, prompt: String, place: Location) -> Result<Agent, String> {
    name_rules::check(stem)
        .map_err(|why| format!("{why} (the file's name is the agent's name)"))?;
    if let Some(name) = raw.name.filter(|name| name != stem) {
        let name = quote_name(&name);
        return Err(format!("name is \"{name}\", but the file's name says \"{stem}\""));
    }
    let description = raw.description.unwrap_or_default();
    if description.chars().count() > MAX_DESCRIPTION {
        return Err(format!("description has more than {MAX_DESCRIPTION} characters"));
    }
    if raw.temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
        return Err("temperature must be from 0 to 2".to_owned());
    }
    if raw.max_output == Some(0) {
        return Err("max_output must be at least 1".to_owned());
    }
    if let Some(entries) = &raw.tools {
        tool_lists::check_entries(entries)?;
    }
    Ok(Agent {
        name: stem.to_owned(),
        title: raw.title.filter(|t| !t.trim().is_empty()).unwrap_or_else(|| title_of(stem)),
        description,
        prompt,
        model: raw.model.as_deref().map(model).transpose()?,
        tools: raw.tools,
        skills: raw.skills,
        limits: raw.limits.map(RawLimits::check).transpose()?.unwrap_or_default(),
        role: raw.role.map_or_else(|| Ok(DEFAULT_ROLE.to_owned()), role)?,
        preset: raw.mode.as_deref().map(mode).transpose()?,
        temperature: raw.temperature,
        max_output: raw.max_output,
        location: place,
    })
}

fn model(text: &str) -> Result<ModelRef, String> {
    match text.split_once('/') {
        Some((provider, model)) if !provider.trim().is_empty() && !model.trim().is_empty() => {
            Ok(ModelRef { provider: provider.trim().to_owned(), model: model.trim().to_owned() })
        }
        _ => Err(format!(
            "model \"{}\" must be written as provider/model, such as \"anthropic/claude-sonnet-4-5\"",
            quote_name(text)
        )),
    }
}

fn role(text: String) -> Result<String, String> {
    let fits = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    if (1..=40).contains(&text.len()) && text.bytes().all(fits) {
        return Ok(text);
    }
    Err(format!("role \"{}\" must be 1 to 40 of a-z, 0-9, - and _", quote_name(&text)))
}

fn mode(text: &str) -> Result<AgentPreset, String> {
    AgentPreset::ALL.into_iter().find(|mode| mode.as_str() == text).ok_or_else(|| {
        let names = AgentPreset::ALL.map(AgentPreset::as_str);
        let near = did_you_mean(&similar_names(text, names.into_iter()));
        format!("mode \"{}\" is none of {}{near}", quote_name(text), names.join(", "))
    })
}

/// Converts `code-reviewer` to "Code reviewer".
fn title_of(name: &str) -> String {
    let words = name.replace('-', " ");
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Returns a template for `NAME.md`: it loads unchanged, with all tools and without separate
/// limits.
///
/// # Errors
/// The reason why this is not a valid name of an agent, as a sentence fragment.
pub fn agent_template(name: &str) -> Result<String, String> {
    name_rules::check(name)?;
    if name == GENERAL_ASSISTANT {
        return Err(format!("name \"{GENERAL_ASSISTANT}\" is taken by the built-in agent"));
    }
    let title = title_of(name);
    Ok(format!(
        "---
title: {title}
description: What this agent is for, in one line.
# model: provider/model
# Names, group:files, server:NAME or globs with *; without this key the agent has all tools.
# tools: [read_file, \"group:files\"]
# skills: []
# role: agent
# mode: ask-risky
# limits:
#   rounds: 15
#   time: 15m
---

You are {title}. Say here what the agent does and how it works.
"
    ))
}
