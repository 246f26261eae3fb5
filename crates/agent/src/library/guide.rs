//! Guides: when to use one tool and when not, with sample calls.
#![deny(clippy::indexing_slicing)]

use serde::Deserialize;
use serde_json::{Map, Value};

use super::front_matter;
use super::location::Location;
use super::suggest::quote_name;
use super::tool_lists::KnownTools;

/// A sample call.
#[derive(Debug, Clone, PartialEq)]
pub struct GuideExample {
    /// The request of a user.
    pub need: String,
    /// The arguments for it, which fit the tool's schema.
    pub args: Value,
}

/// A guide.
#[derive(Debug, Clone, PartialEq)]
pub struct Guide {
    /// Canonical name of the tool.
    pub tool: String,
    /// When to use the tool.
    pub when_to_use: Vec<String>,
    /// When not to use it.
    pub when_not_to_use: Vec<String>,
    /// Sample calls.
    pub examples: Vec<GuideExample>,
    /// Tips for good results.
    pub tips: Vec<String>,
    /// Its origin.
    pub location: Location,
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

/// Returns whether the tool of a shipped guide exists. An unreadable guide counts as one for an
/// existing tool, so that the error is reported.
pub(super) fn is_for(text: &str, tools: &KnownTools<'_>) -> bool {
    front_matter::yaml::<RawGuide>(text).map_or(true, |raw| tools.canonical(&raw.tool).is_ok())
}

/// Reads a guide and checks every example against the real schema of the tool.
///
/// # Errors
/// The problem, as a sentence fragment.
pub(super) fn read(text: &str, place: Location, tools: &KnownTools<'_>) -> Result<Guide, String> {
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
            .map_err(|why| format!("example {number} (\"{}\"): {why}", quote_name(&need)))?;
        examples.push(GuideExample { need, args });
    }
    Ok(Guide {
        tool: tool.to_owned(),
        when_to_use: raw.when_to_use,
        when_not_to_use: raw.when_not_to_use,
        examples,
        tips: raw.tips,
        location: place,
    })
}
