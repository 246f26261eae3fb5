//! Blocking work, such as files, the vault and artifacts, on the threads for blocking tasks.

use crate::problem::{Code, Problem};

/// Runs work on a thread for blocking tasks.
///
/// # Errors
/// Those of the work, and `internal` if it panics.
pub(crate) async fn run_blocking<T: Send + 'static, E: Into<Problem> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(Into::into),
        Err(error) => {
            tracing::error!(%error, "blocking work panicked");
            Err(Problem::new(Code::Internal, "the daemon failed; see its log"))
        }
    }
}
