//! Exa, <https://exa.ai/docs/reference/search>.
#![deny(clippy::indexing_slicing)]

use serde::Deserialize;
use serde_json::json;
use toolcrib_net::{Request, Response};

use super::backend::{Hit, Query, SearchBackend};
use crate::web::{Service, ServiceError};

pub(super) struct Exa {
    pub(super) service: Service,
    pub(super) key: String,
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<ResultRow>,
}

#[derive(Deserialize)]
struct ResultRow {
    title: Option<String>,
    url: Option<String>,
    #[serde(default)]
    highlights: Vec<String>,
    text: Option<String>,
    #[serde(rename = "publishedDate")]
    published: Option<String>,
}

impl SearchBackend for Exa {
    fn name(&self) -> &'static str {
        "exa"
    }

    fn service(&self) -> &Service {
        &self.service
    }

    fn request(&self, query: &Query) -> Result<Request, ServiceError> {
        let contents = json!({"highlights": true});
        let mut body = json!({"query": query.text, "numResults": query.num, "contents": contents});
        if !query.sites.is_empty()
            && let Some(body) = body.as_object_mut()
        {
            body.insert("includeDomains".to_owned(), json!(query.hosts()));
        }
        let mut request = self.service.post_json("/search", &body);
        request.headers.push(("x-api-key".to_owned(), self.key.clone()));
        Ok(request)
    }

    fn hits(&self, response: &Response) -> Result<Vec<Hit>, ServiceError> {
        let answer: Answer = super::super::request_error::json(response)?;
        let hit = |found: ResultRow| {
            let ResultRow { title, url, highlights, text, published } = found;
            let snippet = highlights.first().cloned().or(text);
            Hit::new(title.as_deref(), url.as_deref(), snippet.as_deref(), published.as_deref())
        };
        Ok(answer.results.into_iter().filter_map(hit).collect())
    }
}
