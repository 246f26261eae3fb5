//! Response headers that restrict how browsers use a response.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// Content security policy of responses that are not pages.
const DENY_ALL: &str = "default-src 'none'; frame-ancestors 'none'";

/// Headers that replace those of the route.
const ALWAYS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Headers that a route may override.
const DEFAULTS: [(HeaderName, &str); 3] = [
    (header::CONTENT_SECURITY_POLICY, DENY_ALL),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_FRAME_OPTIONS, "DENY"),
];

/// Sets the headers.
pub(super) fn set_security_headers(headers: &mut HeaderMap) {
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in DEFAULTS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}
