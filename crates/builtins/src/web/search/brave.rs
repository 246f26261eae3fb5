//! Brave Search API, <https://api-dashboard.search.brave.com/app/documentation/web-search>.
#![deny(clippy::indexing_slicing)]

use serde::Deserialize;
use toolcrib_net::{Request, Response};

use super::backend::{Hit, Query, SearchBackend};
use crate::web::{Service, ServiceError};

pub(super) struct Brave {
    pub(super) service: Service,
    pub(super) key: String,
}

#[derive(Deserialize)]
struct Answer {
    /// Missing if nothing was found.
    web: Option<Web>,
}

#[derive(Deserialize)]
struct Web {
    results: Vec<ResultRow>,
}

#[derive(Deserialize)]
struct ResultRow {
    title: Option<String>,
    url: Option<String>,
    description: Option<String>,
    page_age: Option<String>,
}

impl SearchBackend for Brave {
    fn name(&self) -> &'static str {
        "brave"
    }

    fn service(&self) -> &Service {
        &self.service
    }

    fn request(&self, query: &Query) -> Result<Request, ServiceError> {
        let (text, count) = (query.with_operators(), query.num.to_string());
        let query = [("q", text.as_str()), ("count", &count), ("text_decorations", "false")];
        let mut request = Request::get(self.service.url("/res/v1/web/search", &query));
        request.headers.push(("Accept".to_owned(), "application/json".to_owned()));
        request.headers.push(("X-Subscription-Token".to_owned(), self.key.clone()));
        Ok(request)
    }

    fn hits(&self, response: &Response) -> Result<Vec<Hit>, ServiceError> {
        let answer: Answer = super::super::request_error::json(response)?;
        let found = answer.web.map(|web| web.results).unwrap_or_default();
        let hit = |found: ResultRow| {
            let ResultRow { title, url, description, page_age } = found;
            Hit::new(title.as_deref(), url.as_deref(), description.as_deref(), page_age.as_deref())
        };
        Ok(found.into_iter().filter_map(hit).collect())
    }
}
