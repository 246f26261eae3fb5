//! How many files this process may have open: as many as the system lets it.

use super::crowd::RESERVE;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Of the files that a process may have open, those that are not connections over TCP: databases, artifacts, tools, the reserve of the socket.
const OTHERS: u64 = 256 + RESERVE as u64;

/// Raises the limit as far as it goes, and says how many connections it leaves room for.
pub(super) fn room_for_connections() -> usize {
    let now = getrlimit(Resource::Nofile);
    if now.current != now.maximum {
        let most = Rlimit { current: now.maximum, maximum: now.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, most) {
            tracing::debug!(%error, "the limit of open files cannot be raised");
        }
    }
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(limit.saturating_sub(OTHERS).max(16)).unwrap_or(usize::MAX)
}
