//! The tools as a source for the registry.

use std::sync::Arc;

use toolcrib_core::entry::FixedSource;
use toolcrib_core::{Entry, Handler, ToolSpec, TypedHandler};

use super::channel_tools::{ChannelTools, SOURCE};
use super::draft_message;

impl ChannelTools {
    /// Returns the tools in declaration order.
    #[must_use]
    pub fn handlers(&self) -> Vec<Arc<dyn Handler>> {
        vec![TypedHandler::handler(draft_message::DraftMessage(self.clone()))]
    }

    /// Returns the tools as a source for the registry.
    #[must_use]
    pub fn source(&self) -> FixedSource {
        FixedSource::new(SOURCE, self.handlers().into_iter().map(Entry::Local).collect())
    }
}

/// Returns the definitions of all tools in order, for documentation.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    vec![draft_message::spec()]
}
