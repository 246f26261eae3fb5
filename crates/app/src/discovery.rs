//! Finding tools, as it is set up here: for models, by the tool `find_tools`, and for whoever else asks.

use std::sync::Arc;

use toolcrib_agent::offer::{Exposed, OfferRules};
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{Catalog, Exposure, ViewRequest};
use toolcrib_discover::ModelError;
use toolcrib_discover::find_tools::{self, Finder, ModelChoice, Sought};

use crate::toolcrib::Toolcrib;

/// When tools have to be found, and by which model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DiscoverySettings {
    /// How tools get into the requests of runs.
    pub offer: OfferRules,
    /// The model of meaning.
    pub model: ModelChoice,
}

/// Finds tools, and knows what the requests of runs carry.
#[derive(Clone)]
pub(crate) struct Discovery {
    finder: Arc<Finder>,
    pub(crate) exposed: Arc<Exposed>,
}

impl Discovery {
    pub(crate) fn new(settings: &DiscoverySettings) -> Self {
        let finder = Arc::new(Finder::new(settings.model.clone()));
        Self { finder, exposed: Arc::default() }
    }

    /// The tools that find tools of this registry.
    pub(crate) fn source(&self, catalog: &Arc<dyn Catalog>) -> FixedSource {
        let exposure = Arc::clone(&self.exposed) as Arc<dyn Exposure>;
        find_tools::source(Arc::downgrade(catalog), Arc::clone(&self.finder), exposure)
    }
}

impl Toolcrib {
    /// The best tools for a need in words among those of a view, at most `limit`, and what would fit but is not ready. The first search makes
    /// the index, in up to half a second for ten thousand tools; it does not wait for anything else.
    ///
    /// # Errors
    /// [`ModelError`], when the configured model cannot be loaded.
    pub fn find(
        &self,
        view: &Arc<ViewRequest>,
        query: &str,
        limit: usize,
    ) -> Result<Sought, ModelError> {
        let view = self.catalog().view(view);
        self.discovery.finder.find(self.catalog(), &view, query, limit)
    }
}
