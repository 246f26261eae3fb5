//! Where a thing of the library comes from.

use std::path::PathBuf;

use toolcrib_agent::library::{Location, Scope};

/// Where a thing of the library comes from. It is not part of REST documents, which have the
/// location as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileSource {
    scope: Option<Scope>,
    /// Its file; `None` = it is built in.
    pub path: Option<PathBuf>,
}

impl FileSource {
    /// The owner of the file in one word: `built-in`, `server`, `user` or `project`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.scope {
            None => "built-in",
            Some(Scope::Server) => "server",
            Some(Scope::User) => "user",
            Some(Scope::Project) => "project",
        }
    }
}

impl From<&Location> for FileSource {
    fn from(location: &Location) -> Self {
        Self { scope: location.scope(), path: location.path().map(ToOwned::to_owned) }
    }
}
