//! What a run has read, as far as policy cares (DESIGN 9, Taint; reliability 2.5).

use serde::{Deserialize, Serialize};

use crate::id::CallId;

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
}

/// What raised a label: the first result that did.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Raised {
    /// The call.
    pub call: CallId,
    /// Its tool.
    pub tool: String,
    /// Where the words came from: a path or an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
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
}
