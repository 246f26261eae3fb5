//! The trait of search back ends, queries and hits.
#![deny(clippy::indexing_slicing)]

use toolcrib_net::{Request, Response};

use crate::web::{Service, ServiceError};

/// Longest snippet of a hit, in characters.
const MAX_SNIPPET: usize = 500;
/// Longest title of a hit, in characters.
const MAX_TITLE: usize = 200;

/// A search query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Query {
    /// The search words.
    pub(crate) text: String,
    /// Number of results.
    pub(crate) num: usize,
    /// Hosts, with an optional path, to which results are restricted; empty for all.
    pub(crate) sites: Vec<&'static str>,
}

impl Query {
    /// Returns the words with a `site:` operator per site, for services without a parameter for
    /// sites.
    pub(super) fn with_operators(&self) -> String {
        if self.sites.is_empty() {
            return self.text.clone();
        }
        let sites: Vec<String> = self.sites.iter().map(|site| format!("site:{site}")).collect();
        format!("{} ({})", self.text, sites.join(" OR "))
    }

    /// Returns the hosts of the sites.
    pub(super) fn hosts(&self) -> Vec<&'static str> {
        self.sites.iter().map(|site| site.split('/').next().unwrap_or(site)).collect()
    }

    /// Returns whether a result belongs to the requested sites.
    pub(super) fn admits(&self, url: &str) -> bool {
        let Some((_, place)) = url.split_once("://") else { return false };
        let place = place.strip_prefix("www.").unwrap_or(place);
        self.sites.is_empty()
            || self.sites.iter().any(|site| {
                let rest = place.strip_prefix(site).or_else(|| {
                    let (before, rest) = place.split_once(site)?;
                    (before.ends_with('.') && !before.contains('/')).then_some(rest)
                });
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#', ':']))
            })
    }
}

/// One result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) snippet: String,
    /// Date of the page in the form of the service.
    pub(crate) published: Option<String>,
}

impl Hit {
    /// Creates a hit with plain, bounded text; `None` if its address is not a web address.
    pub(super) fn new(
        title: Option<&str>,
        url: Option<&str>,
        snippet: Option<&str>,
        published: Option<&str>,
    ) -> Option<Self> {
        let url = url?.trim();
        if !(url.starts_with("http://") || url.starts_with("https://")) {
            return None;
        }
        let title = plain(title.unwrap_or_default(), MAX_TITLE);
        Some(Self {
            title: if title.is_empty() { url.to_owned() } else { title },
            url: url.to_owned(),
            snippet: plain(snippet.unwrap_or_default(), MAX_SNIPPET),
            published: published.map(str::trim).filter(|day| !day.is_empty()).map(str::to_owned),
        })
    }
}

/// Returns text on one line without highlighting markup, at most `chars` long.
fn plain(text: &str, chars: usize) -> String {
    let mut out = text.to_owned();
    for (mark, plain) in [
        ("<strong>", ""),
        ("</strong>", ""),
        ("<b>", ""),
        ("</b>", ""),
        ("<em>", ""),
        ("</em>", ""),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ] {
        if out.contains(mark) {
            out = out.replace(mark, plain);
        }
    }
    let line = out.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default().trim_end()),
        None => line,
    }
}

/// A search service: creates its requests and parses its responses. Both are pure functions.
pub(crate) trait SearchBackend: Send + Sync {
    /// Returns the name in the configuration.
    fn name(&self) -> &'static str;

    /// Returns the service.
    fn service(&self) -> &Service;

    /// Creates a request.
    ///
    /// # Errors
    /// A missing part of its configuration.
    fn request(&self, query: &Query) -> Result<Request, ServiceError>;

    /// Parses the hits of a response.
    ///
    /// # Errors
    /// Why the response has no hits: a refusal, a captcha, another format.
    fn hits(&self, response: &Response) -> Result<Vec<Hit>, ServiceError>;
}
