//! Checks that a request is addressed to this daemon, with exact lists of hosts and origins, so
//! that no foreign page reaches it through a host name that resolves to its address (DNS rebinding)
//! or through the browser of a user (cross-site requests).
#![deny(clippy::indexing_slicing)]

use std::net::{IpAddr, SocketAddr};

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, Method, Uri, header};

use super::forwarded_headers::{self, Sender};
use crate::api::{CALLBACK_PATH, MCP_PATH};
use crate::peer::Peer;
use crate::problem::{Code, Problem};
use crate::settings::Listen;

/// The relation of the requesting page, as the browser reports it (Fetch Metadata).
pub(super) const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
/// Headers by which some servers replace the method of the request.
const OVERRIDES: [&str; 3] = ["x-http-method-override", "x-http-method", "x-method-override"];
/// Allowed media types of a body. Any page can send forms and plain text across origins without a
/// preflight request.
const MEDIA_TYPES: [&str; 3] =
    ["application/json", "application/octet-stream", "text/event-stream"];

/// The origin to which a request was sent, and its sender; part of the extensions of every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestOrigin {
    /// Address of the sender; `None` for a process of this machine on the socket.
    pub(crate) address: Option<IpAddr>,
    /// Scheme, host and port of the request; empty on the socket.
    pub(crate) origin: String,
    /// Whether the request was encrypted.
    pub(crate) is_secure: bool,
}

/// The parts of a request that are checked.
struct TcpRequest<'a> {
    method: &'a Method,
    local: SocketAddr,
    remote: SocketAddr,
    uri: &'a Uri,
    headers: &'a HeaderMap,
}

/// Refuses requests that are not addressed to this daemon, or that another server could interpret
/// differently.
pub(super) fn check(listen: &Listen, request: &Request) -> Result<RequestOrigin, Problem> {
    check_method_and_body(request.method(), request.headers())?;
    match request.extensions().get::<Peer>() {
        Some(Peer::Unix { refused: Some(why), .. }) => Err(Problem::new(Code::Forbidden, *why)),
        Some(Peer::Unix { .. }) => check_socket(request.headers()),
        Some(Peer::Tcp { local, remote }) => {
            let (uri, headers) = (request.uri(), request.headers());
            let (method, local, remote) = (request.method(), *local, *remote);
            check_tcp(listen, &TcpRequest { method, local, remote, uri, headers })
        }
        None => Err(misdirected("the peer of the connection is unknown")),
    }
}

fn misdirected(detail: &str) -> Problem {
    Problem::new(Code::Misdirected, detail)
}

/// Checks a request on the socket, which browsers do not use.
fn check_socket(headers: &HeaderMap) -> Result<RequestOrigin, Problem> {
    if headers.contains_key(header::ORIGIN) || headers.contains_key(FETCH_SITE) {
        return Err(misdirected("requests of pages are refused on the socket"));
    }
    Ok(RequestOrigin { address: None, origin: String::new(), is_secure: false })
}

fn check_tcp(listen: &Listen, request: &TcpRequest<'_>) -> Result<RequestOrigin, Problem> {
    let sender =
        forwarded_headers::resolve_sender(&listen.proxies, request.remote.ip(), request.headers);
    let Sender { address, over_tls } = sender;
    let is_secure = listen.tls.is_some() || over_tls;
    let host = allowed_host(listen, request)?;
    let scheme = if is_secure { "https" } else { "http" };
    let origin =
        RequestOrigin { address: Some(address), origin: format!("{scheme}://{host}"), is_secure };
    require_allowed_origin(listen, &origin, request)?;
    Ok(origin)
}

/// Returns the host, if it is one of this daemon.
fn allowed_host<'a>(listen: &Listen, request: &TcpRequest<'a>) -> Result<&'a str, Problem> {
    let wrong = || misdirected("this daemon does not answer to that Host");
    let host = single_header(request.headers, &header::HOST)?.ok_or_else(wrong)?;
    // An absolute URI must name the same host as the header.
    let authority = request.uri.authority().is_none_or(|authority| authority.as_str() == host);
    let scheme = request.uri.scheme_str().is_none_or(|scheme| matches!(scheme, "http" | "https"));
    if authority && scheme && is_own_host(listen, request.local, host) {
        Ok(host)
    } else {
        Err(wrong())
    }
}

/// Returns whether the host is a name of this machine with the port of the connection, the address
/// of the connection, or a configured host.
fn is_own_host(listen: &Listen, local: SocketAddr, host: &str) -> bool {
    let port = local.port();
    let usual = if listen.tls.is_some() { 443 } else { 80 };
    let literal = match local.ip().to_canonical() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    let own = ["localhost", "127.0.0.1", "[::1]", &literal];
    let is_own = own
        .iter()
        .any(|name| matches_host_port(host, name, port) || (port == usual && host == *name));
    let is_listed =
        |name: &String| host.eq_ignore_ascii_case(name) || matches_host_port(host, name, port);
    is_own || listen.hosts.iter().any(is_listed)
}

/// Returns whether `host` is exactly `name:port`, and not another notation of it.
fn matches_host_port(host: &str, name: &str, port: u16) -> bool {
    host.rsplit_once(':').is_some_and(|(given, given_port)| {
        given.eq_ignore_ascii_case(name) && given_port == port.to_string()
    })
}

/// Allows pages of the daemon's own origin and of configured origins. At the MCP endpoint, other
/// pages get 403, which the protocol's Streamable HTTP transport requires for an invalid Origin.
fn require_allowed_origin(
    listen: &Listen,
    own: &RequestOrigin,
    request: &TcpRequest<'_>,
) -> Result<(), Problem> {
    let headers = request.headers;
    let code = if request.uri.path() == MCP_PATH { Code::Forbidden } else { Code::Misdirected };
    let wrong = || Problem::new(code, "this daemon does not answer to pages of that Origin");
    if let Some(origin) = single_header(headers, &header::ORIGIN)?
        && origin != own.origin
        && !listen.origins.iter().any(|listed| listed == origin)
    {
        return Err(wrong());
    }
    match single_header(headers, &FETCH_SITE)? {
        // `same-site` is another port of this machine and therefore a foreign page.
        None | Some("same-origin" | "none") => Ok(()),
        // An authorization server redirects the browser back. Only top-level navigation is allowed,
        // so that a foreign page cannot read the answer.
        Some(_) if is_return_of_login(request)? => Ok(()),
        Some(_) => Err(wrong()),
    }
}

/// Returns whether a browser navigates to the callback of a login to an MCP server.
fn is_return_of_login(request: &TcpRequest<'_>) -> Result<bool, Problem> {
    let says = |name: &HeaderName, expected: &str| {
        single_header(request.headers, name).map(|value| value == Some(expected))
    };
    let is_window = says(&FETCH_MODE, "navigate")? && says(&FETCH_DEST, "document")?;
    Ok(is_window && request.method == Method::GET && request.uri.path() == CALLBACK_PATH)
}

/// Refuses headers that override the method, and media types that forms can send.
fn check_method_and_body(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    if [Method::CONNECT, Method::TRACE].contains(method) {
        return Err(Problem::new(Code::MethodNotAllowed, "this daemon is not a proxy"));
    }
    if let Some(name) = OVERRIDES.iter().find(|name| headers.contains_key(**name)) {
        return Err(Problem::new(
            Code::BadRequest,
            format!("the header {name} is not supported; use the method of the request"),
        ));
    }
    let length = single_header(headers, &header::CONTENT_LENGTH)?;
    let has_body = length.is_some_and(|length| length != "0")
        || headers.contains_key(header::TRANSFER_ENCODING);
    if !has_body {
        return Ok(());
    }
    let kind = single_header(headers, &header::CONTENT_TYPE)?.unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if MEDIA_TYPES.iter().any(|media_type| kind.eq_ignore_ascii_case(media_type)) {
        return Ok(());
    }
    Err(Problem::new(Code::UnsupportedMediaType, "send `Content-Type: application/json`"))
}

/// Returns the only value of a header. Two values are an error, because a proxy could use the other
/// one.
pub(super) fn single_header<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a str>, Problem> {
    let wrong = |why: &str| Problem::new(Code::BadRequest, format!("the header {name} {why}"));
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(wrong("is repeated"));
    }
    first.to_str().map(Some).map_err(|_| wrong("is not plain text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAD: Result<(), u16> = Err(400);
    const ELSEWHERE: Result<(), u16> = Err(421);

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        map
    }

    fn check_request(
        listen: &Listen,
        local: &str,
        uri: &str,
        pairs: &[(&str, &str)],
    ) -> Result<RequestOrigin, u16> {
        let headers = headers(pairs);
        let (local, remote) = (local.parse().unwrap(), "127.0.0.1:5555".parse().unwrap());
        let (method, uri) = (&Method::GET, &uri.parse().unwrap());
        let request = TcpRequest { method, local, remote, uri, headers: &headers };
        check_tcp(listen, &request).map_err(|problem| problem.status)
    }

    /// Checks this Host against two configured hosts.
    fn check_host(local: &str, host: &str, expected: Result<(), u16>) {
        let hosts = vec!["tools.example.com".into(), "other.example.com:8443".into()];
        let listen = Listen { hosts, ..Listen::default() };
        let found = check_request(&listen, local, "/x", &[("host", host)]).map(|_| ());
        assert_eq!(found, expected, "{local} {host:?}");
    }

    #[test]
    fn only_exact_hosts_are_allowed() {
        let v4 = "127.0.0.1:7000";
        for host in ["localhost:7000", "127.0.0.1:7000", "[::1]:7000", "LocalHost:7000"] {
            check_host(v4, host, Ok(()));
        }
        let listed = ["tools.example.com", "tools.example.com:7000", "other.example.com:8443"];
        for host in listed {
            check_host(v4, host, Ok(()));
        }
        for host in [
            "",
            "localhost",
            "localhost:",
            "localhost:7001",
            "localhost:07000",
            "localhost:+7000",
            "localhost:7000:7000",
            "localhost.:7000",
            "localhost.evil.example:7000",
            "evil.example:7000",
            "a@localhost:7000",
            "localhost:7000@evil.example",
            "127.1:7000",
            "127.0.0.2:7000",
            "2130706433:7000",
            "0.0.0.0:7000",
            "[::1]",
            "::1:7000",
            "[0:0:0:0:0:0:0:1]:7000",
            "[::ffff:127.0.0.1]:7000",
            "[::1%25lo]:7000",
            "localhost:7000 ",
            "localhost:7000,evil.example",
            "http://localhost:7000",
            "tools.example.com:7001",
            "other.example.com",
            "sub.tools.example.com",
        ] {
            check_host(v4, host, ELSEWHERE);
        }
        check_host("127.0.0.1:80", "localhost", Ok(()));
        check_host("127.0.0.1:80", "tools.example.com", Ok(()));
        check_host("192.168.3.4:7000", "192.168.3.4:7000", Ok(()));
        check_host("[::ffff:192.168.3.4]:7000", "192.168.3.4:7000", Ok(()));
        check_host("[fd00::1]:7000", "[fd00::1]:7000", Ok(()));
        check_host("192.168.3.4:7000", "192.168.3.5:7000", ELSEWHERE);
    }

    #[test]
    fn the_uri_and_the_header_must_name_the_same_host() {
        let local = "127.0.0.1:7000";
        for (uri, host, expected) in [
            ("http://localhost:7000/x", "localhost:7000", Ok(())),
            ("http://evil.example/x", "localhost:7000", ELSEWHERE),
            ("http://localhost:7000/x", "evil.example", ELSEWHERE),
            ("http://localhost:7000/x", "127.0.0.1:7000", ELSEWHERE),
            ("http://a@localhost:7000/x", "localhost:7000", ELSEWHERE),
            ("ftp://localhost:7000/x", "localhost:7000", ELSEWHERE),
        ] {
            let found = check_request(&Listen::default(), local, uri, &[("host", host)]);
            assert_eq!(found.map(|_| ()), expected, "{uri} {host}");
        }
        let twice = [("host", "localhost:7000"), ("host", "localhost:7000")];
        assert_eq!(check_request(&Listen::default(), local, "/", &twice).map(|_| ()), BAD);
        assert_eq!(check_request(&Listen::default(), local, "/", &[]).map(|_| ()), ELSEWHERE);
    }

    #[test]
    fn a_browser_comes_back_from_a_login_as_a_whole_window_only() {
        let check = |path: &str, site: &str, mode: &str, dest: &str, expected| {
            let pairs = [
                ("host", "localhost:7000"),
                ("sec-fetch-site", site),
                ("sec-fetch-mode", mode),
                ("sec-fetch-dest", dest),
            ];
            let found = check_request(&Listen::default(), "127.0.0.1:7000", path, &pairs);
            assert_eq!(found.map(|_| ()), expected, "{path} {site} {mode} {dest}");
        };
        let back = "/oauth/callback?code=c&state=s";
        for site in ["cross-site", "same-site"] {
            check(back, site, "navigate", "document", Ok(()));
            check(back, site, "navigate", "iframe", ELSEWHERE);
            check(back, site, "no-cors", "image", ELSEWHERE);
            check(back, site, "cors", "empty", ELSEWHERE);
            check("/", site, "navigate", "document", ELSEWHERE);
            check("/api/v1/status", site, "navigate", "document", ELSEWHERE);
        }
    }

    fn check_page(pairs: &[(&str, &str)], expected: Result<(), u16>) {
        let origins = vec!["https://tools.example.com".into()];
        let listen = Listen { origins, ..Listen::default() };
        let mut all = vec![("host", "localhost:7000")];
        all.extend(pairs);
        let found = check_request(&listen, "127.0.0.1:7000", "/x", &all).map(|_| ());
        assert_eq!(found, expected, "{pairs:?}");
    }

    #[test]
    fn only_pages_of_allowed_origins_are_answered() {
        check_page(&[], Ok(()));
        check_page(&[("origin", "http://localhost:7000")], Ok(()));
        check_page(&[("origin", "https://tools.example.com")], Ok(()));
        for origin in [
            "null",
            "",
            "http://localhost",
            "http://localhost:7001",
            "http://127.0.0.1:7000",
            "https://localhost:7000",
            "http://localhost:7000/",
            "http://localhost:7000.evil.example",
            "http://tools.example.com",
            "https://tools.example.com:8443",
            "file://",
        ] {
            check_page(&[("origin", origin)], ELSEWHERE);
        }
        let own = ("origin", "http://localhost:7000");
        check_page(&[own, own], BAD);
        for (word, expected) in [
            ("same-origin", Ok(())),
            ("none", Ok(())),
            ("same-site", ELSEWHERE),
            ("cross-site", ELSEWHERE),
            ("anything", ELSEWHERE),
            ("", ELSEWHERE),
        ] {
            check_page(&[("sec-fetch-site", word)], expected);
            check_page(&[own, ("sec-fetch-site", word)], expected);
        }
    }

    #[test]
    fn a_proxy_reports_that_a_request_was_encrypted() {
        let proxies = vec!["127.0.0.1/32".parse().unwrap()];
        let hosts = vec!["tools.example.com".into()];
        let listen = Listen { proxies, hosts, ..Listen::default() };
        let pairs = [
            ("host", "tools.example.com"),
            ("x-forwarded-for", "9.9.9.9"),
            ("x-forwarded-proto", "https"),
            ("origin", "https://tools.example.com"),
        ];
        let found = check_request(&listen, "127.0.0.1:7000", "/x", &pairs).unwrap();
        let origin = "https://tools.example.com".to_owned();
        assert_eq!(
            found,
            RequestOrigin { address: "9.9.9.9".parse().ok(), origin, is_secure: true }
        );
        let untrusting = Listen { proxies: Vec::new(), ..listen };
        assert_eq!(check_request(&untrusting, "127.0.0.1:7000", "/x", &pairs), Err(421));
    }

    #[test]
    fn ambiguous_methods_and_bodies_are_refused() {
        let length = ("content-length", "2");
        for (method, pairs, expected) in [
            (Method::POST, vec![], Ok(())),
            (Method::POST, vec![("content-length", "0")], Ok(())),
            (Method::POST, vec![length, ("content-type", "application/json")], Ok(())),
            (
                Method::POST,
                vec![length, ("content-type", "Application/JSON; charset=utf-8")],
                Ok(()),
            ),
            (Method::PUT, vec![length, ("content-type", "application/octet-stream")], Ok(())),
            (Method::POST, vec![length], Err(415)),
            (Method::GET, vec![length], Err(415)),
            (Method::POST, vec![("transfer-encoding", "chunked")], Err(415)),
            (Method::POST, vec![length, ("content-type", "text/plain")], Err(415)),
            (
                Method::POST,
                vec![length, ("content-type", "application/x-www-form-urlencoded")],
                Err(415),
            ),
            (
                Method::POST,
                vec![length, ("content-type", "multipart/form-data; boundary=application/json")],
                Err(415),
            ),
            (Method::POST, vec![length, ("content-type", "application/jsonp")], Err(415)),
            (
                Method::POST,
                vec![length, ("content-type", "application/json"), ("content-type", "text/plain")],
                BAD,
            ),
            (Method::POST, vec![("x-http-method-override", "DELETE")], BAD),
            (Method::GET, vec![("x-http-method", "PUT")], BAD),
            (Method::GET, vec![("x-method-override", "PUT")], BAD),
            (Method::TRACE, vec![], Err(405)),
            (Method::CONNECT, vec![], Err(405)),
        ] {
            let found = check_method_and_body(&method, &headers(&pairs));
            assert_eq!(found.map_err(|problem| problem.status), expected, "{method} {pairs:?}");
        }
    }

    #[test]
    fn pages_are_refused_on_the_socket() {
        assert!(check_socket(&headers(&[])).is_ok());
        assert!(check_socket(&headers(&[("origin", "http://localhost")])).is_err());
        assert!(check_socket(&headers(&[("sec-fetch-site", "none")])).is_err());
    }
}
