//! The header `Idempotency-Key`.

use axum::http::HeaderMap;
use toolcrib_core::store::KEY_CHARS;

use crate::problem::{Code, Problem};

/// Name of the header.
pub(crate) const IDEMPOTENCY_KEY_HEADER: &str = "idempotency-key";
/// Description of the header in the OpenAPI document.
pub(crate) const IDEMPOTENCY_KEY_DESCRIPTION: &str = "The idempotency key of this request, 1 to 200 characters. Repeating the request with the same content runs nothing twice and returns the first response; with other content it is a `conflict`.";

/// Returns the idempotency key of a request.
///
/// # Errors
/// `bad_request` if the request has several keys, or if the key is not plain text or is too long.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut keys = headers.get_all(IDEMPOTENCY_KEY_HEADER).iter();
    let Some(key) = keys.next() else { return Ok(None) };
    let text = key.to_str().ok().filter(|_| keys.next().is_none());
    let text = text.filter(|text| !text.trim().is_empty() && text.chars().count() <= KEY_CHARS);
    let invalid = || {
        let detail = format!("send one Idempotency-Key of 1 to {KEY_CHARS} plain characters");
        Problem::new(Code::BadRequest, detail)
    };
    text.map(|text| Some(text.to_owned())).ok_or_else(invalid)
}
