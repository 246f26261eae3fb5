//! Guides: when to use one tool and when not, with samples (seed 002, `skills/`).
#![deny(clippy::indexing_slicing)]

use serde::Deserialize;
use serde_json::{Map, Value};

use super::front_matter;
use super::near::shown;
use super::place::Place;
use super::tools::Tools;

/// A sample call.
#[derive(Debug, Clone, PartialEq)]
pub struct GuideExample {
    /// What a person would ask for.
    pub need: String,
    /// The arguments that answer it, which fit the tool's schema.
    pub args: Value,
}

/// A guide.
#[derive(Debug, Clone, PartialEq)]
pub struct Guide {
    /// Canonical name of the tool.
    pub tool: String,
    /// When it is the right one.
    pub when_to_use: Vec<String>,
    /// When it is not.
    pub when_not_to_use: Vec<String>,
    /// Sample calls.
    pub examples: Vec<GuideExample>,
    /// How to get good results.
    pub tips: Vec<String>,
    /// Where it comes from.
    pub place: Place,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGuide {
    tool: String,
    #[serde(default)]
    when_to_use: Vec<String>,
    #[serde(default)]
    when_not_to_use: Vec<String>,
    #[serde(default)]
    examples: Vec<RawExample>,
    #[serde(default)]
    tips: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawExample {
    need: String,
    args: Map<String, Value>,
}

/// Whether the tool of a shipped guide is there. One that cannot be read is for everybody, so that somebody is told.
pub(super) fn is_for(text: &str, tools: &Tools<'_>) -> bool {
    front_matter::yaml::<RawGuide>(text).map_or(true, |raw| tools.canonical(&raw.tool).is_ok())
}

/// Reads a guide and checks every example against the real schema of the tool.
///
/// # Errors
/// What is wrong, as a fragment.
pub(super) fn read(text: &str, place: Place, tools: &Tools<'_>) -> Result<Guide, String> {
    let raw: RawGuide = front_matter::yaml(text)?;
    let tool = tools.canonical(&raw.tool)?;
    if raw.when_to_use.is_empty()
        && raw.when_not_to_use.is_empty()
        && raw.examples.is_empty()
        && raw.tips.is_empty()
    {
        return Err("says nothing: give when_to_use, when_not_to_use, examples or tips".to_owned());
    }
    let mut examples = Vec::new();
    for (number, RawExample { need, args }) in (1..).zip(raw.examples) {
        let args = Value::Object(args);
        (tools.check)(tool, &args)
            .map_err(|why| format!("example {number} (\"{}\"): {why}", shown(&need)))?;
        examples.push(GuideExample { need, args });
    }
    Ok(Guide {
        tool: tool.to_owned(),
        when_to_use: raw.when_to_use,
        when_not_to_use: raw.when_not_to_use,
        examples,
        tips: raw.tips,
        place,
    })
}
