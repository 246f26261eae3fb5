//! Ports at which this program itself listens: nobody who is sent somewhere by a model is sent there.

use std::net::{IpAddr, UdpSocket};
use std::sync::{Arc, PoisonError, RwLock};

/// Ports of this machine that are never connected to, whatever an allow list opens. Clones are the same ports; a port may be closed at any
/// time, as it is often known only once something listens there.
#[derive(Clone, Debug, Default)]
pub struct OwnPorts(Arc<RwLock<Vec<u16>>>);

impl OwnPorts {
    /// Closes this port for every request that is sent from now on.
    pub fn close(&self, port: u16) {
        let mut ports = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if !ports.contains(&port) {
            ports.push(port);
        }
    }

    /// Whether a connection to this address would end here, under any of the addresses that this machine has.
    pub(crate) fn holds(&self, ip: IpAddr, port: u16) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(&port) && is_ours(ip)
    }
}

/// Two are equal when they close the same ports.
impl PartialEq for OwnPorts {
    fn eq(&self, other: &Self) -> bool {
        let ports = |own: &Self| own.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        Arc::ptr_eq(&self.0, &other.0) || ports(self) == ports(other)
    }
}

impl Eq for OwnPorts {}

/// Whether an address is this machine's: then, and only then, a socket can be bound to it. Nothing is sent.
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
        same.close(7000);
        same.close(7000);
        assert_ne!(own, clone);
        for ip in ["127.0.0.1", "127.9.9.9", "0.0.0.0", "::", "::1", "::ffff:127.0.0.1"] {
            let ip = ip.parse().expect(ip);
            assert!(own.holds(ip, 7000) && !own.holds(ip, 7001), "{ip}");
        }
        for ip in ["192.0.2.1", "10.255.255.254", "2001:db8::1"] {
            assert!(!own.holds(ip.parse().expect(ip), 7000), "{ip}");
        }
    }
}
