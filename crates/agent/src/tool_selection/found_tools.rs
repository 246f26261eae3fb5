//! The tools that a conversation has found.

use serde::{Deserialize, Serialize};
use toolcrib_core::tool_selection;
use toolcrib_providers::conversation::{CallAnswer, Message};

/// Number of names that are remembered: far more than fit into any window.
const MOST: usize = 512;

/// The tools that a conversation has found, least recently used first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FoundTools(Vec<String>);

impl FoundTools {
    /// Rebuilds the list from the results in these messages.
    pub fn from_history<'a>(history: impl IntoIterator<Item = &'a Message>) -> Self {
        let mut found = Self::default();
        for message in history {
            if let Message::Model(message) = message {
                message.answers().iter().flatten().for_each(|answer| found.add_from_answer(answer));
            }
        }
        found
    }

    /// Returns whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Processes the result of a call: it may add tools, and a found tool that was called becomes
    /// the most recently used.
    pub fn add_from_answer(&mut self, answer: &CallAnswer) {
        let Some(tool) = &answer.tool else { return };
        if self.0.iter().any(|name| name == tool.as_str()) {
            self.add([tool.to_string()]);
        }
        // The result lists the best match first, which must stay longest.
        self.add(tool_selection::injected_tools(tool.as_str(), &answer.wire).into_iter().rev());
    }

    /// Adds tools as the most recently used.
    pub fn add(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            self.0.retain(|known| *known != name);
            self.0.push(name);
        }
        let over = self.0.len().saturating_sub(MOST);
        self.0.drain(..over);
    }

    /// Returns the names, most recently used first.
    pub fn newest_first(&self) -> impl Iterator<Item = &str> {
        self.0.iter().rev().map(String::as_str)
    }
}
