//! Settings of the web tools.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Settings of the web tools. The default uses public services that need no key, and no back end
/// for searches, because each needs an address or a key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebSettings {
    /// Back ends of `web_search`, in the order of use.
    pub search: Vec<SearchBackendSettings>,
    /// Weather.
    pub weather: WeatherSettings,
    /// Base address of the news service; `None`: GDELT.
    pub news: Option<String>,
    /// The place of this machine's address.
    pub location: LocationSettings,
    /// Base address of the documentation service; `None`: DevDocs.
    pub docs: Option<String>,
    /// Folder with installed documentations of DevDocs, searched first and without network.
    pub docs_folder: Option<PathBuf>,
}

/// Services of `get_weather`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WeatherSettings {
    /// Base address of the forecast; `None`: Open-Meteo.
    pub forecast: Option<String>,
    /// Base address of the search for places; `None`: Open-Meteo.
    pub geocoding: Option<String>,
    /// Base address of the service that is used if the first one returns no forecast; `None`: MET
    /// Norway.
    pub fallback: Option<String>,
    /// Units; `None`: those of the locale.
    pub units: Option<Units>,
}

/// Units of measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Units {
    /// °C, km/h, mm.
    Metric,
    /// °F, mph, inch.
    Imperial,
}

impl Units {
    /// Returns the units that people of this locale use: imperial ones in the United States,
    /// Liberia and Myanmar.
    #[must_use]
    pub fn of_locale(locale: Option<&str>) -> Self {
        let region = locale.and_then(|locale| locale.rsplit('-').next());
        match region {
            Some("US" | "LR" | "MM") => Self::Imperial,
            _ => Self::Metric,
        }
    }
}

impl FromStr for Units {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "metric" => Ok(Self::Metric),
            "imperial" => Ok(Self::Imperial),
            _ => Err(format!("`{name}` is not `metric` or `imperial`")),
        }
    }
}

/// Services of `get_location_from_ip`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LocationSettings {
    /// Addresses that return the place in JSON, in the order of use; `None`: the public services.
    pub services: Option<Vec<String>>,
    /// A database of places in the MaxMind format, for addresses in a call.
    pub database: Option<PathBuf>,
}

impl WebSettings {
    /// Returns the keys, so that secrets of the vault can replace their names.
    pub fn keys_mut(&mut self) -> impl Iterator<Item = &mut ApiKey> {
        self.search.iter_mut().filter_map(|backend| backend.key.as_mut())
    }
}

/// One back end of `web_search`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchBackendSettings {
    /// The service.
    pub kind: SearchBackendKind,
    /// Base address; `None`: that of the public service. SearXNG has none, so it needs an address.
    pub url: Option<String>,
    /// The key of the service.
    pub key: Option<ApiKey>,
    /// Id of the search engine (`cx`), for Google only.
    pub engine: Option<String>,
}

impl SearchBackendSettings {
    /// Creates a back end with the address of its public service and without a key.
    #[must_use]
    pub fn new(kind: SearchBackendKind) -> Self {
        Self { kind, url: None, key: None, engine: None }
    }
}

/// The services that `web_search` supports.
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
    /// All back ends, in the order in which configured ones are used if the configuration sets no
    /// order. DuckDuckGo is used only if the configuration names it.
    pub const ALL: [Self; 6] =
        [Self::Searxng, Self::Brave, Self::Tavily, Self::Exa, Self::Google, Self::DuckDuckGo];

    /// Returns the name in the configuration and in results.
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
            format!("`{name}` is not a search back end, known are {names}")
        })
    }
}

/// The key of a service.
#[derive(Clone, PartialEq, Eq)]
pub enum ApiKey {
    /// The key itself.
    Value(String),
    /// Name of a secret of the vault, until the secret replaces it.
    Secret(String),
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(_) => f.write_str("[hidden]"),
            Self::Secret(name) => write!(f, "secret {name}"),
        }
    }
}
