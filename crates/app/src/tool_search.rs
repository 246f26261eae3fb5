//! Tool search of this Toolcrib: the tool `find_tools` for models, and the same search for other
//! callers.

use std::sync::{Arc, Weak};

use toolcrib_agent::library::ON_DEVICE_TOOLS;
use toolcrib_agent::tool_selection::{ActiveRequestTools, ToolSelectionRules};
use toolcrib_code_mode::{ToolMatches, ToolSearch};
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{BoxFuture, Catalog, Embedder, ToolError, ToolSelection, View};
use toolcrib_providers::http_provider::{Endpoint, ProviderSettings, SettingsError};
use toolcrib_tool_search::find_tools::{self, ModelChoice, ToolFinder, ToolSearchResult};

/// Settings of tool search.
#[derive(Debug, Clone, Default)]
pub struct ToolSearchSettings {
    /// Rules for selecting the tools in the requests of runs.
    pub offer: ToolSelectionRules,
    /// The embedding model.
    pub model: ModelChoice,
    /// A remote embedding model for better ranking. Tool descriptions and queries are sent to it.
    pub embeddings: Option<EmbeddingModel>,
    /// Tools that a model on this device may get, as entries of tool lists; `None` =
    /// [`ON_DEVICE_TOOLS`].
    pub on_device: Option<Vec<String>>,
}

impl ToolSearchSettings {
    /// Returns the tools that a model on this device may get, as entries of tool lists.
    #[must_use]
    pub fn on_device_tools(&self) -> Vec<String> {
        let default = || ON_DEVICE_TOOLS.map(str::to_owned).to_vec();
        self.on_device.clone().unwrap_or_else(default)
    }

    /// Returns the models for the search.
    pub(crate) fn search_mode(&self) -> (&ModelChoice, Option<(&str, &str)>) {
        let embeddings = self.embeddings.as_ref();
        (&self.model, embeddings.map(|one| (one.provider.id.as_str(), one.model.as_str())))
    }
}

/// A remote embedding model.
#[derive(Debug, Clone)]
pub struct EmbeddingModel {
    /// The provider.
    pub provider: ProviderSettings,
    /// Name of the model at the provider.
    pub model: String,
}

/// A remote embedding model with its client.
struct RemoteEmbedder {
    endpoint: Endpoint,
    model: String,
    id: String,
}

impl Embedder for RemoteEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ToolError>> {
        Box::pin(async {
            let made = self.endpoint.embed(&self.model, texts).await;
            made.map_err(|error| {
                let text = "The model for finding tools did not answer.";
                ToolError::execution(text).with_detail(format!("{}: {error}", self.id))
            })
        })
    }
}

/// Searches tools, and selects the tools in the requests of runs.
#[derive(Clone)]
pub(crate) struct ToolSearcher {
    pub(crate) finder: Arc<ToolFinder>,
    pub(crate) exposed: Arc<ActiveRequestTools>,
}

impl ToolSearcher {
    /// Creates the search.
    ///
    /// # Errors
    /// [`SettingsError`] if the settings of the embedding provider are invalid.
    pub(crate) fn new(settings: &ToolSearchSettings) -> Result<Self, SettingsError> {
        let mut finder = ToolFinder::new(settings.model.clone());
        if let Some(EmbeddingModel { provider, model }) = settings.embeddings.clone() {
            let id = format!("{}/{model}", provider.id);
            let endpoint = Endpoint::new(provider)?;
            finder = finder.with_embedder(Arc::new(RemoteEmbedder { endpoint, model, id }));
        }
        Ok(Self { finder: Arc::new(finder), exposed: Arc::default() })
    }

    /// Returns the search for scripts over this registry.
    pub(crate) fn for_scripts(&self, catalog: &Arc<dyn Catalog>) -> ScriptToolSearch {
        ScriptToolSearch { catalog: Arc::downgrade(catalog), finder: Arc::clone(&self.finder) }
    }

    /// Returns the source of the search tools over this registry.
    pub(crate) fn source(&self, catalog: &Arc<dyn Catalog>) -> FixedSource {
        let exposure = Arc::clone(&self.exposed) as Arc<dyn ToolSelection>;
        find_tools::source(Arc::downgrade(catalog), Arc::clone(&self.finder), exposure)
    }
}

/// Search for scripts, with the same ranking as for models.
pub(crate) struct ScriptToolSearch {
    catalog: Weak<dyn Catalog>,
    finder: Arc<ToolFinder>,
}

impl ToolSearch for ScriptToolSearch {
    fn search<'a>(
        &'a self,
        view: Arc<View>,
        words: &'a str,
        most: usize,
    ) -> BoxFuture<'a, Result<ToolMatches, ToolError>> {
        Box::pin(async move {
            let Some(catalog) = self.catalog.upgrade() else { return Ok(ToolMatches::default()) };
            let ToolSearchResult { usable, nearest, .. } =
                self.finder.find(catalog, view, words, most).await?;
            let tools = usable.into_iter().take(most).map(|(entry, _)| entry).collect();
            Ok(ToolMatches { tools, nearest })
        })
    }
}
