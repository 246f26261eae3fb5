//! Redirect rules as pure functions: how a redirect changes a request.
#![deny(clippy::indexing_slicing)]

use bytes::Bytes;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE,
    HeaderMap, HeaderName, USER_AGENT,
};
use hyper::{Method, StatusCode};

use crate::address_policy::AddressPolicy;
use crate::deny_rule::{ConnectionDenied, Rule};
use crate::http_message::Follow;
use crate::url_check::{Target, check_text, check_url};

/// Headers of the caller that may be sent to another origin. Any other header may be a credential,
/// regardless of its name.
const CROSS_ORIGIN_HEADERS: [HeaderName; 5] =
    [ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONTENT_TYPE, USER_AGENT];

/// The part of a request that a redirect can change.
#[derive(Clone, Debug)]
pub(crate) struct RedirectedRequest {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Returns whether a response with this status is followed for this method.
pub(crate) fn is_followed(status: StatusCode, method: &Method, follow: Follow) -> bool {
    let redirects = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
    redirects
        && match follow {
            Follow::Never => false,
            Follow::Safe => is_safe(method),
            Follow::Every => true,
        }
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Returns the target of a redirect, checked like any URL; headers and body that must not reach it
/// are removed from the request.
///
/// # Errors
/// The rule that denies the next hop, with the origin that redirected.
pub(crate) fn next_hop(
    from: &Target,
    status: StatusCode,
    location: &str,
    request: &mut RedirectedRequest,
    policy: &AddressPolicy,
) -> Result<Target, ConnectionDenied> {
    let via = |denied: ConnectionDenied| denied.redirected_from(from.origin());
    let to = join(from, location, policy).map_err(via)?;
    if from.is_https() && !to.is_https() {
        return Err(via(ConnectionDenied::new(Rule::RedirectDowngrade, to.authority())));
    }
    request.adapt_method(status);
    if !from.same_origin(&to) {
        if !is_safe(&request.method) {
            return Err(via(ConnectionDenied::new(Rule::RedirectUnsafe, to.authority())));
        }
        request.drop_body();
        request.drop_credentials();
    }
    Ok(to)
}

/// Resolves a `Location` against the URL that sent it (RFC 3986 section 5) and checks the result.
fn join(from: &Target, location: &str, policy: &AddressPolicy) -> Result<Target, ConnectionDenied> {
    let malformed = || ConnectionDenied::new(Rule::UrlMalformed, "redirect");
    let joined =
        from.url().join(location).map_err(|error| malformed().with_detail(error.to_string()))?;
    if location.contains(['\\', '\t']) {
        return Err(malformed().with_detail("it holds control characters or backslashes"));
    }
    // An absolute location is checked as written, because joining would repair it.
    if url::Url::parse(location).is_ok() {
        check_text(location)?;
    }
    check_url(joined.as_str(), policy)
}

impl RedirectedRequest {
    /// Changes the method: 301 and 302 turn POST into GET, 303 turns every method except HEAD into
    /// GET (Fetch standard, HTTP-redirect fetch).
    fn adapt_method(&mut self, status: StatusCode) {
        let to_get = match status.as_u16() {
            301 | 302 => self.method == Method::POST,
            303 => !is_safe(&self.method),
            _ => false,
        };
        if to_get {
            self.method = Method::GET;
            self.drop_body();
        }
    }

    fn drop_body(&mut self) {
        self.body = Bytes::new();
        for name in [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LANGUAGE] {
            self.headers.remove(name);
        }
    }

    fn drop_credentials(&mut self) {
        let names: Vec<_> = self.headers.keys().cloned().collect();
        for name in names.into_iter().filter(|name| !CROSS_ORIGIN_HEADERS.contains(name)) {
            self.headers.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method) -> RedirectedRequest {
        let mut headers = HeaderMap::new();
        for name in [
            "accept",
            "user-agent",
            "content-type",
            "authorization",
            "cookie",
            "x-api-key",
            "x-trace",
        ] {
            headers.insert(HeaderName::from_static(name), "v".parse().expect("value"));
        }
        RedirectedRequest { method, headers, body: Bytes::from_static(b"body") }
    }

    /// `kept` is the number of headers that remain.
    fn check(
        method: &str,
        status: u16,
        location: &str,
        expected: Result<(&str, &str, usize, bool), &str>,
    ) {
        let policy = AddressPolicy::default();
        let from = check_url("https://a.example.com/dir/page?q", &policy).expect("from");
        let mut request = request(method.parse().expect("method"));
        let status = StatusCode::from_u16(status).expect("status");
        let to = next_hop(&from, status, location, &mut request, &policy);
        let found = to.as_ref().map_err(|denied| denied.rule.id()).map(|to| {
            (
                request.method.as_str(),
                to.url().as_str(),
                request.headers.len(),
                !request.body.is_empty(),
            )
        });
        assert_eq!(found, expected, "{method} {status} {location}");
    }

    #[test]
    fn methods_bodies_and_credentials() {
        let same = "https://a.example.com/x";
        let other = "https://b.example.com/x";
        check("GET", 302, same, Ok(("GET", same, 7, true)));
        check("HEAD", 303, same, Ok(("HEAD", same, 7, true)));
        check("POST", 301, same, Ok(("GET", same, 6, false)));
        check("POST", 302, same, Ok(("GET", same, 6, false)));
        check("POST", 303, same, Ok(("GET", same, 6, false)));
        check("PUT", 302, same, Ok(("PUT", same, 7, true)));
        check("PUT", 303, same, Ok(("GET", same, 6, false)));
        check("POST", 307, same, Ok(("POST", same, 7, true)));
        check("POST", 308, same, Ok(("POST", same, 7, true)));
        check("GET", 302, other, Ok(("GET", other, 2, false)));
        check("GET", 307, other, Ok(("GET", other, 2, false)));
        check("POST", 302, other, Ok(("GET", other, 2, false)));
        check("POST", 307, other, Err("redirect.cross_origin"));
        check("DELETE", 308, other, Err("redirect.cross_origin"));
        check(
            "GET",
            302,
            "https://a.example.com:8443/x",
            Ok(("GET", "https://a.example.com:8443/x", 2, false)),
        );
    }

    #[test]
    fn locations_are_joined_and_checked() {
        let get = |url| Ok(("GET", url, 7, true));
        check("GET", 302, "other", get("https://a.example.com/dir/other"));
        check("GET", 302, "/root?x=1", get("https://a.example.com/root?x=1"));
        check("GET", 302, "?y", get("https://a.example.com/dir/page?y"));
        check("GET", 302, "", get("https://a.example.com/dir/page?q"));
        check("GET", 302, "//A.example.com./z", get("https://a.example.com/z"));
        check("GET", 302, "//b.example.com/z", Ok(("GET", "https://b.example.com/z", 2, false)));
        let refused = [
            ("http://a.example.com/", "redirect.downgrade"),
            ("//127.0.0.1/", "address.loopback"),
            ("//0x7f.1/", "address.loopback"),
            ("https://[::ffff:169.254.169.254]/", "address.metadata"),
            ("https://localhost/", "host.special_use"),
            ("https://user:pw@b.example.com/", "url.userinfo"),
            ("//user@b.example.com/", "url.userinfo"),
            ("//b.example.com:22/", "url.port"),
            ("\\\\b.example.com/", "url.malformed"),
            ("/\t/b.example.com/", "url.malformed"),
            ("https:/b.example.com/", "url.malformed"),
            ("https:///b.example.com/", "url.malformed"),
            ("file:///etc/passwd", "url.scheme"),
            ("gopher://b.example.com/", "url.scheme"),
            ("javascript:alert(1)", "url.scheme"),
            ("data:text/html,x", "url.scheme"),
            ("//", "url.malformed"),
        ];
        for (location, rule) in refused {
            check("GET", 302, location, Err(rule));
        }
    }

    #[test]
    fn only_redirects_of_allowed_methods_are_followed() {
        for status in [300, 304, 305, 306, 200, 404] {
            assert!(!is_followed(
                StatusCode::from_u16(status).expect("status"),
                &Method::GET,
                Follow::Every
            ));
        }
        for (method, follow, expected) in [
            (Method::GET, Follow::Safe, true),
            (Method::HEAD, Follow::Safe, true),
            (Method::POST, Follow::Safe, false),
            (Method::POST, Follow::Every, true),
            (Method::GET, Follow::Never, false),
        ] {
            assert_eq!(
                is_followed(StatusCode::FOUND, &method, follow),
                expected,
                "{method} {follow:?}"
            );
        }
    }
}
