//! Google Custom Search JSON API, <https://developers.google.com/custom-search/v1/overview>. It is
//! closed to new customers and ends on 2027-01-01.
#![deny(clippy::indexing_slicing)]

use serde::Deserialize;
use toolcrib_net::{Request, Response};

use super::backend::{Hit, Query, SearchBackend};
use crate::web::{Service, ServiceError};

pub(super) struct Google {
    pub(super) service: Service,
    pub(super) key: String,
    /// Id of the search engine.
    pub(super) engine: String,
}

#[derive(Deserialize)]
struct Answer {
    /// Missing if nothing was found.
    #[serde(default)]
    items: Vec<ResultRow>,
}

#[derive(Deserialize)]
struct ResultRow {
    title: Option<String>,
    link: Option<String>,
    snippet: Option<String>,
}

impl SearchBackend for Google {
    fn name(&self) -> &'static str {
        "google"
    }

    fn service(&self) -> &Service {
        &self.service
    }

    fn request(&self, query: &Query) -> Result<Request, ServiceError> {
        let (text, num) = (query.with_operators(), query.num.to_string());
        let query = [("cx", self.engine.as_str()), ("q", &text), ("num", &num)];
        let mut request = Request::get(self.service.url("/customsearch/v1", &query));
        // Send the key in a header, because errors and logs contain addresses.
        request.headers.push(("X-Goog-Api-Key".to_owned(), self.key.clone()));
        Ok(request)
    }

    fn hits(&self, response: &Response) -> Result<Vec<Hit>, ServiceError> {
        let answer: Answer = super::super::request_error::json(response)?;
        let hit = |found: ResultRow| {
            let ResultRow { title, link, snippet } = found;
            Hit::new(title.as_deref(), link.as_deref(), snippet.as_deref(), None)
        };
        Ok(answer.items.into_iter().filter_map(hit).collect())
    }
}
