//! Tool search over a registry, shared by the tool `find_tools`, the command line and the daemon.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::{Catalog, Embedder, ToolError, View};

use super::registry_index::{RegistryIndex, ToolSearchResult, is_close_to_best};
use super::rerank_by_model::{CANDIDATES, Reranker};
use super::shutting_down;
use crate::model::{Model, ModelError};

/// The embedding model to use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ModelChoice {
    /// The model in the binary.
    #[default]
    BuiltIn,
    /// A model of the same format in this folder; see [`Model::open`].
    Folder(PathBuf),
}

impl ModelChoice {
    /// Loads the model.
    ///
    /// # Errors
    /// [`ModelError`] if the folder has no valid model.
    pub fn load(&self) -> Result<Arc<Model>, ModelError> {
        match self {
            Self::BuiltIn => Model::builtin(),
            Self::Folder(folder) => Model::open(folder).map(Arc::new),
        }
    }
}

/// An index of a registry. Model and index are created at the first search, so a program that never
/// searches has no cost.
pub struct ToolFinder {
    choice: ModelChoice,
    known: Arc<Mutex<Option<RegistryIndex>>>,
    meaning: Option<Reranker>,
}

impl ToolFinder {
    /// Creates a finder with this model.
    #[must_use]
    pub fn new(choice: ModelChoice) -> Self {
        Self { choice, known: Arc::default(), meaning: None }
    }

    /// Adds reranking of the best tools by a larger model.
    #[must_use]
    pub fn with_embedder(self, embedder: Arc<dyn Embedder>) -> Self {
        Self { meaning: Some(Reranker::new(embedder)), ..self }
    }

    /// Returns the best tools for a query in a view of this registry: up to twice `limit` callable
    /// tools (some may already be in the caller's list), and matching tools that are not ready. The
    /// first search indexes every tool, which takes up to half a second for ten thousand tools; it
    /// runs on a blocking thread.
    ///
    /// If the reranking model does not answer, the index's order applies and
    /// [`ToolSearchResult::note`] explains it.
    ///
    /// # Errors
    /// `execution_error` if the model cannot be loaded; the next search retries.
    pub async fn find(
        &self,
        catalog: Arc<dyn Catalog>,
        view: Arc<View>,
        query: &str,
        limit: usize,
    ) -> Result<ToolSearchResult, ToolError> {
        let looks_again = self.meaning.is_some();
        let wide = if looks_again { limit.max(CANDIDATES / 2) } else { limit };
        let (choice, known, need) =
            (self.choice.clone(), Arc::clone(&self.known), query.to_owned());
        let sought = tokio::task::spawn_blocking(move || {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            let known = match &mut *known {
                Some(known) => known,
                none => none.insert(RegistryIndex::new(choice.load()?)),
            };
            known.sync(&*catalog, &view);
            Ok(known.search(&need, wide, &view, looks_again))
        });
        let mut sought = match sought.await {
            Ok(Ok(sought)) => sought,
            Ok(Err(error)) => return Err(no_model(&error)),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => return Err(shutting_down()),
        };
        if let Some(meaning) = &self.meaning {
            rerank(meaning, query, &mut sought).await;
        }
        sought.usable.truncate(2 * limit);
        Ok(sought)
    }
}

/// Reranks the tools that the query does not name.
async fn rerank(meaning: &Reranker, query: &str, sought: &mut ToolSearchResult) {
    let mut rest = sought.usable.split_off(sought.named);
    if !rest.is_empty() {
        match meaning.rerank(query, rest.clone()).await {
            Ok(scored) => rest = scored,
            Err(error) => sought.note = Some(error.detail.unwrap_or(error.message)),
        }
    }
    let best = rest.iter().map(|(_, score)| *score).fold(0.0, f32::max);
    rest.retain(|(_, score)| is_close_to_best(*score, best));
    sought.usable.append(&mut rest);
}

fn no_model(error: &ModelError) -> ToolError {
    let text = "Tools cannot be searched: the configured model for finding tools cannot be used. Tell the person, and go on with the tools in your list.";
    ToolError::execution(text).with_detail(error.to_string())
}
