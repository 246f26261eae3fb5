//! A configured provider endpoint, and the state that all its models share.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use toolcrib_net::{Follow, HttpClient, Limits, Method, Request};

use super::attempt_failure::AttemptFailure;
use super::circuit_breaker::CircuitBreaker;
use super::embeddings;
use super::error_body::ErrorBody;
use super::error_message::ErrorContext;
use super::http_model::HttpModel;
use super::list_models;
use super::provider_kind::ProviderKind;
use super::rate_limit::RateLimit;
use super::settings::{ProviderSettings, SettingsError};
use super::urls::ProviderUrls;
use crate::model::ModelError;
use crate::quirks::{Quirks, Server};

/// The API version that Anthropic requires in a header.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A configured provider. Its models share one circuit breaker, one set of rate limits and one
/// connection pool. Cheap to clone.
#[derive(Clone)]
pub struct Endpoint(Arc<EndpointState>);

/// Options of one model of a provider.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelOptions {
    /// Quirks that replace those of the provider.
    pub quirks: Option<Quirks>,
    /// The model has no function calling: its tools are declared as text from the start.
    pub text_tools: bool,
    /// Context window that the owner configured, in tokens. A server whose window is set by the
    /// request (Ollama) is asked for it.
    pub window: Option<u64>,
}

pub(super) struct EndpointState {
    pub(super) settings: ProviderSettings,
    pub(super) address: ProviderUrls,
    pub(super) client: HttpClient,
    pub(super) quirks: Quirks,
    pub(super) breaker: CircuitBreaker,
    pub(super) windows: RateLimit,
    headers: Vec<(String, String)>,
    no_tools: Mutex<HashSet<String>>,
}

impl Endpoint {
    /// Checks the settings, without connecting.
    ///
    /// # Errors
    /// [`SettingsError`] names the unusable setting and the remedy.
    pub fn new(settings: ProviderSettings) -> Result<Self, SettingsError> {
        let address = ProviderUrls::from_settings(&settings)?;
        check_key(&settings)?;
        let quirks = quirks(&settings, &address)?;
        let headers = headers(&settings)?;
        let client = HttpClient::new(address.policy().clone()).with_keep_alive();
        let windows = RateLimit::new(settings.max_per_minute, settings.max_per_hour);
        Ok(Self(Arc::new(EndpointState {
            address,
            client,
            quirks,
            breaker: CircuitBreaker::default(),
            windows,
            headers,
            no_tools: Mutex::default(),
            settings,
        })))
    }

    /// Returns the settings.
    #[must_use]
    pub fn settings(&self) -> &ProviderSettings {
        &self.0.settings
    }

    /// Returns scheme, host, port and path of the base URL, for display.
    #[must_use]
    pub fn display_url(&self) -> String {
        self.0.address.display()
    }

    /// Returns the quirks of the server.
    #[must_use]
    pub fn quirks(&self) -> &Quirks {
        &self.0.quirks
    }

    /// Returns a model of this provider. Whether it exists is known only after the first request.
    #[must_use]
    pub fn model(&self, name: impl Into<String>, options: ModelOptions) -> HttpModel {
        HttpModel::new(Arc::clone(&self.0), name.into(), options)
    }

    /// Returns the names of the provider's models, in its order.
    ///
    /// # Errors
    /// As for a request; it is sent once.
    pub async fn models(&self) -> Result<Vec<String>, ModelError> {
        let listed = list_models::list(&self.0, LIST_TIMEOUT).await;
        listed.map_err(|failure| self.0.error("", failure, 1, String::new()))
    }
}

impl Endpoint {
    /// Returns the embeddings of these texts by a model of this provider, one per text, all of one
    /// length.
    ///
    /// # Errors
    /// As for a request; it is sent once. [`crate::model::FailureKind::BadRequest`] if the provider
    /// has no embeddings.
    pub async fn embed(&self, model: &str, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        let made = embeddings::embed(&self.0, model, texts).await;
        made.map_err(|failure| self.0.error(model, failure, 1, String::new()))
    }
}

/// Timeout for a list of models.
const LIST_TIMEOUT: Duration = Duration::from_secs(15);

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("settings", &self.0.settings)
            .field("place", &self.display_url())
            .finish_non_exhaustive()
    }
}

impl EndpointState {
    pub(super) fn error_context<'a>(&'a self, model: &'a str) -> ErrorContext<'a> {
        ErrorContext { settings: &self.settings, address: &self.address, model }
    }

    /// Creates a request without its body.
    pub(super) fn request(&self, method: Method, url: String) -> Request {
        let mut request = Request::new(method, url);
        request.headers.clone_from(&self.headers);
        // A redirect could send the key to another host.
        request.follow = Follow::Never;
        request
    }

    /// Sends a request without retries; returns the body of a successful response.
    pub(super) async fn fetch(
        &self,
        request: &Request,
        total: Duration,
        max_bytes: usize,
        about: &ErrorContext<'_>,
    ) -> Result<Vec<u8>, AttemptFailure> {
        let limits = Limits {
            total,
            max_wire_bytes: max_bytes,
            max_inflated_bytes: max_bytes,
            ..Limits::default()
        };
        let response = self.client.fetch(request, &limits).await;
        let response = response.map_err(|error| AttemptFailure::http(about, &error))?;
        let status = response.head.status;
        if !(200..300).contains(&status) {
            let body = ErrorBody::parse(&response.body);
            return Err(AttemptFailure::from_error_body(about, Some(status), &body));
        }
        Ok(response.body)
    }

    /// Returns whether this model refused tools, in this process or an earlier one.
    pub(super) fn takes_no_tools(&self, model: &str) -> bool {
        let known = self.no_tools.lock().unwrap_or_else(PoisonError::into_inner).contains(model);
        let memory = self.settings.memory.as_ref();
        known || memory.is_some_and(|memory| memory.no_tools(&self.settings.id, model))
    }

    /// Records that a model refused tools. If a missing server flag is the reason, the record is
    /// valid only for this process: the server may be restarted with the flag.
    pub(super) fn remember_no_tools(&self, model: &str, for_now: bool) {
        self.no_tools.lock().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned());
        if let Some(memory) = self.settings.memory.as_ref().filter(|_| !for_now) {
            memory.remember(&self.settings.id, model);
        }
    }

    pub(super) fn error(
        &self,
        model: &str,
        failure: AttemptFailure,
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

/// Checks for a key: a provider's own service requires one; a server behind another base URL may
/// not.
fn check_key(settings: &ProviderSettings) -> Result<(), SettingsError> {
    let own = settings.base_url.as_deref().is_none_or(|url| url.trim().is_empty());
    match settings.kind.key_variable() {
        Some(variable) if own && settings.key.is_none() => {
            Err(SettingsError::NoKey { id: settings.id.clone(), variable })
        }
        _ => Ok(()),
    }
}

/// Returns the quirks of the kind, or of the server that the configuration names or the host
/// indicates, with the overrides of the configuration.
fn quirks(settings: &ProviderSettings, address: &ProviderUrls) -> Result<Quirks, SettingsError> {
    let by_host = || Server::from_url(&address.display());
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
    quirks.override_fields(settings.quirks.clone()).map_err(|error| SettingsError::BadQuirk {
        id: settings.id.clone(),
        problem: error.to_string(),
    })
}

/// Returns the headers of every request: content type, key, version, and the configured ones, which
/// replace those of the same name.
fn headers(settings: &ProviderSettings) -> Result<Vec<(String, String)>, SettingsError> {
    let mut headers = vec![
        ("content-type".to_owned(), "application/json".to_owned()),
        // Compressed event streams arrive late, because the compressor buffers.
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
    sendable.map_err(|error| SettingsError::BadHeader {
        id: settings.id.clone(),
        problem: error.to_string(),
    })?;
    Ok(request.headers)
}
