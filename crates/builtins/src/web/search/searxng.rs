//! SearXNG, <https://docs.searxng.org/dev/search_api.html>.
#![deny(clippy::indexing_slicing)]

use serde::Deserialize;
use toolcrib_net::{Request, Response};

use super::backend::{Hit, Query, SearchBackend};
use crate::web::{Service, ServiceError, refusal_of};

pub(super) struct Searxng {
    pub(super) service: Service,
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<ResultRow>,
    /// Engines that did not answer, each `[name, reason]`.
    #[serde(default)]
    unresponsive_engines: Vec<Vec<String>>,
}

#[derive(Deserialize)]
struct ResultRow {
    title: Option<String>,
    url: Option<String>,
    content: Option<String>,
    #[serde(rename = "publishedDate")]
    published: Option<String>,
}

/// JSON is off by default; the instance then answers with status 403, or with its HTML page.
const NO_JSON: &str = "its JSON format is off; add `- json` below `search:` and `formats:` in its settings.yml and restart it";

impl SearchBackend for Searxng {
    fn name(&self) -> &'static str {
        "searxng"
    }

    fn service(&self) -> &Service {
        &self.service
    }

    fn request(&self, query: &Query) -> Result<Request, ServiceError> {
        let text = query.with_operators();
        let mut request =
            Request::get(self.service.url("/search", &[("q", &text), ("format", "json")]));
        request.headers.push(("Accept".to_owned(), "application/json".to_owned()));
        Ok(request)
    }

    fn hits(&self, response: &Response) -> Result<Vec<Hit>, ServiceError> {
        let is_html =
            response.head.header("content-type").is_some_and(|kind| kind.contains("text/html"));
        match refusal_of(response) {
            Some(_) if response.head.status == 403 => return Err(ServiceError::new(NO_JSON)),
            Some(refusal) => return Err(refusal),
            None if is_html => return Err(ServiceError::new(NO_JSON)),
            None => {}
        }
        let answer: Answer = super::super::request_error::json(response)?;
        if answer.results.is_empty() && !answer.unresponsive_engines.is_empty() {
            let engines: Vec<String> = answer
                .unresponsive_engines
                .iter()
                .take(5)
                .map(|engine| engine.join(": "))
                .collect();
            let reason = format!("none of its engines answered ({})", engines.join("; "));
            return Err(ServiceError::new(reason));
        }
        let hit = |found: ResultRow| {
            let ResultRow { title, url, content, published } = found;
            Hit::new(title.as_deref(), url.as_deref(), content.as_deref(), published.as_deref())
        };
        Ok(answer.results.into_iter().filter_map(hit).collect())
    }
}
