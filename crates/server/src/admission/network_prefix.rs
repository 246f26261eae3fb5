//! The part of an address that identifies a client before it sends a token.

use std::net::{IpAddr, Ipv6Addr};

/// Returns an IPv4 address unchanged, or the first 64 bits of an IPv6 address: one subscriber
/// usually controls a whole /64.
pub(crate) fn network_prefix(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_ipv6_network_are_one() {
        let of = |text: &str| network_prefix(text.parse().unwrap()).to_string();
        assert_eq!(of("2606:4700:1:2:3:4:5:6"), "2606:4700:1:2::");
        assert_eq!((of("1.2.3.4"), of("::ffff:1.2.3.4")), ("1.2.3.4".into(), "1.2.3.4".into()));
    }
}
