//! The asynchronous runtime of one command.

use tokio::runtime::Runtime;

use crate::output::Failure;

/// Creates a runtime with one thread, which is sufficient for one command and starts fastest.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::run(format!("the runtime cannot start: {error}")))
}

/// Runs a command to its end. Work that still blocks in the background, such as an abandoned name
/// lookup, is left behind.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = runtime()?;
    let result = runtime.block_on(future);
    runtime.shutdown_background();
    result
}
