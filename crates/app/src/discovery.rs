//! Finding tools, as it is set up here: for models, by the tool `find_tools`, and for whoever else asks.

use std::sync::{Arc, Weak};

use toolcrib_agent::context;
use toolcrib_agent::offer::{Exposed, OfferRules};
use toolcrib_chain::{Found, ToolSearch};
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{BoxFuture, Catalog, Embedder, Entry, Exposure, ToolError, View, ViewRequest};
use toolcrib_discover::find_tools::{self, Finder, ModelChoice, Sought};
use toolcrib_providers::live::{Endpoint, LiveError, ProviderSettings};

use crate::toolcrib::Toolcrib;

/// When tools have to be found, and by which model.
#[derive(Debug, Clone, Default)]
pub struct DiscoverySettings {
    /// How tools get into the requests of runs.
    pub offer: OfferRules,
    /// The model of meaning.
    pub model: ModelChoice,
    /// A better one behind an interface, which puts the best tools in order; what they say of themselves, and needs, are sent there.
    pub embeddings: Option<EmbeddingModel>,
}

impl DiscoverySettings {
    /// By which models tools are found.
    pub(crate) fn finds_by(&self) -> (&ModelChoice, Option<(&str, &str)>) {
        let embeddings = self.embeddings.as_ref();
        (&self.model, embeddings.map(|one| (one.provider.id.as_str(), one.model.as_str())))
    }
}

/// A model of embeddings.
#[derive(Debug, Clone)]
pub struct EmbeddingModel {
    /// Whose it is.
    pub provider: ProviderSettings,
    /// Its name, as the provider knows it.
    pub model: String,
}

/// It, ready to be asked.
struct Asked {
    endpoint: Endpoint,
    model: String,
    id: String,
}

impl Embedder for Asked {
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

/// Finds tools, and knows what the requests of runs carry.
#[derive(Clone)]
pub(crate) struct Discovery {
    finder: Arc<Finder>,
    pub(crate) exposed: Arc<Exposed>,
}

impl Discovery {
    /// # Errors
    /// [`LiveError`], when the settings of the embeddings' provider cannot be used.
    pub(crate) fn new(settings: &DiscoverySettings) -> Result<Self, LiveError> {
        let mut finder = Finder::new(settings.model.clone());
        if let Some(EmbeddingModel { provider, model }) = settings.embeddings.clone() {
            let id = format!("{}/{model}", provider.id);
            let endpoint = Endpoint::new(provider)?;
            finder = finder.with_embedder(Arc::new(Asked { endpoint, model, id }));
        }
        Ok(Self { finder: Arc::new(finder), exposed: Arc::default() })
    }

    /// How scripts find tools of this registry.
    pub(crate) fn for_scripts(&self, catalog: &Arc<dyn Catalog>) -> ForScripts {
        ForScripts { catalog: Arc::downgrade(catalog), finder: Arc::clone(&self.finder) }
    }

    /// The tools that find tools of this registry.
    pub(crate) fn source(&self, catalog: &Arc<dyn Catalog>) -> FixedSource {
        let exposure = Arc::clone(&self.exposed) as Arc<dyn Exposure>;
        find_tools::source(Arc::downgrade(catalog), Arc::clone(&self.finder), exposure)
    }
}

/// How scripts find tools: as models do.
pub(crate) struct ForScripts {
    catalog: Weak<dyn Catalog>,
    finder: Arc<Finder>,
}

impl ToolSearch for ForScripts {
    fn search<'a>(
        &'a self,
        view: Arc<View>,
        words: &'a str,
        most: usize,
    ) -> BoxFuture<'a, Result<Found, ToolError>> {
        Box::pin(async move {
            let Some(catalog) = self.catalog.upgrade() else { return Ok(Found::default()) };
            let Sought { usable, nearest, .. } =
                self.finder.find(catalog, view, words, most).await?;
            let tools = usable.into_iter().take(most).map(|(entry, _)| entry).collect();
            Ok(Found { tools, nearest })
        })
    }
}

impl Toolcrib {
    /// The best tools for a need in words among those of a view, at most `limit`, and what would fit but is not ready. The first search makes
    /// the index, in up to half a second for ten thousand tools.
    ///
    /// # Errors
    /// `execution_error`, when the configured model cannot be loaded; the detail says why.
    pub async fn find(
        &self,
        view: &Arc<ViewRequest>,
        query: &str,
        limit: usize,
    ) -> Result<Sought, ToolError> {
        let catalog = self.engine().shared_catalog();
        let view = catalog.view(view);
        let mut sought = self.discovery.finder.find(catalog, view, query, limit).await?;
        sought.usable.truncate(limit);
        Ok(sought)
    }

    /// About how many tokens this tool takes in every request that carries it; of one that providers declare themselves, the most for any of
    /// them.
    #[must_use]
    pub fn tokens_of(&self, entry: &Entry) -> u64 {
        let own = entry.providers().iter().map(|own| context::tool(entry, &own.provider));
        own.max().unwrap_or_else(|| context::spec(entry.spec()))
    }
}
