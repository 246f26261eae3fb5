//! The limit on the length of a request body (`[server] body_bytes`).

use axum::body::HttpBody as _;
use axum::extract::{DefaultBodyLimit, Request};

use crate::problem::{Code, Problem};

/// Returns a layer that stops reading a body at this length, for bodies that do not announce their
/// length.
pub(super) fn for_unknown_lengths(limit: usize) -> DefaultBodyLimit {
    DefaultBodyLimit::max(limit)
}

/// Refuses a body by its `Content-Length`, without reading it.
pub(super) fn check_length(limit: usize, request: &Request) -> Result<(), Problem> {
    match request.body().size_hint().lower() {
        length if length > limit as u64 => {
            Err(Problem::new(Code::TooLarge, format!("a body has at most {limit} bytes")))
        }
        _ => Ok(()),
    }
}
