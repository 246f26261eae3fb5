//! Processes with bounds: the boundary that a tool of somebody else runs in.
//!
//! [`process`] runs one program to its end: nothing of our environment, a process group of its own, a time limit, output that is read
//! whatever happens and kept up to a limit. It isolates nothing yet, and says so: every report carries its [`Level`].
//!
//! Invariants
//! - Nothing of the group outlives the call: the group is killed after its leader ended, on a timeout, on a stop, and when the future
//!   is dropped. A process that left the group by itself can only be cut off, not killed, at this level.
//! - A leader does not outlive this process, even one that is killed (Linux). What the leader started may, until it writes to a stream
//!   that nobody reads any more: the system tells only the child of the one that died.
//! - A child never blocks on its output, and never makes us wait for it: streams are drained together, bounded in memory, and given up
//!   shortly after the leader is gone.
//! - A group is signalled only while its leader is not reaped, so a number that the system gave to somebody else is never killed.
//!
//! Absent on purpose: our own vocabulary (calls, results, tools), shells and command lines, the network.

pub mod process;

use serde::{Deserialize, Serialize};

/// How strongly a process is kept apart from the rest of the machine, weakest first (DESIGN 5, Sandbox ladder).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Level {
    /// Not at all: the program may do whatever the user may do. It has a clean environment and a process group of its own.
    #[default]
    None,
}

impl Level {
    /// The name that results and reports show.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
        }
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
