//! The context of operations on the library.

use std::sync::Arc;

use toolcrib_agent::library::{Folders, Library, ToolNames};
use toolcrib_app::Toolcrib;
use toolcrib_app::runner;

/// The library, and the tools that its files name.
#[derive(Clone)]
pub struct LibraryContext<'a> {
    /// The tools.
    pub toolcrib: &'a Toolcrib,
    /// The library as last read.
    pub library: Arc<Library>,
    /// The folders from which it was read.
    pub folders: &'a Folders,
}

impl LibraryContext<'_> {
    /// Returns the names of all tools, enabled or not.
    pub(crate) fn tool_names(&self) -> Vec<ToolNames> {
        runner::tool_names(self.toolcrib)
    }

    /// Returns the context with the library reloaded from its files.
    pub(crate) fn reloaded(&self) -> Self {
        Self { library: Arc::new(self.read(self.folders)), ..self.clone() }
    }

    /// Reads the library of other folders.
    pub(crate) fn read(&self, folders: &Folders) -> Library {
        runner::load_library(self.toolcrib, folders)
    }
}
