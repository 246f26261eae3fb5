//! Taint labels: marks on a run for untrusted text or private data that it has read.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::CallId;

/// Maximum characters of a displayed source; the author of an address chooses its length.
const SOURCE_CHARS: usize = 160;

/// The tool that [`LabelSource::tool`] names for text that a run read before its first call.
pub const SYSTEM_PROMPT: &str = "system prompt";

/// The tool that [`LabelSource::tool`] names for outside text in the message that began a run.
pub const MESSAGE: &str = "message";

/// A taint label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// The run read text from outside, whose author is unknown.
    Untrusted,
    /// The run read private data: mail, memory, personal files, data protected by secrets.
    Private,
}

impl Label {
    /// Both labels.
    pub const ALL: [Self; 2] = [Self::Untrusted, Self::Private];

    /// Returns the name in files and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::Private => "private",
        }
    }

    /// Describes the kind of content that was read, for people: `text from outside`.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::Untrusted => "text from outside",
            Self::Private => "private data",
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The first result that raised a label.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LabelSource {
    /// The call; `None` if the model's provider ran the tool itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// Its tool.
    pub tool: String,
    /// Source of the text: a path or an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl fmt::Display for LabelSource {
    /// Formats one line: `fetch_url https://example.com/, call_…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tool)?;
        if let Some(source) = &self.source {
            f.write_str(" ")?;
            source.chars().take(SOURCE_CHARS).try_for_each(|c| fmt::Write::write_char(f, c))?;
            if source.chars().nth(SOURCE_CHARS).is_some() {
                f.write_str("…")?;
            }
        }
        match &self.call {
            Some(call) => write!(f, ", {call}"),
            None if [SYSTEM_PROMPT, MESSAGE].contains(&self.tool.as_str()) => Ok(()),
            None => f.write_str(", run by the provider of the model"),
        }
    }
}

/// The labels of a run. They are only ever raised; child runs, chains and later runs of a
/// conversation inherit them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Labels {
    /// Untrusted text was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<LabelSource>,
    /// Private data was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private: Option<LabelSource>,
}

impl Labels {
    /// Returns whether no label is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.untrusted.is_none() && self.private.is_none()
    }

    /// Returns the source of this label, if the label is set.
    #[must_use]
    pub fn get(&self, label: Label) -> Option<&LabelSource> {
        match label {
            Label::Untrusted => self.untrusted.as_ref(),
            Label::Private => self.private.as_ref(),
        }
    }

    /// Sets a label; an earlier source remains.
    pub fn raise(&mut self, label: Label, by: LabelSource) {
        let place = match label {
            Label::Untrusted => &mut self.untrusted,
            Label::Private => &mut self.private,
        };
        place.get_or_insert(by);
    }

    /// Adds the labels of `other`.
    pub fn inherit(&mut self, other: &Self) {
        for label in Label::ALL {
            if let Some(by) = other.get(label) {
                self.raise(label, by.clone());
            }
        }
    }

    /// Returns the labels that are set, with their sources.
    pub fn iter(&self) -> impl Iterator<Item = (Label, &LabelSource)> {
        Label::ALL.into_iter().filter_map(|label| Some((label, self.get(label)?)))
    }
}

impl fmt::Display for Labels {
    /// Formats one line: `untrusted (fetch_url https://example.com/, call_…), private (…)`; empty
    /// without labels.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (label, by)) in self.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{label} ({by})")?;
        }
        Ok(())
    }
}
