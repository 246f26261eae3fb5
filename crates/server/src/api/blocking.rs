//! Work that must not occupy the threads that answer requests: blocking work, such as files, the
//! vault and artifacts, and work that computes for milliseconds, such as comparing with rules.

use crate::problem::{Code, Problem};
use crate::state::DaemonState;

/// Runs work on a thread for blocking tasks.
///
/// # Errors
/// The errors of the work, and `internal` if it panics.
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

/// Polls a client's computation of some milliseconds on a thread for blocking tasks. Few
/// computations run at once, in turns between clients, so that they leave processors to other
/// requests.
///
/// # Errors
/// The errors of the work, `rate_limited` if too many wait, and `internal` if it panics.
pub(crate) async fn run_cpu_bound<T: Send + 'static>(
    daemon: &DaemonState,
    client: &str,
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    let Ok(waiter) = daemon.middleware().admission.computations.acquire(client, 1) else {
        let detail = "too many requests that compute are waiting; send it again later";
        return Err(Problem::new(Code::RateLimited, detail).retry_after(1));
    };
    let permit = waiter.await;
    let runtime = tokio::runtime::Handle::current();
    run_blocking(move || {
        // The permit is held until the work ends, even if its client disconnects.
        let _permit = permit;
        runtime.block_on(work)
    })
    .await
}
