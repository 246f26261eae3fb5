//! Extractors for JSON, query and path, whose rejections are [`Problem`]s.

use std::str::FromStr;

use axum::extract::{FromRequest, FromRequestParts, Request};

use toolcrib_core::RunId;
use toolcrib_ops::{OpError, Resource};

use crate::problem::Problem;

/// A JSON body.
#[derive(FromRequest)]
#[from_request(via(axum::Json), rejection(Problem))]
pub(crate) struct Json<T>(pub(crate) T);

/// The fields of a query. Its struct should have `#[serde(deny_unknown_fields)]`, so that a
/// misspelled field is an error.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(Problem))]
pub(crate) struct Query<T>(pub(crate) T);

/// The parameters of a path.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(Problem))]
pub(crate) struct Path<T>(pub(crate) T);

/// A body of arbitrary bytes.
pub(crate) struct Bytes(pub(crate) axum::body::Bytes);

impl<S: Send + Sync> FromRequest<S> for Bytes {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        Ok(Self(axum::body::Bytes::from_request(request, state).await?))
    }
}

impl<T: serde::Serialize> axum::response::IntoResponse for Json<T> {
    fn into_response(self) -> axum::response::Response {
        axum::Json(self.0).into_response()
    }
}

/// Parses an id in a path. A malformed id is reported as not found.
pub(crate) fn parse_id<T: FromStr>(what: Resource, text: &str) -> Result<T, Problem> {
    text.parse().map_err(|_| OpError::not_found(what, text).into())
}

/// Parses the id of a run in a path.
pub(crate) fn parse_run_id(text: &str) -> Result<RunId, Problem> {
    parse_id(Resource::Run, text)
}
