//! Settings of the web tools.

use std::fmt;
use std::str::FromStr;

/// Settings of the web tools. The default uses public services that need no key, and no back end
/// for searches, because each of them needs an address or a key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebSettings {
    /// Back ends of `web_search`, in the order in which they are asked.
    pub search: Vec<SearchBackendSettings>,
}

/// One back end of `web_search`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchBackendSettings {
    /// The service.
    pub kind: SearchBackendKind,
    /// Base address; `None`: that of the public service. SearXNG has none and needs it.
    pub url: Option<String>,
    /// The key of the service.
    pub key: Option<ApiKey>,
    /// Id of the search engine (`cx`), for Google only.
    pub engine: Option<String>,
}

impl SearchBackendSettings {
    /// A back end with the address of its public service and without a key.
    #[must_use]
    pub fn new(kind: SearchBackendKind) -> Self {
        Self { kind, url: None, key: None, engine: None }
    }
}

/// The services that `web_search` can ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SearchBackendKind {
    /// A SearXNG instance.
    Searxng,
    /// Brave Search API.
    Brave,
    /// Tavily.
    Tavily,
    /// Exa.
    Exa,
    /// Google Custom Search JSON API.
    Google,
    /// The HTML page of DuckDuckGo, which has no API and blocks programs quickly.
    DuckDuckGo,
}

impl SearchBackendKind {
    /// All back ends, in the order in which configured ones are asked if the configuration gives
    /// no order. DuckDuckGo is only asked when it is named.
    pub const ALL: [Self; 6] =
        [Self::Searxng, Self::Brave, Self::Tavily, Self::Exa, Self::Google, Self::DuckDuckGo];

    /// Name in the configuration and in results.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Searxng => "searxng",
            Self::Brave => "brave",
            Self::Tavily => "tavily",
            Self::Exa => "exa",
            Self::Google => "google",
            Self::DuckDuckGo => "duckduckgo",
        }
    }
}

impl FromStr for SearchBackendKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::as_str).join(", ");
            format!("`{name}` is no search back end, known are {names}")
        })
    }
}

/// The key of a service.
#[derive(Clone, PartialEq, Eq)]
pub enum ApiKey {
    /// The key itself.
    Value(String),
    /// Name of a secret of the vault that is not there.
    Missing(String),
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(_) => f.write_str("[hidden]"),
            Self::Missing(name) => write!(f, "secret {name}"),
        }
    }
}
