//! The origin of an object of the library.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_agent::library::{Location, Scope};

/// The origin of an object of the library.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSource {
    /// The owner of its file in one word: `built-in`, `server`, `user` or `project`.
    pub from: String,
    /// Its file; null for a built-in object.
    #[schemars(with = "Option<String>")]
    pub path: Option<PathBuf>,
}

impl FileSource {
    /// Returns the owner of the file in one word.
    #[must_use]
    pub fn word(&self) -> &str {
        &self.from
    }
}

fn owner_word(scope: Option<Scope>) -> &'static str {
    match scope {
        None => "built-in",
        Some(Scope::Server) => "server",
        Some(Scope::User) => "user",
        Some(Scope::Project) => "project",
    }
}

impl From<&Location> for FileSource {
    fn from(location: &Location) -> Self {
        Self {
            from: owner_word(location.scope()).to_owned(),
            path: location.path().map(ToOwned::to_owned),
        }
    }
}
