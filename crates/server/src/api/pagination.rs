//! Lists in pages, and responses that are sent only if they have changed.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toolcrib_core::canonical_json;
use toolcrib_ops::ExpectedVersion;

use crate::problem::{Code, Problem};

/// Default number of rows of a page.
const DEFAULT_ROWS: usize = 50;
/// Maximum number of rows of a page.
const MAX_ROWS: usize = 500;

/// A part of a list.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub(crate) struct Page<T> {
    /// The rows.
    pub(crate) items: Vec<T>,
    /// The `cursor` of the next page; absent = this is the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

impl<T> Page<T> {
    /// Returns all rows as one page.
    pub(crate) fn single_page(items: Vec<T>) -> Self {
        Self { items, next: None }
    }

    /// Builds a page from the first `limit` of these rows; the caller reads one more row to detect
    /// a next page. `place` is the position of a row in the list.
    pub(crate) fn from_rows<P: Serialize>(
        mut items: Vec<T>,
        limit: usize,
        list: &str,
        place: impl FnOnce(&T) -> P,
    ) -> Self {
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| cursor(list, &place(last)));
        Self { items, next }
    }
}

/// The requested page. `#[serde(flatten)]` disables `deny_unknown_fields`, so queries with
/// more fields repeat these two.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PageQuery {
    /// The maximum number of rows, 1 to 500; default 50.
    #[schemars(range(min = 1, max = 500))]
    pub(crate) limit: Option<usize>,
    /// The `next` of the previous page.
    pub(crate) cursor: Option<String>,
}

impl PageQuery {
    /// Returns the requested number of rows.
    ///
    /// # Errors
    /// A number outside of 1 to 500.
    pub(crate) fn page_size(limit: Option<usize>) -> Result<usize, Problem> {
        match limit {
            None => Ok(DEFAULT_ROWS),
            Some(rows @ 1..=MAX_ROWS) => Ok(rows),
            Some(_) => Err(Problem::invalid(format!("limit is from 1 to {MAX_ROWS}"))),
        }
    }
}

/// Encodes a position in a list as opaque text that only the same list accepts.
pub(crate) fn cursor(list: &str, place: &impl Serialize) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&(list, place)).unwrap_or_default())
}

/// Parses a cursor of this list.
///
/// # Errors
/// A cursor of another list, or one that is malformed.
pub(crate) fn parse_cursor<P: DeserializeOwned>(
    list: &str,
    text: Option<&str>,
) -> Result<Option<P>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let wrong = || {
        Problem::new(Code::BadCursor, "the cursor is not one of this list; start again without one")
    };
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| wrong())?;
    let (of, place): (String, P) = serde_json::from_slice(&bytes).map_err(|_| wrong())?;
    if of == list { Ok(Some(place)) } else { Err(wrong()) }
}

/// Returns the `ETag` of a text: a hash.
pub(crate) fn etag(text: &str) -> String {
    format!("\"{}\"", canonical_json::sha256_parts(&[text]).get(..32).unwrap_or_default())
}

/// Responds with JSON and an `ETag`, or with 304 if the client already has this response.
pub(crate) fn etag_response(request: &HeaderMap, body: &impl Serialize) -> Response {
    let Ok(text) = serde_json::to_string(body) else {
        return Problem::new(Code::Internal, "the response cannot be serialized").into_response();
    };
    let tag = etag(&text);
    let Ok(tag_value) = HeaderValue::from_str(&tag) else {
        return Problem::new(Code::Internal, "the response cannot be tagged").into_response();
    };
    if etag_matches(request.get(header::IF_NONE_MATCH), &tag) {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, tag_value)]).into_response();
    }
    let json = HeaderValue::from_static("application/json");
    ([(header::ETAG, tag_value), (header::CONTENT_TYPE, json)], text).into_response()
}

/// Adds an `ETag` to a response.
pub(crate) fn with_etag(mut response: Response, tag: Option<String>) -> Response {
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&tag).ok()) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// Returns whether a list of tags (`If-Match`, `If-None-Match`) contains this one.
pub(crate) fn etag_matches(given: Option<&HeaderValue>, tag: &str) -> bool {
    let Some(given) = given.and_then(|value| value.to_str().ok()) else { return false };
    given
        .split(',')
        .map(|one| one.trim().trim_start_matches("W/"))
        .any(|one| one == tag || one == "*")
}

/// Returns the version that the request expects to change, from `If-Match` and `If-None-Match: *`.
pub(crate) fn expected_version<'a>(
    headers: &HeaderMap,
    matches: &'a (dyn Fn(&str) -> bool + Sync),
) -> ExpectedVersion<'a> {
    if headers.get(header::IF_NONE_MATCH).is_some_and(|value| value == "*") {
        return ExpectedVersion::New;
    }
    match headers.get(header::IF_MATCH) {
        Some(_) => ExpectedVersion::Matching(matches),
        None => ExpectedVersion::Unnamed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_valid_for_its_own_list_only() {
        let text = cursor("calls", &("call_1", 7));
        let place: Option<(String, u32)> = parse_cursor("calls", Some(&text)).unwrap();
        assert_eq!(place, Some(("call_1".to_owned(), 7)));
        assert!(parse_cursor::<(String, u32)>("runs", Some(&text)).is_err());
        assert!(parse_cursor::<u32>("calls", Some(&text)).is_err());
        for wrong in ["", "!", "AAAA", "bnVsbA"] {
            assert!(parse_cursor::<u32>("calls", Some(wrong)).is_err(), "{wrong:?}");
        }
        assert_eq!(parse_cursor::<u32>("calls", None).unwrap(), None);
    }

    #[test]
    fn a_full_page_has_the_cursor_of_the_next_one() {
        let page = Page::from_rows(vec![1, 2, 3], 2, "l", |last| *last);
        assert_eq!(page.items, [1, 2]);
        assert_eq!(parse_cursor("l", page.next.as_deref()).unwrap(), Some(2));
        assert!(Page::from_rows(vec![1, 2], 2, "l", |last| *last).next.is_none());
    }

    #[test]
    fn an_unchanged_response_is_not_sent_again() {
        let first = etag_response(&HeaderMap::new(), &[1, 2]);
        let tag = first.headers()[header::ETAG].clone();
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_NONE_MATCH, tag);
        assert_eq!(etag_response(&headers, &[1, 2]).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(etag_response(&headers, &[1, 3]).status(), StatusCode::OK);
    }
}
