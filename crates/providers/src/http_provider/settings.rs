//! Settings of a provider, and their errors.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::api_key::ApiKey;
use super::clock::{Clock, TokioClock};
use super::provider_kind::ProviderKind;
use super::retry::RETRIES;
use crate::quirks::Server;

/// Default idle limit. Reasoning models are silent for up to a minute.
pub const IDLE: Duration = Duration::from_secs(120);
/// Default timeout of one request with its retries, the same as in the official SDKs.
pub const TIMEOUT: Duration = Duration::from_secs(600);

/// Records, beyond this process, which models have no function calling.
pub trait NoToolsMemory: Send + Sync {
    /// Returns whether this model of this provider refused tools.
    fn no_tools(&self, provider: &str, model: &str) -> bool;

    /// Records that a model refused tools.
    fn remember(&self, provider: &str, model: &str);
}

/// A configured provider.
#[derive(Clone)]
pub struct ProviderSettings {
    /// Name of the entry for display: the id of the kind, or a name from the configuration.
    pub id: String,
    /// Kind of the provider.
    pub kind: ProviderKind,
    /// Base URL; `None` for the default of the kind. `…/v1` for kinds like OpenAI, the host for the
    /// others.
    pub base_url: Option<String>,
    /// Its key.
    pub key: Option<ApiKey>,
    /// Kind of server whose quirks apply, if neither kind nor host determines it.
    pub server: Option<Server>,
    /// Overrides of single quirks, by name
    /// ([`Quirks::override_fields`](crate::quirks::Quirks::override_fields)).
    pub quirks: Map<String, Value>,
    /// Additional headers; one with the name of a standard header replaces it. Their values are
    /// treated as secrets.
    pub headers: Vec<(String, String)>,
    /// Maximum time without data while waiting for or reading a streamed answer.
    pub idle: Duration,
    /// Timeout of one request, including retries.
    pub timeout: Duration,
    /// Number of retries after a transient failure.
    pub retries: u32,
    /// Whether its models run on this device.
    pub on_device: bool,
    /// Limit of requests per minute; `None` for no limit.
    pub max_per_minute: Option<u32>,
    /// Limit of requests per hour; `None` for no limit.
    pub max_per_hour: Option<u32>,
    /// Store of the models without function calling; without it the endpoint records them for its
    /// lifetime.
    pub memory: Option<Arc<dyn NoToolsMemory>>,
    /// Time source.
    pub clock: Arc<dyn Clock>,
}

impl ProviderSettings {
    /// Creates default settings for a kind of provider.
    pub fn new(id: impl Into<String>, kind: ProviderKind) -> Self {
        Self {
            id: id.into(),
            kind,
            base_url: None,
            key: None,
            server: None,
            quirks: Map::new(),
            headers: Vec::new(),
            idle: IDLE,
            timeout: TIMEOUT,
            retries: RETRIES,
            on_device: false,
            max_per_minute: None,
            max_per_hour: None,
            memory: None,
            clock: Arc::new(TokioClock),
        }
    }
}

impl fmt::Debug for ProviderSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("ProviderSettings")
            .field("id", &self.id)
            .field("kind", &self.kind)
            .field("key", &self.key)
            .field("headers", &headers)
            .field("idle", &self.idle)
            .field("timeout", &self.timeout)
            .field("retries", &self.retries)
            .field("on_device", &self.on_device)
            .finish_non_exhaustive()
    }
}

/// Unusable settings. The messages are for the owner and contain no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The kind has no default URL.
    #[error(
        "provider {id} ({kind}) needs a base URL, such as http://127.0.0.1:8000/v1: give --base-url, or `base_url` in its configuration"
    )]
    NoBaseUrl {
        /// The entry.
        id: String,
        /// Its kind.
        kind: ProviderKind,
    },
    /// The base URL cannot be used.
    #[error("the base URL of provider {id} cannot be used: {problem}")]
    BadBaseUrl {
        /// The entry.
        id: String,
        /// The problem.
        problem: String,
    },
    /// The provider's own service requires a key.
    #[error(
        "provider {id} needs a key: set the environment variable {variable}, or `key` in its configuration"
    )]
    NoKey {
        /// The entry.
        id: String,
        /// The environment variable for the key.
        variable: &'static str,
    },
    /// An invalid header; its value is not repeated.
    #[error("the headers of provider {id} cannot be sent: {problem}")]
    BadHeader {
        /// The entry.
        id: String,
        /// The problem.
        problem: String,
    },
    /// An unknown quirk or an invalid value.
    #[error("the quirks of provider {id} cannot be used: {problem}")]
    BadQuirk {
        /// The entry.
        id: String,
        /// The problem.
        problem: String,
    },
}
