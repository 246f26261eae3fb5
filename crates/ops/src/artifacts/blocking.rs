//! The artifact store does blocking file I/O, so it is read on a thread for blocking tasks.

use std::sync::Arc;

use toolcrib_core::{ArtifactStore, StoreError};

use crate::context::StoreContext;
use crate::error::OpError;

pub(super) async fn run_blocking<T: Send + 'static>(
    ctx: &StoreContext<'_>,
    work: impl FnOnce(&dyn ArtifactStore) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, OpError> {
    let store = Arc::clone(&ctx.stores.artifacts);
    match tokio::task::spawn_blocking(move || work(&*store)).await {
        Ok(done) => Ok(done?),
        Err(error) => Err(OpError::Internal(format!("reading stored results failed: {error}"))),
    }
}
