//! What a run has read, as far as policy cares (DESIGN 9, Taint; reliability 2.5).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::CallId;

/// Characters of a source where it is shown: an address may be as long as whoever chose it likes.
const SOURCE_CHARS: usize = 160;

/// One of the two labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// Text from outside was read: anybody may have written it.
    Untrusted,
    /// Private data was read: mail, memory, personal files, what secrets open.
    Private,
}

impl Label {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Untrusted, Self::Private];

    /// The wire name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::Private => "private",
        }
    }

    /// What was read, in words: `text from outside`.
    #[must_use]
    pub fn words(self) -> &'static str {
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

/// What raised a label: the first result that did.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Raised {
    /// The call; `None` = the provider of the model ran it, so that it is no call of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// Its tool.
    pub tool: String,
    /// Where the words came from: a path or an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl fmt::Display for Raised {
    /// One line: `fetch_url https://example.com/, call_…`.
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
            None => f.write_str(", run by the provider of the model"),
        }
    }
}

/// The labels of a run. They are only ever raised; child runs, chains and later runs of a conversation inherit them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Labels {
    /// Text from outside was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<Raised>,
    /// Private data was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private: Option<Raised>,
}

impl Labels {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.untrusted.is_none() && self.private.is_none()
    }

    /// What raised one of them.
    #[must_use]
    pub fn get(&self, label: Label) -> Option<&Raised> {
        match label {
            Label::Untrusted => self.untrusted.as_ref(),
            Label::Private => self.private.as_ref(),
        }
    }

    /// Raises a label; what raised it first stays.
    pub fn raise(&mut self, label: Label, by: Raised) {
        let place = match label {
            Label::Untrusted => &mut self.untrusted,
            Label::Private => &mut self.private,
        };
        place.get_or_insert(by);
    }

    /// Raises what the other has.
    pub fn inherit(&mut self, other: &Self) {
        for label in Label::ALL {
            if let Some(by) = other.get(label) {
                self.raise(label, by.clone());
            }
        }
    }

    /// Those that are raised, with what raised them.
    pub fn iter(&self) -> impl Iterator<Item = (Label, &Raised)> {
        Label::ALL.into_iter().filter_map(|label| Some((label, self.get(label)?)))
    }
}

impl fmt::Display for Labels {
    /// One line: `untrusted (fetch_url https://example.com/, call_…), private (…)`; empty without labels.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (label, by)) in self.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{label} ({by})")?;
        }
        Ok(())
    }
}
