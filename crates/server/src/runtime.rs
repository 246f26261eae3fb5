//! The runtime that a daemon works in.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// Tasks after which a busy thread looks for what has come in. With tokio's 61, requests of a busy daemon wait for 61 others before anybody
/// sees that they are there: 4 to 7 ms, where everything else of a small call takes a third of one. Looking costs about a microsecond.
const LOOK_EVERY: u32 = 1;

/// A runtime of as many threads as there are processors, that hears of requests soon also when it is busy.
///
/// # Errors
/// When its threads cannot be started.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().event_interval(LOOK_EVERY).enable_all().build()
}
