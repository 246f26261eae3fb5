//! Is a request meant for this daemon? Exact lists of hosts and origins, so that no page of somebody else reaches it by a name that it
//! bound to this address (DNS rebinding) or by the browser of a person (`research/reliability.md` 4.1).
#![deny(clippy::indexing_slicing)]

use std::net::{IpAddr, SocketAddr};

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, Method, Uri, header};

use super::forwarded::{self, Sender};
use crate::listen::Peer;
use crate::problem::{Code, Problem};
use crate::settings::Listen;

/// What a browser says of who asks (Fetch Metadata).
pub(super) const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Headers by which some servers take another method than the one that was checked.
const OVERRIDES: [&str; 3] = ["x-http-method-override", "x-http-method", "x-method-override"];
/// What a body may be; forms and plain text are what any page can send.
const BODIES: [&str; 3] = ["application/json", "application/octet-stream", "text/event-stream"];

/// As what this daemon was asked, and from where; in every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    /// Whose address is counted; `None` = a process of this machine, on the socket.
    pub(crate) address: Option<IpAddr>,
    /// Scheme, host and port that were asked for; empty on the socket.
    pub(crate) origin: String,
    /// Whether it came encrypted.
    pub(crate) is_secure: bool,
}

/// What is looked at of a request.
struct Asked<'a> {
    local: SocketAddr,
    remote: SocketAddr,
    uri: &'a Uri,
    headers: &'a HeaderMap,
}

/// Refuses what is not meant for this daemon, or could be meant otherwise than it looks.
pub(super) fn check(listen: &Listen, request: &Request) -> Result<Site, Problem> {
    means_what_it_says(request.method(), request.headers())?;
    match request.extensions().get::<Peer>() {
        Some(Peer::Unix { refused: Some(why), .. }) => Err(Problem::new(Code::Forbidden, *why)),
        Some(Peer::Unix { .. }) => of_socket(request.headers()),
        Some(Peer::Tcp { local, remote }) => {
            let (uri, headers) = (request.uri(), request.headers());
            of_tcp(listen, &Asked { local: *local, remote: *remote, uri, headers })
        }
        None => Err(misdirected("it is not known who asks")),
    }
}

fn misdirected(words: &str) -> Problem {
    Problem::new(Code::Misdirected, words)
}

/// No browser speaks to the socket.
fn of_socket(headers: &HeaderMap) -> Result<Site, Problem> {
    if headers.contains_key(header::ORIGIN) || headers.contains_key(FETCH_SITE) {
        return Err(misdirected("pages have no business on the socket"));
    }
    Ok(Site { address: None, origin: String::new(), is_secure: false })
}

fn of_tcp(listen: &Listen, asked: &Asked<'_>) -> Result<Site, Problem> {
    let sender = forwarded::sender(&listen.proxies, asked.remote.ip(), asked.headers);
    let Sender { address, over_tls } = sender;
    let is_secure = listen.tls.is_some() || over_tls;
    let host = host(listen, asked)?;
    let scheme = if is_secure { "https" } else { "http" };
    let site = Site { address: Some(address), origin: format!("{scheme}://{host}"), is_secure };
    origin(listen, &site, asked.headers)?;
    Ok(site)
}

/// The host, if it is one of ours.
fn host<'a>(listen: &Listen, asked: &Asked<'a>) -> Result<&'a str, Problem> {
    let wrong = || misdirected("this daemon does not answer to that Host");
    let host = one(asked.headers, &header::HOST)?.ok_or_else(wrong)?;
    // Of two that say where it goes, both must say the same.
    let authority = asked.uri.authority().is_none_or(|authority| authority.as_str() == host);
    let scheme = asked.uri.scheme_str().is_none_or(|scheme| matches!(scheme, "http" | "https"));
    if authority && scheme && is_here(listen, asked.local, host) { Ok(host) } else { Err(wrong()) }
}

/// Names of this machine with the port that was connected to, the very address that was connected to, and what the owner lists.
fn is_here(listen: &Listen, local: SocketAddr, host: &str) -> bool {
    let port = local.port();
    let usual = if listen.tls.is_some() { 443 } else { 80 };
    let literal = match local.ip().to_canonical() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    let own = ["localhost", "127.0.0.1", "[::1]", &literal];
    let is_own =
        own.iter().any(|name| is_name(host, name, port) || (port == usual && host == *name));
    let is_listed = |name: &String| host.eq_ignore_ascii_case(name) || is_name(host, name, port);
    is_own || listen.hosts.iter().any(is_listed)
}

/// Whether `host` is `name:port`, and nothing that only means the same.
fn is_name(host: &str, name: &str, port: u16) -> bool {
    host.rsplit_once(':').is_some_and(|(given, given_port)| {
        given.eq_ignore_ascii_case(name) && given_port == port.to_string()
    })
}

/// Pages of this daemon's own origin may ask, and those that the owner lists.
fn origin(listen: &Listen, site: &Site, headers: &HeaderMap) -> Result<(), Problem> {
    let wrong = || misdirected("this daemon does not answer to pages of that Origin");
    if let Some(origin) = one(headers, &header::ORIGIN)?
        && origin != site.origin
        && !listen.origins.iter().any(|listed| listed == origin)
    {
        return Err(wrong());
    }
    match one(headers, &FETCH_SITE)? {
        // A neighbour (`same-site`) is another port of this machine: somebody else's page.
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) => Err(wrong()),
    }
}

/// The method is the one that stands in the first line, and what changes something is JSON or bytes.
fn means_what_it_says(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    if [Method::CONNECT, Method::TRACE].contains(method) {
        return Err(Problem::new(Code::MethodNotAllowed, "this daemon is no proxy"));
    }
    if let Some(name) = OVERRIDES.iter().find(|name| headers.contains_key(**name)) {
        return Err(Problem::new(
            Code::BadRequest,
            format!("the method is the one of the request; leave {name} out"),
        ));
    }
    let length = one(headers, &header::CONTENT_LENGTH)?;
    let has_body = length.is_some_and(|length| length != "0")
        || headers.contains_key(header::TRANSFER_ENCODING);
    if !has_body {
        return Ok(());
    }
    let kind = one(headers, &header::CONTENT_TYPE)?.unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if BODIES.iter().any(|body| kind.eq_ignore_ascii_case(body)) {
        return Ok(());
    }
    Err(Problem::new(Code::UnsupportedMediaType, "send `Content-Type: application/json`"))
}

/// The only value of a header; two of them could be read differently by whoever stands before us.
pub(super) fn one<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a str>, Problem> {
    let wrong = |words: &str| Problem::new(Code::BadRequest, format!("the header {name} {words}"));
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(wrong("is there twice"));
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

    fn judge(listen: &Listen, local: &str, uri: &str, pairs: &[(&str, &str)]) -> Result<Site, u16> {
        let headers = headers(pairs);
        let (local, remote) = (local.parse().unwrap(), "127.0.0.1:5555".parse().unwrap());
        let asked = Asked { local, remote, uri: &uri.parse().unwrap(), headers: &headers };
        of_tcp(listen, &asked).map_err(|problem| problem.status)
    }

    /// What is answered to this Host by a daemon that also goes by two other names.
    fn check_host(local: &str, host: &str, expected: Result<(), u16>) {
        let hosts = vec!["tools.example.com".into(), "other.example.com:8443".into()];
        let listen = Listen { hosts, ..Listen::default() };
        let found = judge(&listen, local, "/x", &[("host", host)]).map(|_| ());
        assert_eq!(found, expected, "{local} {host:?}");
    }

    #[test]
    fn only_exact_hosts_are_answered() {
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
    fn both_places_that_name_a_host_must_agree() {
        let local = "127.0.0.1:7000";
        for (uri, host, expected) in [
            ("http://localhost:7000/x", "localhost:7000", Ok(())),
            ("http://evil.example/x", "localhost:7000", ELSEWHERE),
            ("http://localhost:7000/x", "evil.example", ELSEWHERE),
            ("http://localhost:7000/x", "127.0.0.1:7000", ELSEWHERE),
            ("http://a@localhost:7000/x", "localhost:7000", ELSEWHERE),
            ("ftp://localhost:7000/x", "localhost:7000", ELSEWHERE),
        ] {
            let found = judge(&Listen::default(), local, uri, &[("host", host)]);
            assert_eq!(found.map(|_| ()), expected, "{uri} {host}");
        }
        let twice = [("host", "localhost:7000"), ("host", "localhost:7000")];
        assert_eq!(judge(&Listen::default(), local, "/", &twice).map(|_| ()), BAD);
        assert_eq!(judge(&Listen::default(), local, "/", &[]).map(|_| ()), ELSEWHERE);
    }

    fn check_page(pairs: &[(&str, &str)], expected: Result<(), u16>) {
        let origins = vec!["https://tools.example.com".into()];
        let listen = Listen { origins, ..Listen::default() };
        let mut all = vec![("host", "localhost:7000")];
        all.extend(pairs);
        let found = judge(&listen, "127.0.0.1:7000", "/x", &all).map(|_| ());
        assert_eq!(found, expected, "{pairs:?}");
    }

    #[test]
    fn only_our_own_pages_may_ask() {
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
    fn a_proxy_says_that_it_came_encrypted() {
        let proxies = vec!["127.0.0.1/32".parse().unwrap()];
        let hosts = vec!["tools.example.com".into()];
        let listen = Listen { proxies, hosts, ..Listen::default() };
        let pairs = [
            ("host", "tools.example.com"),
            ("x-forwarded-for", "9.9.9.9"),
            ("x-forwarded-proto", "https"),
            ("origin", "https://tools.example.com"),
        ];
        let site = judge(&listen, "127.0.0.1:7000", "/x", &pairs).unwrap();
        let origin = "https://tools.example.com".to_owned();
        assert_eq!(site, Site { address: "9.9.9.9".parse().ok(), origin, is_secure: true });
        let stranger = Listen { proxies: Vec::new(), ..listen };
        assert_eq!(judge(&stranger, "127.0.0.1:7000", "/x", &pairs), Err(421));
    }

    #[test]
    fn a_method_and_a_body_are_what_they_look_like() {
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
            let found = means_what_it_says(&method, &headers(&pairs));
            assert_eq!(found.map_err(|problem| problem.status), expected, "{method} {pairs:?}");
        }
    }

    #[test]
    fn pages_have_no_business_on_the_socket() {
        assert!(of_socket(&headers(&[])).is_ok());
        assert!(of_socket(&headers(&[("origin", "http://localhost")])).is_err());
        assert!(of_socket(&headers(&[("sec-fetch-site", "none")])).is_err());
    }
}
