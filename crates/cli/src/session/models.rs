//! The chosen models, connected.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_app::Stores;
use toolcrib_app::providers::live::{Endpoint, ModelOptions, ProviderSettings, ToolMemory};
use toolcrib_app::providers::model::Model;
use toolcrib_app::providers::scripted::ScriptedModel;

use crate::config::ModelChoice;
use crate::output::Failure;

/// Makes the models; those of one provider share its connections and its breaker.
pub(super) async fn connect(
    choices: Vec<ModelChoice>,
    stores: &Stores,
    warnings: &mut Vec<String>,
) -> Result<Vec<Arc<dyn Model>>, Failure> {
    let mut endpoints: HashMap<String, Endpoint> = HashMap::new();
    let mut models: Vec<Arc<dyn Model>> = Vec::new();
    let memory = Arc::new(Remembered { stores: stores.clone(), known: Mutex::default() });
    for choice in choices {
        match choice {
            ModelChoice::Scripted(path) => {
                let model = ScriptedModel::load(&path)
                    .map_err(|error| Failure::configuration(error.to_string()))?;
                models.push(Arc::new(model));
            }
            ModelChoice::Live { mut provider, model } => {
                let id = provider.id.clone();
                memory.recall(&id, &model).await;
                warnings.extend(readable_key(&provider));
                let endpoint = match endpoints.get(&id) {
                    Some(endpoint) => endpoint.clone(),
                    None => {
                        provider.memory = Some(Arc::clone(&memory) as Arc<dyn ToolMemory>);
                        Endpoint::new(*provider)
                            .map_err(|error| Failure::configuration(error.to_string()))?
                    }
                };
                models.push(Arc::new(endpoint.model(&model, ModelOptions::default())));
                endpoints.insert(id, endpoint);
            }
        }
    }
    Ok(models)
}

/// Says that a key travels where anybody on the way can read it.
fn readable_key(provider: &ProviderSettings) -> Option<String> {
    let base_url = provider.base_url.as_deref().filter(|_| provider.key.is_some())?;
    let rest = base_url.strip_prefix("http://")?;
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    let is_here = host == "localhost" || host.starts_with("127.") || host.starts_with('[');
    (!is_here).then(|| {
        format!("the key of {} goes to {host} over plain http: anybody on the way can read it; use https", provider.id)
    })
}

/// Which models take no tools, kept in the store beyond this process.
struct Remembered {
    stores: Stores,
    known: Mutex<HashSet<String>>,
}

impl Remembered {
    /// Reads from the store what it knows of a model.
    async fn recall(&self, provider: &str, model: &str) {
        let name = fact(provider, model);
        if let Ok(Some(_)) = self.stores.facts.fact(&name).await {
            self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
        }
    }
}

fn fact(provider: &str, model: &str) -> String {
    format!("no-tools/{provider}/{model}")
}

impl ToolMemory for Remembered {
    fn no_tools(&self, provider: &str, model: &str) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.contains(&fact(provider, model))
    }

    fn remember(&self, provider: &str, model: &str) {
        let name = fact(provider, model);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
        let facts = Arc::clone(&self.stores.facts);
        // A fact that cannot be kept only means that the server is asked once more another day.
        drop(tokio::spawn(async move { facts.put_fact(&name, "yes").await }));
    }
}
