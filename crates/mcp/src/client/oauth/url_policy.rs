//! URL policy: the addresses to which credentials may be sent.
#![deny(clippy::indexing_slicing)]

use url::{Host, Url};

use super::{AuthError, bounded_text};

/// Longest URL that is accepted.
const LONGEST: usize = 2048;

/// Returns whether the host is a loopback address.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// Parses a URL and checks that credentials may be sent there: over TLS, or without it to this
/// machine if the server is on this machine too.
///
/// # Errors
/// [`AuthError::Unusable`], which names the purpose of the URL.
pub(super) fn check_url(text: &str, what: &str, server: &Url) -> Result<Url, AuthError> {
    let bad = |why: &str| AuthError::Unusable(format!("{what} {why}: {}", bounded_text(text)));
    if text.len() > LONGEST {
        return Err(bad("is too long"));
    }
    let url = Url::parse(text).map_err(|_| bad("is not an address"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("holds a login"));
    }
    if url.fragment().is_some() {
        return Err(bad("has a fragment"));
    }
    match url.scheme() {
        "https" if is_loopback(&url) && !is_loopback(server) => {
            Err(bad("is on this machine, and the server is not"))
        }
        "https" => Ok(url),
        "http" if is_loopback(&url) && is_loopback(server) => Ok(url),
        _ => Err(bad("is not over https")),
    }
}

/// Returns whether two URLs have the same scheme, host and port.
pub(super) fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host() == other.host()
        && one.port_or_known_default() == other.port_or_known_default()
}

/// Returns whether `resource` is the server at `server`, or a path of its host that contains it
/// (RFC 9728 3.3, RFC 8707).
pub(super) fn covers(resource: &Url, server: &Url) -> bool {
    let (own, all) = (resource.path().trim_end_matches('/'), server.path());
    let below = all.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    same_origin(resource, server)
        && below
        && resource.query().is_none_or(|q| server.query() == Some(q))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_go_where_they_are_safe() {
        let check = |text: &str, server: &str, good: bool| {
            let server = Url::parse(server).unwrap();
            assert_eq!(check_url(text, "it", &server).is_ok(), good, "{text} for {server}");
        };
        let (far, here) = ("https://example.org/mcp", "http://127.0.0.1:1/mcp");
        check("https://login.example.org/token?a=b", far, true);
        check("http://login.example.org/token", far, false);
        check("http://localhost:1/token", here, true);
        check("http://[::1]/token", here, true);
        check("http://127.0.0.1/token", far, false);
        check("https://localhost/token", far, false);
        check("https://login.example.org/token", here, true);
        check("http://10.0.0.1/token", here, false);
        check("https://me:pw@example.org/", far, false);
        check("https://example.org/#a", far, false);
        check("javascript:alert(1)", far, false);
        check("file:///etc/passwd", far, false);
        check("/token", far, false);
        check(&format!("https://example.org/{}", "a".repeat(3000)), far, false);
    }

    #[test]
    fn a_resource_covers_what_is_below_it() {
        let check = |resource: &str, server: &str, covered: bool| {
            let (resource, server) = (Url::parse(resource).unwrap(), Url::parse(server).unwrap());
            assert_eq!(covers(&resource, &server), covered, "{resource} and {server}");
        };
        check("https://a.org/mcp", "https://a.org/mcp", true);
        check("https://a.org", "https://a.org/mcp", true);
        check("https://a.org:443/", "https://a.org/mcp", true);
        check("https://a.org/mc", "https://a.org/mcp", false);
        check("https://a.org/mcp/more", "https://a.org/mcp", false);
        check("https://b.org/mcp", "https://a.org/mcp", false);
        check("http://a.org/mcp", "https://a.org/mcp", false);
        check("https://a.org:8/mcp", "https://a.org/mcp", false);
        check("https://a.org/mcp?x=1", "https://a.org/mcp", false);
    }
}
