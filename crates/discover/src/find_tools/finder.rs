//! Finding among the tools of a registry, for the tool `find_tools` and for everybody else who asks: the command line, the daemon.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::{Catalog, Embedder, ToolError, View};

use super::known::{Known, Sought, fits};
use super::meaning::{LOOKED_AT, Meaning};
use super::shutting_down;
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
    known: Arc<Mutex<Option<Known>>>,
    meaning: Option<Meaning>,
}

impl Finder {
    /// Finds with this model.
    #[must_use]
    pub fn new(choice: ModelChoice) -> Self {
        Self { choice, known: Arc::default(), meaning: None }
    }

    /// The same with a second look at the best tools by a better model.
    #[must_use]
    pub fn with_embedder(self, embedder: Arc<dyn Embedder>) -> Self {
        Self { meaning: Some(Meaning::new(embedder)), ..self }
    }

    /// The best tools for a need among those of a view of this registry, at most `limit` and as many again that can be called (some of them may
    /// be in the caller's list already), and with them those that would fit but are not ready. The first search indexes every tool, which takes
    /// up to half a second for ten thousand; it is done beside the tasks of the runtime.
    ///
    /// When the better model does not answer, the order is that of the index, and `Sought::note` says so.
    ///
    /// # Errors
    /// `execution_error` when the model cannot be loaded; the next search tries again.
    pub async fn find(
        &self,
        catalog: Arc<dyn Catalog>,
        view: Arc<View>,
        query: &str,
        limit: usize,
    ) -> Result<Sought, ToolError> {
        let looks_again = self.meaning.is_some();
        let wide = if looks_again { limit.max(LOOKED_AT / 2) } else { limit };
        let (choice, known, need) =
            (self.choice.clone(), Arc::clone(&self.known), query.to_owned());
        let sought = tokio::task::spawn_blocking(move || {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            let known = match &mut *known {
                Some(known) => known,
                none => none.insert(Known::new(choice.load()?)),
            };
            known.sync(&*catalog, &view);
            Ok(known.seek(&need, wide, &view, looks_again))
        });
        let mut sought = match sought.await {
            Ok(Ok(sought)) => sought,
            Ok(Err(error)) => return Err(no_model(&error)),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => return Err(shutting_down()),
        };
        if let Some(meaning) = &self.meaning {
            look_again(meaning, query, &mut sought).await;
        }
        sought.usable.truncate(2 * limit);
        Ok(sought)
    }
}

/// Puts what is not spelled out in the order of the better model.
async fn look_again(meaning: &Meaning, query: &str, sought: &mut Sought) {
    let mut rest = sought.usable.split_off(sought.named);
    if !rest.is_empty() {
        match meaning.look(query, rest.clone()).await {
            Ok(scored) => rest = scored,
            Err(error) => sought.note = Some(error.detail.unwrap_or(error.message)),
        }
    }
    let best = rest.iter().map(|(_, score)| *score).fold(0.0, f32::max);
    rest.retain(|(_, score)| fits(*score, best));
    sought.usable.append(&mut rest);
}

fn no_model(error: &ModelError) -> ToolError {
    let text = "Tools cannot be searched: the configured model for finding tools cannot be used. Tell the person, and go on with the tools in your list.";
    ToolError::execution(text).with_detail(error.to_string())
}
