//! Ports on which this program listens. Requests to them are denied, so that a model cannot reach
//! the daemon's own API.

use std::net::{IpAddr, UdpSocket};
use std::sync::{Arc, PoisonError, RwLock};

/// Ports of this machine to which the client never connects, even if an allow list opens them.
/// Clones share the ports. A port can be added at any time, because it is often known only once a
/// listener is bound.
#[derive(Clone, Debug, Default)]
pub struct OwnPorts(Arc<RwLock<Vec<u16>>>);

impl OwnPorts {
    /// Blocks this port for all later requests.
    pub fn block(&self, port: u16) {
        let mut ports = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if !ports.contains(&port) {
            ports.push(port);
        }
    }

    /// Returns whether a connection to this address would reach this program, under any address of
    /// this machine.
    pub(crate) fn contains(&self, ip: IpAddr, port: u16) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(&port) && is_ours(ip)
    }
}

/// Two values are equal if they block the same ports.
impl PartialEq for OwnPorts {
    fn eq(&self, other: &Self) -> bool {
        let ports = |own: &Self| own.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        Arc::ptr_eq(&self.0, &other.0) || ports(self) == ports(other)
    }
}

impl Eq for OwnPorts {}

/// Returns whether an address belongs to this machine: only then can a socket be bound to it.
/// Nothing is sent.
fn is_ours(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    ip.is_loopback() || ip.is_unspecified() || UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_port_is_closed_under_every_address_of_this_machine() {
        let (own, clone) = (OwnPorts::default(), OwnPorts::default());
        let same = own.clone();
        assert_eq!(own, clone);
        same.block(7000);
        same.block(7000);
        assert_ne!(own, clone);
        for ip in ["127.0.0.1", "127.9.9.9", "0.0.0.0", "::", "::1", "::ffff:127.0.0.1"] {
            let ip = ip.parse().expect(ip);
            assert!(own.contains(ip, 7000) && !own.contains(ip, 7001), "{ip}");
        }
        for ip in ["192.0.2.1", "10.255.255.254", "2001:db8::1"] {
            assert!(!own.contains(ip.parse().expect(ip), 7000), "{ip}");
        }
    }
}
