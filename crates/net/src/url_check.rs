//! URL check: turns the text of a URL into a target that may be resolved, or a refusal.
//!
//! The text is parsed once, by the WHATWG algorithm. Everything later (lookup, connection, TLS
//! name, `Host` header) uses the result, so that no second parser can disagree.
#![deny(clippy::indexing_slicing)]

use std::fmt;
use std::net::IpAddr;

use url::{Position, Url};

use crate::address_policy::AddressPolicy;
use crate::blocked_names::{blocked_name, is_bad_port, is_dns_name};
use crate::deny_rule::{ConnectionDenied, Rule};

/// Longest URL that is parsed, in bytes: the minimum that RFC 9110 section 4.1 asks recipients to
/// support.
pub const MAX_URL_BYTES: usize = 8_000;

/// A host in the form in which it is connected to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// A DNS name: lowercase ASCII, no trailing dot.
    Name(String),
    /// A literal address; IPv4-mapped IPv6 is converted to IPv4.
    Addr(IpAddr),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Addr(IpAddr::V4(ip)) => ip.fmt(f),
            Self::Addr(IpAddr::V6(ip)) => write!(f, "[{ip}]"),
        }
    }
}

/// An http or https URL that passed [`check_url`]: its host is an allowed address or a name that
/// may be resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    url: Url,
    host: Host,
    port: u16,
}

impl Target {
    /// Returns the normalized URL without fragment; its host is [`Target::host`].
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the host to which the client will connect.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the port, with the scheme's default filled in.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns whether the connection uses TLS.
    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Returns `host:port`, for messages and allow-list entries.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Returns `scheme://host[:port]`; the scheme's default port is omitted.
    pub fn origin(&self) -> String {
        format!("{}://{}", self.url.scheme(), self.host_header())
    }

    /// Returns whether both have the same scheme, host and port (RFC 6454).
    pub fn same_origin(&self, other: &Self) -> bool {
        self.url.scheme() == other.url.scheme()
            && self.host == other.host
            && self.port == other.port
    }

    /// Returns the value of the `Host` header; the scheme's default port is omitted.
    pub(crate) fn host_header(&self) -> String {
        match self.url.port() {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.to_string(),
        }
    }

    /// Returns path and query: the request target of HTTP/1.1 (RFC 9112 section 3.2.1).
    pub(crate) fn request_target(&self) -> &str {
        &self.url[Position::BeforePath..Position::AfterQuery]
    }
}

/// Decides whether `raw` may be resolved and connected to. Literal addresses are checked here,
/// names later by [`resolve_checked`](crate::resolve_checked). Total on every input; a fuzz target
/// covers it.
///
/// # Errors
/// The rule that denies the URL, with its subject but never its credentials.
pub fn check_url(raw: &str, policy: &AddressPolicy) -> Result<Target, ConnectionDenied> {
    check_text(raw)?;
    let mut url = Url::parse(raw).map_err(|error| malformed(&error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ConnectionDenied::new(Rule::UrlUserinfo, "url"));
    }
    let host = host_of(&url)?;
    let port = url.port_or_known_default().ok_or_else(|| malformed("no port"))?;
    check_host(&host, port, policy)?;
    url.set_fragment(None);
    url.set_host(Some(&host.to_string())).map_err(|error| malformed(&error.to_string()))?;
    Ok(Target { url, host, port })
}

/// Returns the target `address:port` of a URL that a policy refuses only because the URL names an
/// address of this machine or of a private network, so that an allow-list entry would open it.
/// `None` if the URL is allowed, or refused for another reason.
///
/// Also `None` for an address in an unusual spelling (`2130706433`, `0x7f.1`, `[::ffff:10.0.0.1]`),
/// because a spelling that hides the address is a sign of an attack; and for a name, because its
/// addresses are known only when it is resolved, and the owner of the name can change them after a
/// person has approved the target (DNS rebinding).
pub fn private_target(raw: &str, policy: &AddressPolicy) -> Option<String> {
    let denied = check_url(raw, policy).err()?;
    let address = denied.address?;
    let (host, _) = denied.subject.rsplit_once(':')?;
    let written = authority_of(raw).ok()?;
    let is_plain =
        (written == host || written == denied.subject) && address.to_canonical() == address;
    (is_plain && denied.rule.is_private()).then_some(denied.subject)
}

/// Rejects text that a lenient parser would silently repair, because other programs repair it
/// differently.
pub(crate) fn check_text(raw: &str) -> Result<(), ConnectionDenied> {
    if raw.len() > MAX_URL_BYTES {
        return Err(ConnectionDenied::new(Rule::UrlTooLong, "url")
            .with_detail(format!("{} bytes, at most {MAX_URL_BYTES}", raw.len())));
    }
    if raw.contains(|c: char| c.is_control() || c == '\\') {
        return Err(malformed("it holds control characters or backslashes"));
    }
    if raw.trim() != raw {
        return Err(malformed("it begins or ends with white space"));
    }
    check_authority(authority_of(raw)?)
}

/// Returns the text after `scheme://`, up to the path, query or fragment.
fn authority_of(raw: &str) -> Result<&str, ConnectionDenied> {
    let no_scheme = || ConnectionDenied::new(Rule::UrlScheme, "url");
    let (scheme, rest) = raw.split_once(':').ok_or_else(no_scheme)?;
    if !["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme)) {
        return Err(no_scheme());
    }
    let rest = rest.strip_prefix("//").ok_or_else(|| malformed("two slashes follow the scheme"))?;
    Ok(rest.split(['/', '?', '#']).next().unwrap_or_default())
}

fn check_authority(authority: &str) -> Result<(), ConnectionDenied> {
    if authority.contains('@') {
        return Err(ConnectionDenied::new(Rule::UrlUserinfo, "url"));
    }
    if authority.is_empty() {
        return Err(malformed("the host is empty"));
    }
    if authority.starts_with('[') && authority.contains('%') {
        return Err(malformed("an IPv6 zone id names a local link"));
    }
    Ok(())
}

/// Returns the host of a parsed URL in the form used for lookup and comparison.
pub(crate) fn host_of(url: &Url) -> Result<Host, ConnectionDenied> {
    match url.host() {
        Some(url::Host::Ipv4(ip)) => Ok(Host::Addr(ip.into())),
        Some(url::Host::Ipv6(ip)) => Ok(Host::Addr(IpAddr::V6(ip).to_canonical())),
        Some(url::Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            if is_dns_name(name) {
                Ok(Host::Name(name.to_owned()))
            } else {
                Err(malformed("the host is not a DNS name"))
            }
        }
        None => Err(malformed("the host is empty")),
    }
}

/// Returns the target of a protocol other than HTTP at `host:port`: every rule applies except the
/// one that denies HTTP requests to ports of other protocols.
pub(crate) fn check_stream_target(
    host: &str,
    port: u16,
    policy: &AddressPolicy,
) -> Result<Target, ConnectionDenied> {
    let is_v6 = host.contains(':');
    let raw =
        if is_v6 { format!("https://[{host}]:{port}/") } else { format!("https://{host}:{port}/") };
    check_text(&raw)?;
    let url = Url::parse(&raw).map_err(|error| malformed(&error.to_string()))?;
    let found = host_of(&url)?;
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err(malformed("the host is not a name or an address"));
    }
    check_name_or_address(&found, port, policy)?;
    Ok(Target { url, host: found, port })
}

fn check_host(host: &Host, port: u16, policy: &AddressPolicy) -> Result<(), ConnectionDenied> {
    if is_bad_port(port) && !policy.allows_port(host, port) {
        return Err(ConnectionDenied::new(Rule::UrlPort, format!("{host}:{port}")));
    }
    check_name_or_address(host, port, policy)
}

fn check_name_or_address(
    host: &Host,
    port: u16,
    policy: &AddressPolicy,
) -> Result<(), ConnectionDenied> {
    let subject = || format!("{host}:{port}");
    match host {
        Host::Addr(ip) => policy
            .evaluate(host, *ip, port)
            .map(drop)
            .map_err(|rule| ConnectionDenied::new(rule, subject()).with_address(*ip)),
        Host::Name(name) => match blocked_name(name) {
            Some(rule) if !policy.allows(host, port) => Err(ConnectionDenied::new(rule, subject())),
            _ => Ok(()),
        },
    }
}

fn malformed(detail: &str) -> ConnectionDenied {
    ConnectionDenied::new(Rule::UrlMalformed, "url").with_detail(detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_literal_private_addresses_are_targets_to_ask_about() {
        let policy = AddressPolicy::with_allowed(["10.0.0.9:80"]).expect("entry");
        for (url, expected) in [
            ("http://10.0.0.1/", Some("10.0.0.1:80")),
            ("https://[fd00::1]/a", Some("[fd00::1]:443")),
            ("http://[::1]:8080/", Some("[::1]:8080")),
            ("http://100.64.0.1:81/", Some("100.64.0.1:81")),
            ("http://2130706433/", None),
            ("http://0x7f.1/", None),
            ("http://[::ffff:a00:1]/", None),
            ("http://10.0.0.1:80/", Some("10.0.0.1:80")),
            ("http://10.0.0.1:081/", None),
            ("http://10.0.0.9/", None),
            ("http://1.1.1.1/", None),
            ("http://169.254.169.254/", None),
            ("http://169.254.1.1/", None),
            ("http://localhost/", None),
            ("http://nas.local/", None),
            ("http://10.0.0.1:25/", None),
            ("ftp://10.0.0.1/", None),
        ] {
            let found = private_target(url, &policy);
            assert_eq!(found.as_deref(), expected, "{url}");
            if let Some(target) = found {
                let opened = policy.clone().with_entry(target.parse().expect(url));
                assert_eq!(private_target(url, &opened), None, "{url}");
                assert!(check_url(url, &opened).is_ok(), "{url}");
            }
        }
    }

    fn check(raw: &str, allow: &[&str], expected: Result<&str, &str>) {
        let policy = AddressPolicy::with_allowed(allow).expect("entries");
        let found = check_url(raw, &policy).map(|target| target.url().to_string());
        let found = found.as_deref().map_err(|denied| denied.rule.id());
        assert_eq!(found, expected, "{raw}");
    }

    #[test]
    fn honest_urls_are_normalised() {
        let rows = [
            ("https://example.com", "https://example.com/"),
            ("HTTPS://Example.COM:443/a?b=c#d", "https://example.com/a?b=c"),
            ("http://example.com.:8080/", "http://example.com:8080/"),
            ("http://bücher.example.com/ü", "http://xn--bcher-kva.example.com/%C3%BC"),
            ("http://example.com/a b?q=c d", "http://example.com/a%20b?q=c%20d"),
            ("http://example.com/a/../b/./c@d:e", "http://example.com/b/c@d:e"),
            ("https://93.184.215.14/", "https://93.184.215.14/"),
            ("https://[2606:4700::1111]:8443/", "https://[2606:4700::1111]:8443/"),
            ("http://[::ffff:8.8.8.8]/", "http://8.8.8.8/"),
            (
                "https://example.com/?next=http://127.0.0.1/",
                "https://example.com/?next=http://127.0.0.1/",
            ),
            ("https://example.com/#@127.0.0.1/", "https://example.com/"),
        ];
        for (raw, expected) in rows {
            check(raw, &[], Ok(expected));
        }
    }

    #[test]
    fn an_entry_opens_exactly_its_target() {
        check("http://localhost:8080/x", &["localhost:8080"], Ok("http://localhost:8080/x"));
        check("http://localhost:8081/", &["localhost:8080"], Err("host.special_use"));
        check("http://localhost:8080/", &["127.0.0.1:8080"], Err("host.special_use"));
        check("http://0177.1:8080/", &["127.0.0.1:8080"], Ok("http://127.0.0.1:8080/"));
        check("http://[::ffff:127.0.0.1]:8080/", &["127.0.0.1:8080"], Ok("http://127.0.0.1:8080/"));
        check("http://[::1]:8080/", &["[::1]:8080"], Ok("http://[::1]:8080/"));
        check("http://nas/", &["nas:80"], Ok("http://nas/"));
        check("http://nas:6000/", &["nas:6000"], Ok("http://nas:6000/"));
        check("http://10.0.0.1:6000/", &["10.0.0.0/8"], Err("url.port"));
        check("http://10.0.0.1:6000/", &["10.0.0.0/8:6000"], Ok("http://10.0.0.1:6000/"));
        check("http://user@nas/", &["nas:80"], Err("url.userinfo"));
    }

    #[test]
    fn a_refusal_never_repeats_credentials() {
        let denied = check_url("https://ann:secret@example.com/", &AddressPolicy::default());
        assert!(!denied.expect_err("userinfo").to_string().contains("secret"));
    }

    #[test]
    fn parts_of_a_target() {
        let target =
            check_url("https://Example.com:8443/p?q#f", &AddressPolicy::default()).expect("target");
        assert_eq!(target.authority(), "example.com:8443");
        assert_eq!(target.origin(), "https://example.com:8443");
        assert_eq!(target.request_target(), "/p?q");
        assert!(target.is_https());
        let other =
            check_url("http://example.com:8443/p", &AddressPolicy::default()).expect("target");
        assert!(!target.same_origin(&other));
        assert_eq!(other.host_header(), "example.com:8443");
    }

    #[test]
    fn length_is_bounded() {
        let long = format!("https://example.com/{}", "a".repeat(MAX_URL_BYTES));
        check(&long, &[], Err("url.too_long"));
    }
}
