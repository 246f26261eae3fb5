//! The HTML page of DuckDuckGo, the last resort: it has no API, and blocks programs quickly.
#![deny(clippy::indexing_slicing)]

use std::time::Duration;

use dom_query::{Document, Selection};
use toolcrib_net::{Method, Request, Response};
use url::Url;

use super::backend::{Hit, Query, SearchBackend};
use crate::web::{Pace, Service, ServiceError, refusal_of};

/// Time between two queries: more frequent ones get a bot check.
pub(super) const GAP: Duration = Duration::from_secs(10);

pub(super) struct DuckDuckGo {
    pub(super) service: Service,
    pub(super) pace: Pace,
}

impl SearchBackend for DuckDuckGo {
    fn name(&self) -> &'static str {
        "duckduckgo"
    }

    fn service(&self) -> &Service {
        &self.service
    }

    fn request(&self, query: &Query) -> Result<Request, ServiceError> {
        if let Err(wait) = self.pace.reserve(Duration::ZERO) {
            return Err(ServiceError::new(format!(
                "it allows one query in {} s, the next in {} s",
                GAP.as_secs(),
                wait.as_secs() + 1
            )));
        }
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("q", &query.with_operators());
        let mut request = Request::new(Method::POST, self.service.url("/html/", &[]));
        let kind = "application/x-www-form-urlencoded".to_owned();
        request.headers.push(("Content-Type".to_owned(), kind));
        request.body = form.finish().into();
        Ok(request)
    }

    fn hits(&self, response: &Response) -> Result<Vec<Hit>, ServiceError> {
        if let Some(refusal) = refusal_of(response) {
            return Err(refusal);
        }
        let html = String::from_utf8_lossy(&response.body);
        let page = Document::from(html.as_ref());
        let results = page.select(".result");
        if !results.exists() && !page.select(".no-results, .result--no-result").exists() {
            return Err(ServiceError::new("its page has changed and cannot be read"));
        }
        Ok(results.iter().filter(is_organic).filter_map(|result| hit(&result)).collect())
    }
}

fn is_organic(result: &Selection<'_>) -> bool {
    !result.has_class("result--ad") && !result.has_class("result--no-result")
}

fn hit(result: &Selection<'_>) -> Option<Hit> {
    let link = result.select_single(".result__a");
    let href = link.attr("href")?;
    let url = target(&href);
    let snippet = result.select_single(".result__snippet").text();
    Hit::new(Some(&link.text()), Some(&url), Some(&snippet), None)
}

/// Returns the target of a link: `//duckduckgo.com/l/?uddg=ADDRESS&rut=…` leads to ADDRESS.
fn target(href: &str) -> String {
    let whole = if href.starts_with("//") { format!("https:{href}") } else { href.to_owned() };
    let url = Url::parse(&whole).ok().filter(|url| url.path() == "/l/");
    let behind = url.and_then(|url| {
        let pair = url.query_pairs().find(|(name, _)| name == "uddg")?;
        Some(pair.1.into_owned())
    });
    behind.unwrap_or(whole)
}
