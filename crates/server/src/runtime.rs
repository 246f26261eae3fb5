//! The runtime of a daemon.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// Tasks after which a busy thread polls for I/O. With tokio's default of 61, a busy daemon notices
/// a request only after 61 other tasks: 4 to 7 ms, whereas the rest of a small call takes a third
/// of a millisecond. Polling costs about a microsecond.
const EVENT_INTERVAL: u32 = 1;

/// Builds a runtime with one thread per processor that notices requests quickly even when it is
/// busy.
///
/// # Errors
/// If its threads cannot be started.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().event_interval(EVENT_INTERVAL).enable_all().build()
}
