//! Finding among the tools of a registry, for the tool `find_tools` and for everybody else who asks: the command line, the daemon.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::{Catalog, View};

use super::known::{Known, Sought};
use crate::model::{Model, ModelError};

/// Which model finds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ModelChoice {
    /// The one that is part of the binary.
    #[default]
    BuiltIn,
    /// A larger one of the same form, in this folder; see [`Model::open`].
    Folder(PathBuf),
}

impl ModelChoice {
    /// Loads it.
    ///
    /// # Errors
    /// [`ModelError`], when the folder holds no model of the right form.
    pub fn load(&self) -> Result<Arc<Model>, ModelError> {
        match self {
            Self::BuiltIn => Model::builtin(),
            Self::Folder(folder) => Model::open(folder).map(Arc::new),
        }
    }
}

/// An index beside a registry. Model and index are made at the first search, so a program that never searches pays nothing.
pub struct Finder {
    choice: ModelChoice,
    known: Mutex<Option<Known>>,
}

impl Finder {
    /// Finds with this model.
    #[must_use]
    pub fn new(choice: ModelChoice) -> Self {
        Self { choice, known: Mutex::default() }
    }

    /// The best tools for a need among those of a view of this registry, at most `limit` that can be called, and with them those that would fit
    /// but are not ready. The first search indexes every tool, which takes up to half a second for ten thousand.
    ///
    /// # Errors
    /// [`ModelError`], when the model cannot be loaded; the next search tries again.
    pub fn find(
        &self,
        catalog: &dyn Catalog,
        view: &Arc<View>,
        query: &str,
        limit: usize,
    ) -> Result<Sought, ModelError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match &mut *known {
            Some(known) => known,
            none => none.insert(Known::new(self.choice.load()?)),
        };
        known.sync(catalog, view);
        Ok(known.seek(query, limit, view))
    }
}
