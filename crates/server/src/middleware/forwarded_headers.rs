//! The client behind a proxy. Only configured proxies are trusted, and only the header entries that
//! they added themselves.
#![deny(clippy::indexing_slicing)]

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, header};
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The sender of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sender {
    /// Address of the client.
    pub(super) address: IpAddr,
    /// Whether the connection to the proxy was encrypted.
    pub(super) over_tls: bool,
}

/// Returns the sender of a request from `remote`. The headers of a peer that is not a configured
/// proxy are ignored.
pub(super) fn resolve_sender(proxies: &[IpNet], remote: IpAddr, headers: &HeaderMap) -> Sender {
    let remote = remote.to_canonical();
    if !is_proxy(proxies, remote) {
        return Sender { address: remote, over_tls: false };
    }
    // A proxy adds to one of the headers; the client may have sent the other one. If both exist,
    // neither is trusted.
    let (plain, standard) =
        (headers.contains_key(FORWARDED_FOR), headers.contains_key(header::FORWARDED));
    match (plain, standard) {
        (true, false) => {
            let hops = items(headers, &FORWARDED_FOR).map(address);
            let proto = items(headers, &FORWARDED_PROTO).last();
            let over_tls = proto.is_some_and(|proto| proto.eq_ignore_ascii_case("https"));
            Sender { address: last_untrusted_hop(proxies, remote, hops), over_tls }
        }
        (false, true) => {
            let hops = items(headers, &header::FORWARDED).map(|hop| address(pair(hop, "for")?));
            let proto =
                items(headers, &header::FORWARDED).last().and_then(|hop| pair(hop, "proto"));
            let over_tls = proto.is_some_and(|proto| proto.eq_ignore_ascii_case("https"));
            Sender { address: last_untrusted_hop(proxies, remote, hops), over_tls }
        }
        _ => Sender { address: remote, over_tls: false },
    }
}

/// Returns whether an address belongs to a configured proxy.
pub(crate) fn is_proxy(proxies: &[IpNet], address: IpAddr) -> bool {
    proxies.iter().any(|net| net.contains(&address.to_canonical()))
}

/// Returns the last hop that is not a configured proxy; each proxy appends its peer at the end.
/// Entries before one that cannot be parsed are not trusted.
fn last_untrusted_hop(
    proxies: &[IpNet],
    remote: IpAddr,
    hops: impl Iterator<Item = Option<IpAddr>>,
) -> IpAddr {
    let hops: Vec<Option<IpAddr>> = hops.collect();
    let mut nearest = remote;
    for hop in hops.into_iter().rev() {
        let Some(hop) = hop else { break };
        nearest = hop;
        if !is_proxy(proxies, hop) {
            break;
        }
    }
    nearest
}

/// Returns the items of a list header, which may be repeated.
fn items<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> + use<'a> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|item| !item.is_empty())
}

/// Returns the value of a name in an item of `Forwarded` (RFC 7239), without quotes.
fn pair<'a>(hop: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = hop.split(';').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(key, _)| key.trim().eq_ignore_ascii_case(name))?;
    Some(value.trim().trim_matches('"'))
}

/// Parses `1.2.3.4`, `1.2.3.4:5`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:5`.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let parsed = bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|at| at.ip()));
    parsed.map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the sender behind the proxies 10.0.0.0/8, with these headers from `remote`.
    fn check(remote: &str, headers: &[(&str, &str)], address: &str, over_tls: bool) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        let found = resolve_sender(&["10.0.0.0/8".parse().unwrap()], remote.parse().unwrap(), &map);
        let expected = Sender { address: address.parse().unwrap(), over_tls };
        assert_eq!(found, expected, "{remote} {headers:?}");
    }

    #[test]
    fn only_entries_of_configured_proxies_are_trusted() {
        let (xff, proto, standard) = ("x-forwarded-for", "x-forwarded-proto", "forwarded");
        check("9.9.9.9", &[(xff, "1.1.1.1"), (proto, "https")], "9.9.9.9", false);
        check("9.9.9.9", &[(standard, "for=1.1.1.1;proto=https")], "9.9.9.9", false);
        check("10.0.0.1", &[], "10.0.0.1", false);
        check("10.0.0.1", &[(xff, "1.1.1.1"), (proto, "https")], "1.1.1.1", true);
        check("::ffff:10.0.0.1", &[(xff, "1.1.1.1")], "1.1.1.1", false);
        check("10.0.0.1", &[(xff, "127.0.0.1, 1.1.1.1")], "1.1.1.1", false);
        check("10.0.0.1", &[(xff, "127.0.0.1"), (xff, "1.1.1.1")], "1.1.1.1", false);
        check("10.0.0.1", &[(xff, "8.8.8.8, 1.1.1.1, 10.0.0.2")], "1.1.1.1", false);
        check("10.0.0.1", &[(xff, "10.0.0.3, 10.0.0.2")], "10.0.0.3", false);
        check("10.0.0.1", &[(xff, "unknown, , x")], "10.0.0.1", false);
        check("10.0.0.1", &[(xff, "1.1.1.1, unknown, 10.0.0.2")], "10.0.0.2", false);
        check("10.0.0.1", &[(xff, "[2606:4700::1]:80")], "2606:4700::1", false);
        check("10.0.0.1", &[(xff, "::ffff:1.1.1.1")], "1.1.1.1", false);
        check("10.0.0.1", &[(proto, "https, http")], "10.0.0.1", false);
        let two = "for=8.8.8.8, For=\"[2606:4700::1]:4711\"; Proto=HTTPS";
        check("10.0.0.1", &[(standard, two)], "2606:4700::1", true);
        check("10.0.0.1", &[(standard, "for=_hidden")], "10.0.0.1", false);
        let both = [(standard, "for=8.8.8.8;proto=https"), (xff, "1.1.1.1"), (proto, "https")];
        check("10.0.0.1", &both, "10.0.0.1", false);
    }
}
