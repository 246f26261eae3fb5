//! The context of operations on agents.

use toolcrib_agent::library::Folder;

use crate::administration::Recorder;
use crate::library::LibraryContext;

/// The agents, and the folder for new ones.
#[derive(Clone)]
pub struct AgentFiles<'a> {
    /// The library.
    pub library: LibraryContext<'a>,
    /// The folder in which agents are written and removed.
    pub folder: Folder,
    /// Records changes.
    pub recorder: Recorder<'a>,
    /// Called after each change of a file, before it is recorded: a daemon reloads its library.
    pub changed: &'a (dyn Fn() + Sync),
}
