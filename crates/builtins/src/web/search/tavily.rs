//! Tavily, <https://docs.tavily.com/documentation/api-reference/endpoint/search>.
#![deny(clippy::indexing_slicing)]

use serde::Deserialize;
use serde_json::json;
use toolcrib_net::{Request, Response};

use super::backend::{Hit, Query, SearchBackend};
use crate::web::{Service, ServiceError};

pub(super) struct Tavily {
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
    content: Option<String>,
    published_date: Option<String>,
}

impl SearchBackend for Tavily {
    fn name(&self) -> &'static str {
        "tavily"
    }

    fn service(&self) -> &Service {
        &self.service
    }

    fn request(&self, query: &Query) -> Result<Request, ServiceError> {
        let mut body = json!({"query": query.text, "max_results": query.num});
        if !query.sites.is_empty()
            && let Some(body) = body.as_object_mut()
        {
            body.insert("include_domains".to_owned(), json!(query.sites));
        }
        let mut request = self.service.post_json("/search", &body);
        request.headers.push(("Authorization".to_owned(), format!("Bearer {}", self.key)));
        Ok(request)
    }

    fn hits(&self, response: &Response) -> Result<Vec<Hit>, ServiceError> {
        let answer: Answer = super::super::request_error::json(response)?;
        let hit = |found: ResultRow| {
            let ResultRow { title, url, content, published_date } = found;
            let published = published_date.as_deref();
            Hit::new(title.as_deref(), url.as_deref(), content.as_deref(), published)
        };
        Ok(answer.results.into_iter().filter_map(hit).collect())
    }
}
