//! What an owner says of a provider, and what can be wrong with it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::clock::{Clock, TokioClock};
use super::key::ApiKey;
use super::kind::ProviderKind;
use crate::quirks::Server;

/// Longest silence of a provider, when nothing else is configured. Reasoning models think for a minute without a word.
pub const IDLE: Duration = Duration::from_secs(120);
/// Longest time of one request with its retries, when nothing else is configured: what the official SDKs wait.
pub const TIMEOUT: Duration = Duration::from_secs(600);
/// Times that a failed request is sent again, when nothing else is configured (SPEC 1.7).
pub const RETRIES: u32 = 2;

/// Remembers, beyond this process, which models take no tools.
pub trait ToolMemory: Send + Sync {
    /// Whether this model of this provider refused tools.
    fn no_tools(&self, provider: &str, model: &str) -> bool;

    /// It refused them.
    fn remember(&self, provider: &str, model: &str);
}

/// A provider, as the owner configured it.
#[derive(Clone)]
pub struct ProviderSettings {
    /// Name of the entry, shown to people: the id of the kind, or a name of the owner's.
    pub id: String,
    /// How it is spoken to.
    pub kind: ProviderKind,
    /// Where it is; `None` = where the kind's own service is. `…/v1` for kinds like OpenAI, the host for the others.
    pub base_url: Option<String>,
    /// Its key.
    pub key: Option<ApiKey>,
    /// Whose quirks it has, when neither kind nor host tells.
    pub server: Option<Server>,
    /// Single quirks that differ, by name ([`crate::quirks::Quirks::with`]).
    pub quirks: Map<String, Value>,
    /// Headers to send besides; one of a name that is sent anyway replaces it. Their values are treated as secrets.
    pub headers: Vec<(String, String)>,
    /// Longest silence while a streamed answer is awaited or read.
    pub idle: Duration,
    /// Longest time of one request, its retries included.
    pub timeout: Duration,
    /// Times that a request is sent again after a passing failure.
    pub retries: u32,
    /// Whether its models run on this device.
    pub on_device: bool,
    /// Most requests a minute that the owner wants; `None` = any number.
    pub max_per_minute: Option<u32>,
    /// Most requests an hour that the owner wants; `None` = any number.
    pub max_per_hour: Option<u32>,
    /// Remembers which models take no tools; without one the endpoint itself does, as long as it lives.
    pub memory: Option<Arc<dyn ToolMemory>>,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
}

impl ProviderSettings {
    /// The settings of a provider of which only the kind is known.
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

/// Settings with which no provider can be asked. The texts are for the owner; no key is in them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LiveError {
    /// The kind has no service of its own.
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
        /// What is wrong.
        problem: String,
    },
    /// The provider's own service answers nobody without a key.
    #[error(
        "provider {id} needs a key: set the environment variable {variable}, or `key` in its configuration"
    )]
    NoKey {
        /// The entry.
        id: String,
        /// The environment variable that would hold it.
        variable: &'static str,
    },
    /// A header that cannot be sent; its value is not repeated.
    #[error("the headers of provider {id} cannot be sent: {problem}")]
    BadHeader {
        /// The entry.
        id: String,
        /// What is wrong.
        problem: String,
    },
    /// A quirk that does not exist, or a value that does not fit it.
    #[error("the quirks of provider {id} cannot be used: {problem}")]
    BadQuirk {
        /// The entry.
        id: String,
        /// What is wrong.
        problem: String,
    },
}
