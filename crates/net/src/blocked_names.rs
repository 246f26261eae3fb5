//! Names and ports that are blocked before DNS resolution.
#![deny(clippy::indexing_slicing)]

use crate::deny_rule::Rule;

/// Domains of the local network and special-use domains: RFC 6761 (localhost, test, invalid), RFC
/// 6762 (local, and the private top-level domains of its appendix G), RFC 7686 (onion), RFC 8375
/// (home.arpa), RFC 8880 (ipv4only.arpa), RFC 9462 (resolver.arpa), RFC 9476 (alt), ICANN's
/// `internal`; and the names of cloud metadata services in public domains. `example` is not listed:
/// no host answers there, and documentation uses it.
const SPECIAL_USE_NAMES: &[&str] = &[
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "home.arpa",
    "ipv4only.arpa",
    "resolver.arpa",
    "onion",
    "alt",
    "test",
    "invalid",
    "metadata.goog",
    "metadata.tencentyun.com",
    "metadata.packet.net",
    "metadata.platformequinix.com",
];

/// Wildcard DNS services: the name itself contains the address to resolve to, or every name
/// resolves to loopback.
const REBINDING_NAMES: &[&str] = &[
    "nip.io",
    "sslip.io",
    "xip.io",
    "xip.name",
    "ip6.name",
    "backname.io",
    "traefik.me",
    "localtest.me",
    "lvh.me",
    "vcap.me",
    "fuf.me",
    "lacolhost.com",
    "local.gd",
    "localho.st",
    "localhost.direct",
    "lcl.host",
    "loopback.jp",
    "rbndr.us",
    "1u.ms",
    "rebind.network",
];

/// Ports of other protocols, whose servers could interpret an HTTP request as commands: "bad port"
/// in the Fetch standard.
const BAD_PORTS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

/// Returns whether the Fetch standard blocks `port`.
pub(crate) fn is_bad_port(port: u16) -> bool {
    BAD_PORTS.binary_search(&port).is_ok()
}

/// Returns the rule that blocks a name before resolution; `name` is lowercase ASCII without the
/// trailing dot.
pub(crate) fn blocked_name(name: &str) -> Option<Rule> {
    if SPECIAL_USE_NAMES.iter().any(|domain| is_within(name, domain)) {
        Some(Rule::HostSpecialUse)
    } else if REBINDING_NAMES.iter().any(|domain| is_within(name, domain)) {
        Some(Rule::HostRebinding)
    } else if !name.contains('.') {
        Some(Rule::HostSingleLabel)
    } else {
        None
    }
}

/// Returns whether `name` is `domain` or ends with it at a label boundary.
fn is_within(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|head| head.is_empty() || head.ends_with('.'))
}

/// Returns whether every label is valid in DNS (RFC 1035 section 2.3.4, plus the underscore, which
/// is in use). URL parsers accept more, such as `!` and `*`.
pub(crate) fn is_dns_name(name: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    name.len() <= 253 && name.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: &str) {
        assert_eq!(blocked_name(name).map_or("-", Rule::id), expected, "{name}");
    }

    #[test]
    fn domains_match_at_label_boundaries() {
        for domain in SPECIAL_USE_NAMES {
            check(domain, "host.special_use");
            check(&format!("a.b.{domain}"), "host.special_use");
        }
        for domain in REBINDING_NAMES {
            check(domain, "host.rebinding");
            check(&format!("10.0.0.1.{domain}"), "host.rebinding");
        }
        check("metadata", "host.single_label");
        for honest in
            ["notlocalhost.com", "mylocal.net", "internal.example.com", "xnip.io", "alt.org"]
        {
            check(honest, "-");
        }
    }

    #[test]
    fn bad_ports_are_sorted_and_leave_web_ports() {
        assert!(BAD_PORTS.is_sorted());
        for port in [22, 25, 6000, 6667, 10080, 0] {
            assert!(is_bad_port(port), "{port}");
        }
        for port in [80, 443, 3000, 5000, 8000, 8080, 8443, 9200] {
            assert!(!is_bad_port(port), "{port}");
        }
    }

    #[test]
    fn only_dns_names_pass() {
        for name in ["a.b", "xn--bcher-kva.example", "_acme.example.com", "a-1.org"] {
            assert!(is_dns_name(name), "{name}");
        }
        let long = format!("{}.org", "a".repeat(64));
        for name in ["", ".", "a..b", ".a", "a.", "a!b.org", "*.org", "a b.org", long.as_str()] {
            assert!(!is_dns_name(name), "{name}");
        }
    }
}
