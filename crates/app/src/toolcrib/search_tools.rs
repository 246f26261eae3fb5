//! Searches the tools of a Toolcrib.

use std::sync::Arc;

use toolcrib_agent::context;
use toolcrib_core::{Entry, ToolError, ViewRequest};
use toolcrib_tool_search::find_tools::ToolSearchResult;

use super::Toolcrib;

impl Toolcrib {
    /// Returns the tools of a view that best match a text, at most `limit`, and matching tools that
    /// are not ready. The first search builds the index, in up to half a second for ten thousand
    /// tools.
    ///
    /// # Errors
    /// `execution_error` if the configured model cannot be loaded; the detail gives the reason.
    pub async fn search_tools(
        &self,
        view: &Arc<ViewRequest>,
        query: &str,
        limit: usize,
    ) -> Result<ToolSearchResult, ToolError> {
        let catalog = self.engine().shared_catalog();
        let view = catalog.view(view);
        let mut sought = self.discovery.finder.find(catalog, view, query, limit).await?;
        sought.usable.truncate(limit);
        Ok(sought)
    }

    /// Returns the estimated tokens of this tool in each request that contains it; for a
    /// provider-defined tool, the maximum over all providers.
    #[must_use]
    pub fn declaration_tokens(&self, entry: &Entry) -> u64 {
        let own = entry.providers().iter().map(|own| context::estimate_tool(entry, &own.provider));
        own.max().unwrap_or_else(|| context::estimate_spec(entry.spec()))
    }
}
