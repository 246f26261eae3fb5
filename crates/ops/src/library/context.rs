//! What the operations on the library run on.

use std::sync::Arc;

use toolcrib_agent::library::{Folders, Library, ToolNames};
use toolcrib_app::Toolcrib;
use toolcrib_app::runner;

/// The library, and the tools that its files name.
#[derive(Clone)]
pub struct LibraryContext<'a> {
    /// The tools.
    pub toolcrib: &'a Toolcrib,
    /// The library as it was read last.
    pub library: Arc<Library>,
    /// Where it was read from.
    pub folders: &'a Folders,
}

impl LibraryContext<'_> {
    /// The names of all tools, enabled or not.
    pub(crate) fn tool_names(&self) -> Vec<ToolNames> {
        runner::tool_names(self.toolcrib)
    }

    /// The same with the library as its files are now.
    pub(crate) fn reloaded(&self) -> Self {
        Self { library: Arc::new(self.read(self.folders)), ..self.clone() }
    }

    /// The library of other folders.
    pub(crate) fn read(&self, folders: &Folders) -> Library {
        runner::load_library(self.toolcrib, folders)
    }
}
