//! The back ends in their order: the first result is returned, with the failures of the back ends
//! before it.

use std::time::Duration;

use toolcrib_core::{CallCtx, ErrorType, ToolError};
use toolcrib_net::HttpClient;

use super::backend::{Hit, Query, SearchBackend};
use super::brave::Brave;
use super::duckduckgo::{DuckDuckGo, GAP};
use super::exa::Exa;
use super::google::Google;
use super::searxng::Searxng;
use super::tavily::Tavily;
use crate::web::{
    ApiKey, Cache, Pace, SearchBackendKind, SearchBackendSettings, Service, ServiceError,
};

/// How long a result is cached.
const CACHE_TIME: Duration = Duration::from_secs(15 * 60);
/// Number of cached searches.
const CACHE_ENTRIES: usize = 256;

/// A back end, or its name and the missing part of its configuration.
type Configured = Result<Box<dyn SearchBackend>, (&'static str, ServiceError)>;

/// The configured back ends.
pub(crate) struct SearchChain {
    backends: Vec<Configured>,
    cache: Cache<SearchAnswer>,
}

/// A result with the back end that returned it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SearchAnswer {
    pub(crate) backend: &'static str,
    /// Host of the back end.
    pub(crate) host: String,
    pub(crate) hits: Vec<Hit>,
    /// The back ends that were tried before, and why they failed.
    pub(crate) failed: Vec<String>,
    /// Whether the result is from the cache.
    pub(crate) cached: bool,
}

impl SearchChain {
    pub(crate) fn new(client: &HttpClient, settings: &[SearchBackendSettings]) -> Self {
        let backends = settings
            .iter()
            .map(|one| backend(client, one).map_err(|error| (one.kind.as_str(), error)));
        Self { backends: backends.collect(), cache: Cache::new(CACHE_TIME, CACHE_ENTRIES) }
    }

    /// Returns whether no back end is configured.
    pub(crate) fn is_empty(&self) -> bool {
        self.backends.is_empty()
    }

    /// Searches with the back ends in order.
    ///
    /// # Errors
    /// `not_configured` without a usable back end, otherwise the failure of each.
    pub(crate) async fn search(
        &self,
        query: &Query,
        ctx: &CallCtx,
    ) -> Result<SearchAnswer, ToolError> {
        let key = format!("{}\n{}\n{}", query.num, query.sites.join(" "), query.text.trim());
        if let Some(found) = self.cache.get(&key) {
            return Ok(SearchAnswer { cached: true, failed: Vec::new(), ..found });
        }
        let mut failed: Vec<(&'static str, ServiceError)> = Vec::new();
        for backend in &self.backends {
            let asked = match backend {
                Ok(backend) => ask(&**backend, query, ctx).await.map(|hits| (backend, hits)),
                Err((name, error)) => {
                    failed.push((name, error.clone()));
                    continue;
                }
            };
            match asked {
                Ok((backend, hits)) => {
                    let failed = failed.iter().map(|(name, why)| format!("{name}: {}", why.reason));
                    let found = SearchAnswer {
                        backend: backend.name(),
                        host: backend.service().host(),
                        hits,
                        failed: failed.collect(),
                        cached: false,
                    };
                    self.cache.put(key, found.clone());
                    return Ok(found);
                }
                Err(error) if error.is_final() => {
                    let stopped = "The search was stopped before an answer came.";
                    return Err(ToolError::new(error.kind, stopped));
                }
                Err(error) => failed.push((name_of(backend), error)),
            }
        }
        Err(all_failed(&failed))
    }
}

fn name_of(backend: &Configured) -> &'static str {
    match backend {
        Ok(backend) => backend.name(),
        Err((name, _)) => name,
    }
}

async fn ask(
    backend: &dyn SearchBackend,
    query: &Query,
    ctx: &CallCtx,
) -> Result<Vec<Hit>, ServiceError> {
    let request = backend.request(query)?;
    let response = backend.service().send(&request, ctx).await?;
    let mut hits = backend.hits(&response)?;
    hits.retain(|hit| query.admits(&hit.url));
    hits.truncate(query.num);
    Ok(hits)
}

fn all_failed(failed: &[(&'static str, ServiceError)]) -> ToolError {
    let reasons: Vec<String> =
        failed.iter().map(|(name, why)| format!("{name}: {}", why.reason)).collect();
    let has_kind = |kind| failed.iter().any(|(_, error)| error.kind == kind);
    let all_unset = failed.iter().all(|(_, error)| error.kind == ErrorType::NotConfigured);
    let kind = if all_unset {
        ErrorType::NotConfigured
    } else if has_kind(ErrorType::Timeout) {
        ErrorType::Timeout
    } else {
        ErrorType::NetworkError
    };
    ToolError::new(kind, format!("No search back end gave a result. {}.", reasons.join(". ")))
        .with_instruction("Go on without a search, or tell the person what is wrong.")
        .transient(false)
}

fn backend(
    client: &HttpClient,
    settings: &SearchBackendSettings,
) -> Result<Box<dyn SearchBackend>, ServiceError> {
    let at = |public: &str| Service::new(client, settings.url.as_deref(), public);
    let key = || match &settings.key {
        Some(ApiKey::Value(key)) if !key.trim().is_empty() => Ok(key.trim().to_owned()),
        Some(ApiKey::Secret(name)) => {
            Err(ServiceError::not_configured(format!("the vault has no secret `{name}`")))
        }
        _ => Err(ServiceError::not_configured("it has no key")),
    };
    Ok(match settings.kind {
        SearchBackendKind::Searxng => {
            let Some(url) = &settings.url else {
                return Err(ServiceError::not_configured("it has no address"));
            };
            Box::new(Searxng { service: at(url) })
        }
        SearchBackendKind::Brave => {
            Box::new(Brave { service: at("https://api.search.brave.com"), key: key()? })
        }
        SearchBackendKind::Tavily => {
            Box::new(Tavily { service: at("https://api.tavily.com"), key: key()? })
        }
        SearchBackendKind::Exa => Box::new(Exa { service: at("https://api.exa.ai"), key: key()? }),
        SearchBackendKind::Google => {
            let Some(engine) = settings.engine.clone() else {
                return Err(ServiceError::not_configured("it has no `engine`"));
            };
            let service = at("https://customsearch.googleapis.com");
            Box::new(Google { service, key: key()?, engine })
        }
        SearchBackendKind::DuckDuckGo => {
            let service = at("https://html.duckduckgo.com");
            Box::new(DuckDuckGo { service, pace: Pace::new(GAP) })
        }
    })
}
