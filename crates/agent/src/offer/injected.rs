//! What a conversation has found.

use serde::{Deserialize, Serialize};
use toolcrib_core::exposure;
use toolcrib_providers::chat::{CallAnswer, Message};

/// Names that are remembered: far more than any window has room for.
const MOST: usize = 512;

/// The tools that were found in a conversation, those used longest ago first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Injected(Vec<String>);

impl Injected {
    /// What the results in these messages say (SPEC 2.8, FEAT-040: rebuilt by scanning the history).
    pub fn of<'a>(history: impl IntoIterator<Item = &'a Message>) -> Self {
        let mut found = Self::default();
        for message in history {
            if let Message::Model(message) = message {
                message.answers().iter().flatten().for_each(|answer| found.saw(answer));
            }
        }
        found
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Looks at the result of a call: it may bring tools, and a found tool that is used is used now.
    pub fn saw(&mut self, answer: &CallAnswer) {
        let Some(tool) = &answer.tool else { return };
        if self.0.iter().any(|name| name == tool.as_str()) {
            self.add([tool.to_string()]);
        }
        // The best comes first there, and is to stay longest.
        self.add(exposure::injected(tool.as_str(), &answer.wire).into_iter().rev());
    }

    /// Adds tools, as used now.
    pub fn add(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            self.0.retain(|known| *known != name);
            self.0.push(name);
        }
        let over = self.0.len().saturating_sub(MOST);
        self.0.drain(..over);
    }

    /// The names, those used last before others.
    pub fn newest_first(&self) -> impl Iterator<Item = &str> {
        self.0.iter().rev().map(String::as_str)
    }
}
