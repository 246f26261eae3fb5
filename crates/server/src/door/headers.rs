//! What every answer tells browsers, so that no page of somebody else makes anything of it.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// What an answer that is no page may do in a browser: nothing.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// Headers that always hold, whatever a route says.
const ALWAYS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Headers that a route may have said otherwise.
const UNLESS_SAID: [(HeaderName, &str); 2] =
    [(header::CONTENT_SECURITY_POLICY, NOTHING), (header::CACHE_CONTROL, "no-store")];

/// Adds them.
pub(super) fn secure(headers: &mut HeaderMap) {
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in UNLESS_SAID {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}
