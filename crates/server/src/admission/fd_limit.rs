//! The number of files that this process may open, raised to the hard limit of the system.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files other than connections: databases, artifacts, pipes of tools.
const OTHER_FILES: u64 = 256;

/// Raises the soft limit to the hard limit and returns the number of connections that it allows,
/// besides `reserve` connections that are not counted.
pub(super) fn max_connections(reserve: usize) -> usize {
    let now = getrlimit(Resource::Nofile);
    if now.current != now.maximum {
        let most = Rlimit { current: now.maximum, maximum: now.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, most) {
            tracing::debug!(%error, "the limit of open files cannot be raised");
        }
    }
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(limit.saturating_sub(OTHER_FILES + reserve as u64).max(16))
        .unwrap_or(usize::MAX)
}
