//! What the operations on agents run on.

use toolcrib_agent::library::Folder;

use crate::administration::Recorder;
use crate::library::LibraryContext;

/// Agents, and the folder that new ones are written to.
#[derive(Clone)]
pub struct AgentFiles<'a> {
    /// The library.
    pub library: LibraryContext<'a>,
    /// The folder that agents are written to and removed from.
    pub folder: Folder,
    /// Records changes.
    pub recorder: Recorder<'a>,
    /// Called after each change of a file, before it is recorded: a daemon reads its library again.
    pub changed: &'a (dyn Fn() + Sync),
}
