//! Kits: a proven sequence of tool calls for one goal.
#![deny(clippy::indexing_slicing)]

use serde::Deserialize;
use serde_json::{Map, Value};

use super::front_matter;
use super::location::Location;
use super::suggest::quote_name;
use super::tool_lists::KnownTools;

/// Longest name, in characters.
const MAX_NAME: usize = 64;

/// One step of a kit.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Canonical name of the tool.
    pub tool: String,
    /// Sample arguments, which fit the tool's schema; include the `action` of the file.
    pub params: Value,
    /// Points to note.
    pub note: String,
    /// Whether the kit is useful without this step, if its tool is missing.
    pub optional: bool,
}

/// A kit.
#[derive(Debug, Clone, PartialEq)]
pub struct Kit {
    /// Its name: up to 64 of `[a-z0-9_-]`.
    pub name: String,
    /// Its goal.
    pub description: String,
    /// Its steps, in order; at least one.
    pub steps: Vec<Step>,
    /// Its origin.
    pub location: Location,
}

impl Kit {
    /// Returns the tools that it requires.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter(|step| !step.optional).map(|step| step.tool.as_str())
    }

    /// Renders its goal and its steps, for a model.
    #[must_use]
    pub fn to_text(&self) -> String {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut text = format!("### {}\n\n{}\n", self.name, one_line(&self.description));
        for (number, step) in (1..).zip(&self.steps) {
            text += &format!("\n{number}. {} {}", step.tool, step.params);
            if !step.note.is_empty() {
                text += &format!(": {}", one_line(&step.note));
            }
            if step.optional {
                text += " (Leave this step out if you do not have the tool.)";
            }
        }
        text
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawKit {
    #[serde(alias = "kit")]
    tool_kit: String,
    description: String,
    steps: Vec<RawStep>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    order: Option<usize>,
    tool: String,
    action: Option<String>,
    params: Option<Map<String, Value>>,
    #[serde(default)]
    note: String,
    #[serde(default)]
    optional: bool,
}

/// Returns whether all tools of a shipped kit exist. An unreadable kit counts as existing, so that
/// the error is reported.
pub(super) fn is_for(text: &str, tools: &KnownTools<'_>) -> bool {
    let is_there = |step: &RawStep| tools.canonical(&step.tool).is_ok();
    front_matter::yaml::<RawKit>(text).map_or(true, |raw| raw.steps.iter().all(is_there))
}

/// Reads a kit and checks every step against the real schema of its tool.
///
/// # Errors
/// The problem, as a sentence fragment.
pub(super) fn read(text: &str, place: Location, tools: &KnownTools<'_>) -> Result<Kit, String> {
    let raw: RawKit = front_matter::yaml(text)?;
    check_name(&raw.tool_kit)?;
    if raw.description.trim().is_empty() {
        return Err("description is empty".to_owned());
    }
    if raw.steps.iter().all(|step| step.optional) {
        return Err("steps are missing".to_owned());
    }
    let numbered = raw.steps.into_iter().zip(1..);
    let steps = numbered.map(|(raw, number)| step(raw, number, tools)).collect::<Result<_, _>>()?;
    Ok(Kit {
        name: raw.tool_kit,
        description: raw.description.trim().to_owned(),
        steps,
        location: place,
    })
}

fn check_name(name: &str) -> Result<(), String> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-');
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(allowed) {
        let name = quote_name(name);
        return Err(format!(
            "tool_kit \"{name}\" must be 1 to 64 lower-case letters a-z, digits, hyphens and underscores"
        ));
    }
    Ok(())
}

fn step(raw: RawStep, number: usize, tools: &KnownTools<'_>) -> Result<Step, String> {
    if let Some(order) = raw.order.filter(|order| *order != number) {
        return Err(format!(
            "step {number} has order {order}; steps are numbered 1, 2, 3 in order"
        ));
    }
    let tool = tools.canonical(&raw.tool).map_err(|why| format!("step {number}: {why}"))?;
    let mut params = raw.params.unwrap_or_default();
    if let Some(action) = raw.action
        && params.insert("action".to_owned(), Value::String(action)).is_some()
    {
        return Err(format!("step {number} has an action beside the one in its params"));
    }
    let params = Value::Object(params);
    (tools.check)(tool, &params).map_err(|why| format!("step {number} ({tool}): {why}"))?;
    Ok(Step {
        tool: tool.to_owned(),
        params,
        note: raw.note.trim().to_owned(),
        optional: raw.optional,
    })
}
