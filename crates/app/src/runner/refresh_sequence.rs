//! The checks of a runner before each request: first for changed rules, then for changed tools.

use std::sync::Arc;

use toolcrib_agent::driver::ToolRefresh;
use toolcrib_core::BoxFuture;

/// Two checks that run one after the other.
pub(super) struct RefreshSequence {
    pub(super) first: Arc<dyn ToolRefresh>,
    pub(super) second: Arc<dyn ToolRefresh>,
}

impl ToolRefresh for RefreshSequence {
    fn refresh(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(async {
            let mut notices = self.first.refresh().await;
            notices.extend(self.second.refresh().await);
            notices
        })
    }
}
