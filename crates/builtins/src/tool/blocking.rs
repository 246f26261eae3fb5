//! Blocking work off the async threads.

use toolcrib_core::ToolError;

/// Runs blocking file operations off the async threads; propagates panics.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(ToolError::execution(
            "The program is shutting down, so the call did not run. Try again later.",
        )),
    }
}
