//! `toolcrib serve`: runs the daemon in the foreground.

use std::time::Duration;

use crate::clap_args::Serve;
use crate::daemon;
use crate::output::Failure;

/// Time after which work that still blocks in the background is left behind at the end.
const RUNTIME_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

pub(super) fn run(command: &Serve, json: bool) -> Result<u8, Failure> {
    let runtime = toolcrib_server::runtime()
        .map_err(|error| Failure::run(format!("the runtime cannot start: {error}")))?;
    let result = runtime.block_on(daemon::serve(command, json));
    runtime.shutdown_timeout(RUNTIME_SHUTDOWN_TIMEOUT);
    result
}
