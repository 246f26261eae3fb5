//! Work that blocks: files, the vault, stored results. It is done beside the tasks that answer.

use crate::problem::{Code, Problem};

/// Does it on a thread of its own.
///
/// # Errors
/// Its own, and `internal` when it panicked.
pub(crate) async fn beside<T: Send + 'static, E: Into<Problem> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(Into::into),
        Err(error) => {
            tracing::error!(%error, "work beside the tasks that answer broke");
            Err(Problem::new(Code::Internal, "the daemon failed at it; its log says more"))
        }
    }
}
