//! Connects the chosen models.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use toolcrib_app::Stores;
use toolcrib_app::runner::Runner;
use toolcrib_core::{Clock as _, SystemClock, canonical_json};
use toolcrib_providers::http_provider::{Endpoint, ModelOptions, NoToolsMemory, ProviderSettings};
use toolcrib_providers::model::Model;
use toolcrib_providers::scripted::ScriptedModel;

use crate::config::ModelChoice;
use crate::output::Failure;

/// Connected providers, so that all models of one share its connections and its circuit breaker.
pub(crate) struct ModelConnections {
    /// Endpoints by id and address.
    endpoints: Mutex<HashMap<(String, String), Endpoint>>,
    memory: Arc<StoredNoToolsMemory>,
}

impl ModelConnections {
    /// Creates an empty set. These stores keep properties of models.
    pub(crate) fn new(stores: &Stores) -> Self {
        let memory =
            Arc::new(StoredNoToolsMemory { stores: stores.clone(), known: Mutex::default() });
        Self { endpoints: Mutex::default(), memory }
    }

    /// Connects the models. The runner knows the windows that the owner configured.
    pub(crate) async fn connect(
        &self,
        choices: Vec<ModelChoice>,
        runner: &Runner,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Arc<dyn Model>>, Failure> {
        let mut models: Vec<Arc<dyn Model>> = Vec::new();
        for choice in choices {
            match choice {
                ModelChoice::Scripted(path) => {
                    let model = ScriptedModel::load(&path)
                        .map_err(|error| Failure::configuration(error.to_string()))?;
                    models.push(Arc::new(model));
                }
                ModelChoice::Live { provider, model } => {
                    let now = SystemClock.now_ms();
                    warnings.extend(self.memory.recall(&provider, &model, now).await);
                    warnings.extend(readable_key(&provider));
                    let window = runner.configured_window(&provider.id, &model);
                    let endpoint = self.endpoint(*provider)?;
                    let options = ModelOptions { window, ..ModelOptions::default() };
                    models.push(Arc::new(endpoint.model(&model, options)));
                }
            }
        }
        Ok(models)
    }

    fn endpoint(&self, mut provider: ProviderSettings) -> Result<Endpoint, Failure> {
        let (id, address) = (provider.id.clone(), server_address(&provider));
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(endpoint) = endpoints.get(&(id.clone(), address.clone())) {
            return Ok(endpoint.clone());
        }
        let all = Arc::clone(&self.memory);
        provider.memory = Some(Arc::new(NoToolsAtAddress { address: address.clone(), all }));
        let endpoint =
            Endpoint::new(provider).map_err(|error| Failure::configuration(error.to_string()))?;
        endpoints.insert((id, address), endpoint.clone());
        Ok(endpoint)
    }
}

/// Warns about a key that is sent unencrypted over the network.
fn readable_key(provider: &ProviderSettings) -> Option<String> {
    let base_url = provider.base_url.as_deref().filter(|_| provider.key.is_some())?;
    let rest = base_url.strip_prefix("http://")?;
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    let is_here = host == "localhost" || host.starts_with("127.") || host.starts_with('[');
    (!is_here).then(|| {
        format!("the key of {} goes to {host} over plain http: others on the network can read it; use https", provider.id)
    })
}

/// Time for which a refusal of tools is remembered: servers are updated, and models replaced under
/// the same name.
const NO_TOOLS_TTL: Duration = Duration::from_secs(7 * 24 * 3600);

/// Remembers in the store, beyond this process, which models do not support tools.
struct StoredNoToolsMemory {
    stores: Stores,
    known: Mutex<HashSet<String>>,
}

impl StoredNoToolsMemory {
    /// Reads the stored fact about a model at this address; returns a note about it.
    async fn recall(&self, provider: &ProviderSettings, model: &str, now: i64) -> Option<String> {
        let name = fact_key(&provider.id, &server_address(provider), model);
        let kept = self.stores.facts.value(&name).await.ok()??;
        let age = Duration::from_millis(u64::try_from(now - kept.parse::<i64>().ok()?).ok()?);
        if age >= NO_TOOLS_TTL {
            return None;
        }
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
        let ago = match age.as_secs() / (24 * 3600) {
            0 => "less than a day ago".to_owned(),
            1 => "a day ago".to_owned(),
            days => format!("{days} days ago"),
        };
        Some(format!(
            "{model} of {} refused tools {ago}, so they are described to it as text; it is offered them again 7 days after that",
            provider.id
        ))
    }
}

/// The memory for one provider at its address: another server may support tools for the same model.
struct NoToolsAtAddress {
    address: String,
    all: Arc<StoredNoToolsMemory>,
}

/// Returns the configured address of a provider.
fn server_address(provider: &ProviderSettings) -> String {
    let given = provider.base_url.as_deref().map(str::trim).filter(|url| !url.is_empty());
    let address = given.or(provider.kind.default_base_url()).unwrap_or_default();
    address.trim_end_matches('/').to_owned()
}

/// Returns the key of a fact. A base URL may contain a secret, so only its hash is stored.
fn fact_key(provider: &str, address: &str, model: &str) -> String {
    format!("no-tools-since/{}", canonical_json::sha256_parts(&[provider, address, model]))
}

impl NoToolsMemory for NoToolsAtAddress {
    fn no_tools(&self, provider: &str, model: &str) -> bool {
        let known = self.all.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.contains(&fact_key(provider, &self.address, model))
    }

    fn remember(&self, provider: &str, model: &str) {
        let name = fact_key(provider, &self.address, model);
        self.all.known.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
        let facts = Arc::clone(&self.all.stores.facts);
        let now = SystemClock.now_ms().to_string();
        // If the fact cannot be stored, the server is only asked again later.
        drop(tokio::spawn(async move { facts.put_value(&name, &now).await }));
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_providers::http_provider::ProviderKind;

    use super::*;

    fn provider(base_url: Option<&str>) -> ProviderSettings {
        let mut settings = ProviderSettings::new("mine", ProviderKind::Ollama);
        settings.base_url = base_url.map(str::to_owned);
        settings
    }

    /// Starts a new process with these stores; returns whether it remembers that `m` at this
    /// provider does not support tools, and its note.
    async fn believes(
        stores: &Stores,
        provider: &ProviderSettings,
        now: i64,
    ) -> (bool, Option<String>) {
        let all = Arc::new(StoredNoToolsMemory { stores: stores.clone(), known: Mutex::default() });
        let said = all.recall(provider, "m", now).await;
        let memory = NoToolsAtAddress { address: server_address(provider), all };
        assert!(!memory.no_tools("mine", "another"));
        (memory.no_tools("mine", "m"), said)
    }

    #[tokio::test]
    async fn a_refusal_of_tools_is_that_of_one_server_and_not_for_ever() {
        const DAY: i64 = 24 * 3600 * 1000;
        let stores = Stores::memory();
        let here = provider(Some("http://one.example:8000/v1/"));
        let now = 100 * DAY;
        stores.facts.put_value("no-tools/mine/m", "yes").await.unwrap();
        assert_eq!(believes(&stores, &here, now).await, (false, None), "an old form of it");
        let name = fact_key("mine", &server_address(&here), "m");
        stores.facts.put_value(&name, &now.to_string()).await.unwrap();
        let (known, said) = believes(&stores, &here, now + 3 * DAY).await;
        assert!(known && said.unwrap().contains("m of mine refused tools 3 days ago"));
        assert!(believes(&stores, &provider(Some("http://one.example:8000/v1")), now).await.0);
        for other in [Some("http://two.example:8000/v1"), None] {
            assert_eq!(believes(&stores, &provider(other), now).await, (false, None));
        }
        assert_eq!(believes(&stores, &here, now + 7 * DAY).await, (false, None));
        assert_eq!(believes(&stores, &here, now - DAY).await, (false, None), "a clock put back");
    }
}
