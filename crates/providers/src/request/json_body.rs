//! Request bodies assembled from borrowed JSON, so that stored messages are serialized without a
//! copy.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::model::{ModelInfo, ModelRequest};
use crate::quirks::Quirks;
use crate::result_content::{self, Media};

/// Input of every format's renderer.
pub(super) struct RequestInput<'a> {
    pub(super) info: &'a ModelInfo,
    pub(super) quirks: &'a Quirks,
    pub(super) request: &'a ModelRequest,
    /// The system prompt; empty if there is none.
    pub(super) system: &'a str,
    pub(super) tools: Option<&'a Value>,
}

impl RequestInput<'_> {
    pub(super) fn temperature(&self) -> Option<f64> {
        let takes =
            self.quirks.temperature.unwrap_or_else(|| !is_openai_reasoner(&self.info.model));
        self.request.temperature.filter(|t| takes && t.is_finite())
    }
}

/// Returns whether a model of this name at OpenAI has reasoning; the others reject a request for
/// encrypted reasoning. The list of models without reasoning is closed: every newer model has it,
/// except the `-chat` variants.
pub(super) fn is_reasoning_model(model: &str) -> bool {
    let name = base_name(model);
    let old = ["gpt-3", "gpt-4", "chatgpt", "ft:gpt-3", "ft:gpt-4"];
    !old.iter().any(|start| name.starts_with(start)) && !name.contains("-chat")
}

/// Returns whether a model has reasoning and is certainly one of OpenAI's: another server may use
/// the same provider kind, and its models accept a temperature.
fn is_openai_reasoner(model: &str) -> bool {
    let name = base_name(model);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    let is_o =
        name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let is_openai = is_o || ["gpt-", "codex", "computer-use"].iter().any(|s| name.starts_with(s));
    is_openai && is_reasoning_model(model)
}

fn base_name(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

/// A borrowed or an owned JSON value.
#[derive(serde::Serialize)]
#[serde(untagged)]
pub(super) enum JsonPiece<'a> {
    Kept(&'a Value),
    Made(Value),
    Changed(PatchedObject<'a>),
    List(Vec<Self>),
    Object(Members<'a>),
}

/// Members in order, without duplicates.
#[derive(Default)]
pub(super) struct Members<'a>(pub(super) Vec<(&'static str, JsonPiece<'a>)>);

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, piece)| (key, piece)))
    }
}

/// A borrowed object with some members removed and others added.
pub(super) struct PatchedObject<'a> {
    pub(super) object: &'a Map<String, Value>,
    pub(super) keep: fn(&str, &Value) -> bool,
    pub(super) add: Option<(&'static str, Value)>,
}

impl Serialize for PatchedObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let added = self.add.as_ref().map(|(key, _)| *key);
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.object {
            if (self.keep)(key, value) && added != Some(key.as_str()) {
                map.serialize_entry(key, value)?;
            }
        }
        if let Some((key, value)) = &self.add {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// A complete body: small members first, then the large ones.
pub(super) struct Body<'a> {
    pub(super) small: Map<String, Value>,
    pub(super) large: Members<'a>,
}

impl<'a> Body<'a> {
    pub(super) fn new<const N: usize>(small: [(&str, Option<Value>); N]) -> Self {
        let small = small.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Self { small: small.collect(), large: Members::default() }
    }

    pub(super) fn put(&mut self, key: &'static str, piece: JsonPiece<'a>) {
        self.large.0.push((key, piece));
    }

    /// Adds the members of the configuration, which take precedence.
    pub(super) fn add(&mut self, extra: &Map<String, Value>) {
        self.large.0.retain(|(key, _)| !extra.contains_key(*key));
        merge(&mut self.small, extra);
    }

    /// Serializes the body. Keys are strings and numbers are valid JSON, so this cannot fail.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

fn merge(into: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            _ => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.small {
            map.serialize_entry(key, value)?;
        }
        for (key, piece) in &self.large.0 {
            map.serialize_entry(key, piece)?;
        }
        map.end()
    }
}

/// Returns the text of a user message, with a line for each omitted image.
pub(super) fn text_with_notes(text: &str, media: &[Media<'_>]) -> String {
    let mut out = text.to_owned();
    for media in media.iter().filter(|m| !m.fits) {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&result_content::omitted_note(media));
    }
    out
}
