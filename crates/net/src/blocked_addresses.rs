//! The table of blocked addresses.
//!
//! IPv4 is a deny list: the IANA IPv4 special-purpose registry (RFC 6890 and its updates) plus
//! multicast, class E, the retired 6to4 relays and the metadata services of cloud providers. IPv6
//! is an allow list: global unicast `2000::/3` minus its special blocks, because most of the IPv6
//! space is unassigned.
#![deny(clippy::indexing_slicing)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::deny_rule::Rule;

/// Classification of one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressClass {
    /// Globally reachable unicast.
    Public,
    /// Blocked by this rule unless the owner's allow list opens it.
    Refused(Rule),
}

struct V4Block(Ipv4Addr, u8, Rule);
struct V6Block(Ipv6Addr, u8, Rule);

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8, rule: Rule) -> V4Block {
    V4Block(Ipv4Addr::new(a, b, c, d), prefix, rule)
}

const fn v6(head: [u16; 3], last: u16, prefix: u8, rule: Rule) -> V6Block {
    let [a, b, c] = head;
    V6Block(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, last), prefix, rule)
}

/// Blocked IPv4 ranges. The first match decides, so single addresses come before the ranges around
/// them. Sources: IANA IPv4 special-purpose registry; the metadata addresses are from the
/// providers' manuals.
const BLOCKED_V4: &[V4Block] = &[
    v4(169, 254, 169, 254, 32, Rule::Metadata), // AWS, GCP, Azure, Oracle and most others
    v4(169, 254, 170, 2, 32, Rule::Metadata),   // AWS ECS task credentials
    v4(169, 254, 170, 23, 32, Rule::Metadata),  // AWS EKS pod identity
    v4(168, 63, 129, 16, 32, Rule::Metadata),   // Azure wire server, inside public space
    v4(100, 100, 100, 200, 32, Rule::Metadata), // Alibaba Cloud, inside the CGNAT block
    v4(192, 0, 0, 192, 32, Rule::Metadata),     // Oracle Cloud classic
    v4(0, 0, 0, 0, 32, Rule::Unspecified),
    v4(0, 0, 0, 0, 8, Rule::ThisNetwork),
    v4(10, 0, 0, 0, 8, Rule::Private),
    v4(100, 64, 0, 0, 10, Rule::Cgnat),
    v4(127, 0, 0, 0, 8, Rule::Loopback),
    v4(169, 254, 0, 0, 16, Rule::LinkLocal),
    v4(172, 16, 0, 0, 12, Rule::Private),
    v4(192, 0, 0, 0, 24, Rule::Reserved), // IETF protocol assignments, RFC 6890
    v4(192, 0, 2, 0, 24, Rule::Documentation), // TEST-NET-1, RFC 5737
    v4(192, 88, 99, 0, 24, Rule::SixToFour), // retired 6to4 relay anycast, RFC 7526
    v4(192, 168, 0, 0, 16, Rule::Private),
    v4(198, 18, 0, 0, 15, Rule::Benchmarking),
    v4(198, 51, 100, 0, 24, Rule::Documentation), // TEST-NET-2
    v4(203, 0, 113, 0, 24, Rule::Documentation),  // TEST-NET-3
    v4(224, 0, 0, 0, 4, Rule::Multicast),
    v4(255, 255, 255, 255, 32, Rule::Broadcast),
    v4(240, 0, 0, 0, 4, Rule::Reserved), // class E, RFC 1112
];

/// Blocked IPv6 ranges with their own rules; every other address must be in [`GLOBAL_V6`]. Sources:
/// IANA IPv6 special-purpose registry; the metadata addresses are from the manuals of AWS and GCP.
const BLOCKED_V6: &[V6Block] = &[
    v6([0xfd00, 0x0ec2, 0], 0, 32, Rule::Metadata), // AWS: metadata, DNS, time, EKS
    v6([0xfd20, 0x00ce, 0], 0x0254, 128, Rule::Metadata), // GCP
    v6([0, 0, 0], 0, 128, Rule::Unspecified),
    v6([0, 0, 0], 1, 128, Rule::Loopback),
    v6([0, 0, 0], 0, 96, Rule::V4Compatible),
    V6Block(Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96, Rule::Siit),
    v6([0x64, 0xff9b, 0], 0, 96, Rule::Nat64),
    v6([0x64, 0xff9b, 1], 0, 48, Rule::Nat64),
    v6([0x100, 0, 0], 0, 64, Rule::Reserved), // discard-only, RFC 6666
    v6([0xfc00, 0, 0], 0, 7, Rule::UniqueLocal),
    v6([0xfe80, 0, 0], 0, 10, Rule::LinkLocal),
    v6([0xfec0, 0, 0], 0, 10, Rule::SiteLocal),
    v6([0xff00, 0, 0], 0, 8, Rule::Multicast),
    v6([0x2001, 0, 0], 0, 32, Rule::Teredo),
    v6([0x2001, 0, 0], 0, 23, Rule::Reserved), // IETF protocol assignments, RFC 2928
    v6([0x2001, 0x0db8, 0], 0, 32, Rule::Documentation), // RFC 3849
    v6([0x2002, 0, 0], 0, 16, Rule::SixToFour),
    v6([0x3fff, 0, 0], 0, 20, Rule::Documentation), // RFC 9637
];

/// Global unicast, the only IPv6 space that IANA assigns (RFC 4291 section 2.4).
const GLOBAL_V6: V6Block = v6([0x2000, 0, 0], 0, 3, Rule::NotGlobalV6);

impl V4Block {
    fn contains(&self, ip: Ipv4Addr) -> bool {
        let differing = self.0.to_bits() ^ ip.to_bits();
        differing.leading_zeros() >= u32::from(self.1)
    }
}

impl V6Block {
    fn contains(&self, ip: Ipv6Addr) -> bool {
        let differing = self.0.to_bits() ^ ip.to_bits();
        differing.leading_zeros() >= u32::from(self.1)
    }
}

/// Classifies an address by the table alone, ignoring allow lists. An IPv4-mapped IPv6 address
/// (`::ffff:a.b.c.d`) is classified as the IPv4 address that the kernel would connect to.
pub fn classify(ip: IpAddr) -> AddressClass {
    let refused = match ip.to_canonical() {
        IpAddr::V4(ip) => BLOCKED_V4.iter().find(|block| block.contains(ip)).map(|block| block.2),
        IpAddr::V6(ip) => BLOCKED_V6
            .iter()
            .find(|block| block.contains(ip))
            .map(|block| block.2)
            .or_else(|| (!GLOBAL_V6.contains(ip)).then_some(GLOBAL_V6.2)),
    };
    refused.map_or(AddressClass::Public, AddressClass::Refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipnet::IpNet;

    fn rule_of(ip: IpAddr) -> &'static str {
        match classify(ip) {
            AddressClass::Public => "public",
            AddressClass::Refused(rule) => rule.id(),
        }
    }

    fn step(ip: IpAddr, by: i8) -> Option<IpAddr> {
        match ip {
            IpAddr::V4(ip) => {
                ip.to_bits().checked_add_signed(by.into()).map(|n| IpAddr::V4(n.into()))
            }
            IpAddr::V6(ip) => {
                ip.to_bits().checked_add_signed(by.into()).map(|n| IpAddr::V6(n.into()))
            }
        }
    }

    /// `before` and `after` are the rules of the neighbors just outside the block, or `-`.
    fn check(block: &str, first: &str, last: &str, before: &str, after: &str) {
        let net: IpNet = block.parse().expect(block);
        let end = match net {
            IpNet::V4(net) => IpAddr::V4(net.broadcast()),
            IpNet::V6(net) => IpAddr::V6(net.broadcast()),
        };
        let outside = |ip, by| step(ip, by).map_or("-", rule_of);
        assert_eq!(rule_of(net.network()), first, "first of {block}");
        assert_eq!(rule_of(end), last, "last of {block}");
        assert_eq!(outside(net.network(), -1), before, "before {block}");
        assert_eq!(outside(end, 1), after, "after {block}");
    }

    #[test]
    fn every_v4_block_at_both_edges() {
        let public = "public";
        let rows = [
            ("0.0.0.0/8", "address.unspecified", "address.this_network", "-", public),
            ("10.0.0.0/8", "address.private", "address.private", public, public),
            ("100.64.0.0/10", "address.cgnat", "address.cgnat", public, public),
            ("127.0.0.0/8", "address.loopback", "address.loopback", public, public),
            ("169.254.0.0/16", "address.link_local", "address.link_local", public, public),
            ("172.16.0.0/12", "address.private", "address.private", public, public),
            ("192.0.0.0/24", "address.reserved", "address.reserved", public, public),
            ("192.0.2.0/24", "address.documentation", "address.documentation", public, public),
            ("192.88.99.0/24", "address.6to4", "address.6to4", public, public),
            ("192.168.0.0/16", "address.private", "address.private", public, public),
            ("198.18.0.0/15", "address.benchmarking", "address.benchmarking", public, public),
            ("198.51.100.0/24", "address.documentation", "address.documentation", public, public),
            ("203.0.113.0/24", "address.documentation", "address.documentation", public, public),
            ("224.0.0.0/4", "address.multicast", "address.multicast", public, "address.reserved"),
            ("240.0.0.0/4", "address.reserved", "address.broadcast", "address.multicast", "-"),
        ];
        for (block, first, last, before, after) in rows {
            check(block, first, last, before, after);
        }
    }

    #[test]
    fn every_metadata_address_and_its_neighbours() {
        let rows = [
            ("169.254.169.254/32", "address.link_local", "address.link_local"),
            ("169.254.170.2/32", "address.link_local", "address.link_local"),
            ("169.254.170.23/32", "address.link_local", "address.link_local"),
            ("168.63.129.16/32", "public", "public"),
            ("100.100.100.200/32", "address.cgnat", "address.cgnat"),
            ("192.0.0.192/32", "address.reserved", "address.reserved"),
            ("fd00:ec2::/32", "address.unique_local", "address.unique_local"),
            ("fd20:ce::254/128", "address.unique_local", "address.unique_local"),
        ];
        for (block, before, after) in rows {
            check(block, "address.metadata", "address.metadata", before, after);
        }
    }

    #[test]
    fn every_v6_block_at_both_edges() {
        let (public, closed) = ("public", "address.not_global_v6");
        let rows = [
            ("::/96", "address.unspecified", "address.v4_compatible", "-", closed),
            (
                "::1/128",
                "address.loopback",
                "address.loopback",
                "address.unspecified",
                "address.v4_compatible",
            ),
            // The address before is ::fffe:ffff:ffff; 255.255.255.255 mapped is the one before
            // ::1:0:0:0.
            ("::ffff:0:0:0/96", "address.siit", "address.siit", closed, closed),
            ("64:ff9b::/96", "address.nat64", "address.nat64", closed, closed),
            ("64:ff9b:1::/48", "address.nat64", "address.nat64", closed, closed),
            ("100::/64", "address.reserved", "address.reserved", closed, closed),
            ("2000::/3", public, public, closed, closed),
            ("2001::/32", "address.teredo", "address.teredo", public, "address.reserved"),
            ("2001::/23", "address.teredo", "address.reserved", public, public),
            ("2001:db8::/32", "address.documentation", "address.documentation", public, public),
            ("2002::/16", "address.6to4", "address.6to4", public, public),
            ("3fff::/20", "address.documentation", "address.documentation", public, public),
            ("fc00::/7", "address.unique_local", "address.unique_local", closed, closed),
            ("fe80::/10", "address.link_local", "address.link_local", closed, "address.site_local"),
            (
                "fec0::/10",
                "address.site_local",
                "address.site_local",
                "address.link_local",
                "address.multicast",
            ),
            ("ff00::/8", "address.multicast", "address.multicast", "address.site_local", "-"),
        ];
        for (block, first, last, before, after) in rows {
            check(block, first, last, before, after);
        }
    }

    #[test]
    fn every_mapped_block_is_judged_as_v4() {
        for V4Block(ip, ..) in BLOCKED_V4 {
            let mapped = classify(IpAddr::V6(ip.to_ipv6_mapped()));
            assert_ne!(mapped, AddressClass::Public, "{ip}");
            assert_eq!(mapped, classify(IpAddr::V4(*ip)), "{ip}");
        }
        check(
            "::ffff:0:0/96",
            "address.unspecified",
            "address.broadcast",
            "address.not_global_v6",
            "address.not_global_v6",
        );
        assert_eq!(rule_of("::ffff:93.184.215.14".parse().expect("address")), "public");
    }

    #[test]
    fn honest_addresses_are_public() {
        for ip in [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.215.14",
            "192.31.196.1",
            "2606:4700::1111",
            "2a00:1450::1",
        ] {
            assert_eq!(rule_of(ip.parse().expect(ip)), "public", "{ip}");
        }
    }
}
