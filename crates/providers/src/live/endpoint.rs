//! A provider that can be reached: what all its models share.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use toolcrib_net::{Follow, HttpClient, Method, Request};

use super::address::Address;
use super::breaker::Breaker;
use super::embeddings;
use super::explain::About;
use super::failure::Failure;
use super::http_model::HttpModel;
use super::kind::ProviderKind;
use super::models;
use super::settings::{LiveError, ProviderSettings};
use super::window::Windows;
use crate::model::ModelError;
use crate::quirks::{Quirks, Server};

/// The API version that Anthropic wants named (research/protocols 2.3).
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A configured provider. Its models share one circuit breaker, one set of rate limits and one pool of connections. Cheap to clone.
#[derive(Clone)]
pub struct Endpoint(Arc<Shared>);

/// What is particular to one model of a provider.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelOptions {
    /// Quirks that differ from those of the provider.
    pub quirks: Option<Quirks>,
    /// It is known to have no function calling: its tools are described as text from the start.
    pub text_tools: bool,
}

pub(super) struct Shared {
    pub(super) settings: ProviderSettings,
    pub(super) address: Address,
    pub(super) client: HttpClient,
    pub(super) quirks: Quirks,
    pub(super) breaker: Breaker,
    pub(super) windows: Windows,
    headers: Vec<(String, String)>,
    no_tools: Mutex<HashSet<String>>,
}

impl Endpoint {
    /// Checks the settings. Nothing is connected to yet.
    ///
    /// # Errors
    /// [`LiveError`] says which setting cannot be used and what to do.
    pub fn new(settings: ProviderSettings) -> Result<Self, LiveError> {
        let address = Address::of(&settings)?;
        check_key(&settings)?;
        let quirks = quirks(&settings, &address)?;
        let headers = headers(&settings)?;
        let client = HttpClient::new(address.policy().clone()).with_keep_alive();
        let windows = Windows::new(settings.max_per_minute, settings.max_per_hour);
        Ok(Self(Arc::new(Shared {
            address,
            client,
            quirks,
            breaker: Breaker::default(),
            windows,
            headers,
            no_tools: Mutex::default(),
            settings,
        })))
    }

    /// Its settings.
    #[must_use]
    pub fn settings(&self) -> &ProviderSettings {
        &self.0.settings
    }

    /// Scheme, host, port and path of its base URL, for people.
    #[must_use]
    pub fn place(&self) -> String {
        self.0.address.shown()
    }

    /// How it differs from other servers of its format.
    #[must_use]
    pub fn quirks(&self) -> &Quirks {
        &self.0.quirks
    }

    /// A model of this provider. Whether it exists is found out when it is asked.
    #[must_use]
    pub fn model(&self, name: impl Into<String>, options: ModelOptions) -> HttpModel {
        HttpModel::new(Arc::clone(&self.0), name.into(), options)
    }

    /// The names of the provider's models, in its order.
    ///
    /// # Errors
    /// As for a request; it is sent once.
    pub async fn models(&self) -> Result<Vec<String>, ModelError> {
        let listed = models::list(&self.0, LIST_TIMEOUT).await;
        listed.map_err(|failure| self.0.error("", failure, 1, String::new()))
    }
}

impl Endpoint {
    /// The vectors of these texts by a model of this provider, one for each, all of one length.
    ///
    /// # Errors
    /// As for a request; it is sent once. [`crate::model::FailureKind::BadRequest`] where the provider has no embeddings.
    pub async fn embed(&self, model: &str, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        let made = embeddings::embed(&self.0, model, texts).await;
        made.map_err(|failure| self.0.error(model, failure, 1, String::new()))
    }
}

/// Longest time that a list of models may take.
const LIST_TIMEOUT: Duration = Duration::from_secs(15);

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("settings", &self.0.settings)
            .field("place", &self.place())
            .finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn about<'a>(&'a self, model: &'a str) -> About<'a> {
        About { settings: &self.settings, address: &self.address, model }
    }

    /// A request with everything in it but its body.
    pub(super) fn request(&self, method: Method, url: String) -> Request {
        let mut request = Request::new(method, url);
        request.headers.clone_from(&self.headers);
        // The key must not travel.
        request.follow = Follow::Never;
        request
    }

    /// Whether this model refused tools, in this process or an earlier one.
    pub(super) fn takes_no_tools(&self, model: &str) -> bool {
        let known = self.no_tools.lock().unwrap_or_else(PoisonError::into_inner).contains(model);
        let memory = self.settings.memory.as_ref();
        known || memory.is_some_and(|memory| memory.no_tools(&self.settings.id, model))
    }

    /// What a flag of the server decides is forgotten with this process: the server may be started otherwise the next time.
    pub(super) fn remember_no_tools(&self, model: &str, for_now: bool) {
        self.no_tools.lock().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned());
        if let Some(memory) = self.settings.memory.as_ref().filter(|_| !for_now) {
            memory.remember(&self.settings.id, model);
        }
    }

    pub(super) fn error(
        &self,
        model: &str,
        failure: Failure,
        attempts: u32,
        partial: String,
    ) -> ModelError {
        ModelError {
            kind: failure.kind,
            provider: self.settings.id.clone(),
            model: model.to_owned(),
            status: failure.status,
            message: failure.message,
            retry_after: failure.retry_after,
            attempts,
            partial,
        }
    }
}

/// A provider's own service answers nobody without a key; whoever sits behind another base URL may.
fn check_key(settings: &ProviderSettings) -> Result<(), LiveError> {
    let own = settings.base_url.as_deref().is_none_or(|url| url.trim().is_empty());
    match settings.kind.key_variable() {
        Some(variable) if own && settings.key.is_none() => {
            Err(LiveError::NoKey { id: settings.id.clone(), variable })
        }
        _ => Ok(()),
    }
}

/// The quirks of the kind; of the server that the owner names or the host tells; with the owner's own changes.
fn quirks(settings: &ProviderSettings, address: &Address) -> Result<Quirks, LiveError> {
    let by_host = || Server::of_url(&address.shown());
    let server = settings.server.unwrap_or_else(|| match settings.kind {
        ProviderKind::OpenAiChat => Server::OpenaiChat,
        ProviderKind::OpenAiResponses => Server::OpenaiResponses,
        ProviderKind::Anthropic => Server::Anthropic,
        ProviderKind::Gemini => Server::Gemini,
        ProviderKind::Ollama => Server::Ollama,
        ProviderKind::DeepSeek => Server::Deepseek,
        ProviderKind::OpenAiCompatible => by_host().unwrap_or(Server::OpenaiCompatible),
    });
    let mut quirks = server.quirks();
    quirks.strict |= address.is_beta();
    if settings.quirks.is_empty() {
        return Ok(quirks);
    }
    quirks.with(settings.quirks.clone()).map_err(|error| LiveError::BadQuirk {
        id: settings.id.clone(),
        problem: error.to_string(),
    })
}

/// The headers of every request: content type, key, version, and the owner's own, which replace any of their name.
fn headers(settings: &ProviderSettings) -> Result<Vec<(String, String)>, LiveError> {
    let mut headers = vec![
        ("content-type".to_owned(), "application/json".to_owned()),
        // Packed event streams arrive late: the packer waits for more.
        ("accept-encoding".to_owned(), "identity".to_owned()),
    ];
    if settings.kind == ProviderKind::Anthropic {
        headers.push(("anthropic-version".to_owned(), ANTHROPIC_VERSION.to_owned()));
    }
    if let Some(key) = &settings.key {
        let key = key.secret();
        headers.push(match settings.kind {
            ProviderKind::Anthropic => ("x-api-key".to_owned(), key.to_owned()),
            ProviderKind::Gemini => ("x-goog-api-key".to_owned(), key.to_owned()),
            _ => ("authorization".to_owned(), format!("Bearer {key}")),
        });
    }
    let own = &settings.headers;
    headers.retain(|(name, _)| !own.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)));
    headers.extend(own.iter().cloned());
    let mut request = Request::get("");
    request.headers = headers;
    let sendable = request.check_headers();
    sendable.map_err(|error| LiveError::BadHeader {
        id: settings.id.clone(),
        problem: error.to_string(),
    })?;
    Ok(request.headers)
}
