//! `[web]`: the services of the web tools.
#![deny(clippy::indexing_slicing)]

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, de};
use toolcrib_builtins::web::{
    ApiKey, LocationSettings, SearchBackendKind, SearchBackendSettings, Units, WeatherSettings,
    WebSettings,
};
use toolcrib_store::vault::SecretName;

use crate::config::text_or_secret::TextOrSecret;

/// `[web]`
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WebSection {
    /// Search backends in order; default: all configured ones, without DuckDuckGo.
    #[serde(deserialize_with = "back_ends")]
    search: Option<Vec<SearchBackendKind>>,
    searxng: ServiceSection,
    brave: ServiceSection,
    tavily: ServiceSection,
    exa: ServiceSection,
    google: GoogleSection,
    duckduckgo: AddressSection,
    weather: WeatherSection,
    news: AddressSection,
    location: LocationSection,
    docs: DocsSection,
}

/// `[web.brave]` and the like.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ServiceSection {
    #[serde(deserialize_with = "address")]
    url: Option<String>,
    key: Option<TextOrSecret>,
}

/// `[web.google]`
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct GoogleSection {
    #[serde(deserialize_with = "address")]
    url: Option<String>,
    key: Option<TextOrSecret>,
    /// Id of the search engine (`cx`).
    engine: Option<String>,
}

/// `[web.news]` and the like.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct AddressSection {
    #[serde(deserialize_with = "address")]
    url: Option<String>,
}

/// `[web.docs]`
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct DocsSection {
    #[serde(deserialize_with = "address")]
    url: Option<String>,
    folder: Option<PathBuf>,
}

/// `[web.weather]`
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WeatherSection {
    #[serde(deserialize_with = "address")]
    url: Option<String>,
    #[serde(deserialize_with = "address")]
    geocoding: Option<String>,
    #[serde(deserialize_with = "address")]
    fallback: Option<String>,
    #[serde(deserialize_with = "parsed")]
    units: Option<Units>,
}

/// `[web.location]`
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct LocationSection {
    #[serde(deserialize_with = "addresses")]
    services: Option<Vec<String>>,
    database: Option<PathBuf>,
}

impl WebSection {
    /// Returns every key with its service.
    fn keys(&self) -> impl Iterator<Item = (&'static str, &TextOrSecret)> {
        let keys = [
            ("brave", &self.brave.key),
            ("tavily", &self.tavily.key),
            ("exa", &self.exa.key),
            ("searxng", &self.searxng.key),
            ("google", &self.google.key),
        ];
        keys.into_iter().filter_map(|(name, key)| Some((name, key.as_ref()?)))
    }

    fn backend(&self, kind: SearchBackendKind) -> SearchBackendSettings {
        let of = |section: &ServiceSection| (section.url.clone(), section.key.clone(), None);
        let (url, key, engine) = match kind {
            SearchBackendKind::Searxng => of(&self.searxng),
            SearchBackendKind::Brave => of(&self.brave),
            SearchBackendKind::Tavily => of(&self.tavily),
            SearchBackendKind::Exa => of(&self.exa),
            SearchBackendKind::Google => {
                let GoogleSection { url, key, engine } = &self.google;
                (url.clone(), key.clone(), engine.clone())
            }
            SearchBackendKind::DuckDuckGo => (self.duckduckgo.url.clone(), None, None),
        };
        SearchBackendSettings { kind, url, key: key.as_ref().map(api_key), engine }
    }

    /// Returns the backends in order.
    fn search(&self) -> Vec<SearchBackendSettings> {
        let is_set = |kind: &SearchBackendKind| {
            let backend = self.backend(*kind);
            match kind {
                SearchBackendKind::Searxng => backend.url.is_some(),
                SearchBackendKind::DuckDuckGo => false,
                _ => backend.key.is_some(),
            }
        };
        let named = self.search.clone();
        let kinds =
            named.unwrap_or_else(|| SearchBackendKind::ALL.into_iter().filter(is_set).collect());
        kinds.into_iter().map(|kind| self.backend(kind)).collect()
    }
}

impl WebSection {
    /// Returns the settings of the web tools' services. `resolve` makes a path of the file
    /// absolute.
    pub(super) fn settings(&self, resolve: impl Fn(&Path) -> PathBuf) -> WebSettings {
        let Self { weather, news, location, docs, .. } = self;
        WebSettings {
            search: self.search(),
            weather: WeatherSettings {
                forecast: weather.url.clone(),
                geocoding: weather.geocoding.clone(),
                fallback: weather.fallback.clone(),
                units: weather.units,
            },
            news: news.url.clone(),
            location: LocationSettings {
                services: location.services.clone(),
                database: location.database.as_deref().map(&resolve),
            },
            docs: docs.url.clone(),
            docs_folder: docs.folder.as_deref().map(resolve),
        }
    }

    /// Returns keys that are written in the file.
    pub(super) fn literal_keys(&self) -> impl Iterator<Item = &str> {
        self.keys().filter_map(|(_, key)| match key {
            TextOrSecret::Literal(key) => Some(key.0.as_str()),
            TextOrSecret::Secret(_) => None,
        })
    }

    /// Returns the services whose key is in the vault, with its name.
    pub(super) fn vault_keys(&self) -> impl Iterator<Item = (String, &SecretName)> {
        self.keys().filter_map(|(name, key)| match key {
            TextOrSecret::Secret(secret) => Some((format!("web.{name}"), secret)),
            TextOrSecret::Literal(_) => None,
        })
    }
}

fn api_key(key: &TextOrSecret) -> ApiKey {
    match key {
        TextOrSecret::Literal(key) => ApiKey::Value(key.0.clone()),
        TextOrSecret::Secret(name) => ApiKey::Secret(name.to_string()),
    }
}

/// Checks a base address: http or https, without a query.
fn check_address(url: &str) -> Result<(), String> {
    let host = url.split_once("://").map(|(_, rest)| rest.split(['/', ':']).next());
    let has_host = host.flatten().is_some_and(|host| !host.is_empty());
    let fits = url.starts_with("http://") || url.starts_with("https://");
    if fits && !url.contains(['?', '#', ' ']) && has_host {
        return Ok(());
    }
    Err(format!("`{url}` is not an address such as https://search.example.org"))
}

fn address<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    let url = String::deserialize(d)?;
    check_address(&url).map(|()| Some(url)).map_err(de::Error::custom)
}

fn addresses<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Vec<String>>, D::Error> {
    let urls = Vec::<String>::deserialize(d)?;
    urls.iter().try_for_each(|url| check_address(url)).map_err(de::Error::custom)?;
    Ok(Some(urls))
}

fn parsed<'de, D: Deserializer<'de>, T: std::str::FromStr<Err = String>>(
    d: D,
) -> Result<Option<T>, D::Error> {
    String::deserialize(d)?.parse().map(Some).map_err(de::Error::custom)
}

fn back_ends<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Vec<SearchBackendKind>>, D::Error> {
    let names = Vec::<String>::deserialize(d)?;
    let kinds: Result<Vec<SearchBackendKind>, String> =
        names.iter().map(|name| name.parse()).collect();
    kinds.map(Some).map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::config::environment::Env;
    use crate::config::loader::parse;

    fn read(text: &str) -> Result<Config, String> {
        parse(Path::new("/c/config.toml"), text).map_err(|error| error.message)
    }

    #[test]
    fn back_ends_are_asked_in_the_order_of_the_file() {
        let kinds = |text: &str| {
            let web = read(text).unwrap().web_settings(&Env::default());
            web.search.iter().map(|one| one.kind.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(kinds(""), [""; 0]);
        let keys = "[web.tavily]\nkey = \"t\"\n[web.searxng]\nurl = \"http://localhost:8888\"\n[web.brave]\nkey = { secret = \"brave\" }\n";
        assert_eq!(kinds(keys), ["searxng", "brave", "tavily"]);
        let ordered = format!("[web]\nsearch = [\"tavily\", \"duckduckgo\"]\n{keys}");
        assert_eq!(kinds(&ordered), ["tavily", "duckduckgo"]);
        let config = read(&ordered).unwrap();
        assert_eq!(config.literal_service_keys().collect::<Vec<_>>(), ["t"]);
        let vault: Vec<String> =
            config.vault_service_keys().map(|(user, name)| format!("{user} {name}")).collect();
        assert_eq!(vault, ["web.brave brave"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, expected) in [
            ("[web]\nsearch = [\"bing\"]\n", "`bing` is not a search back end"),
            ("[web.searxng]\nurl = \"search.example.org\"\n", "is not an address such as"),
            ("[web.searxng]\nurl = \"http://\"\n", "is not an address such as"),
            ("[web.weather]\nunits = \"kelvin\"\n", "is not `metric` or `imperial`"),
            ("[web.brave]\ntoken = \"x\"\n", "known are"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn everything_else_is_read() {
        let text = "[web.weather]\nurl = \"https://w.example\"\nunits = \"imperial\"\n[web.location]\nservices = [\"https://ip.example/json\"]\ndatabase = \"city.mmdb\"\n";
        let config = read(text).unwrap();
        let web = config.web_settings(&Env::default());
        assert_eq!(web.weather.units, Some(Units::Imperial));
        assert_eq!(web.location.database, Some("/c/city.mmdb".into()));
    }
}
