//! TCP: which addresses are taken, and what a connection is set up with.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::daemon::StartError;
use crate::door::is_proxy;
use crate::settings::Listen;

/// Connections that may wait to be taken; the system may allow fewer. One that comes when there is no room is tried again by its system only
/// a second later.
const BACKLOG: u32 = 4096;
/// Silence after which it is asked whether the other end still lives.
const IDLE: Duration = Duration::from_secs(60);
/// Time between two such questions, and how many may go unanswered.
const PROBES: (Duration, u32) = (Duration::from_secs(15), 4);
/// Milliseconds for which what was sent may go unread: a reader that stands still does not hold its connection for ever.
#[cfg(target_os = "linux")]
const UNREAD_MS: u32 = 120_000;

/// Listens, if what stands in the settings is safe.
pub(super) async fn bind(listen: &Listen) -> Result<Option<TcpListener>, StartError> {
    let Some(address) = listen.tcp else { return Ok(None) };
    let refused =
        |words: &str| StartError::Listen(format!("{address} cannot be listened on: {words}"));
    if !address.ip().is_loopback() && listen.tls.is_none() && listen.proxies.is_empty() {
        return Err(refused(
            "it is no loopback address, and tokens would cross the network in plain text; give a certificate (--tls-cert and --tls-key), \
             or name the proxy that stands in front (--behind-proxy ADDRESS)",
        ));
    }
    open(address).map(Some).map_err(|error| refused(&error.to_string()))
}

fn open(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A daemon that is started again takes its port at once.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Whether somebody may come in at all: in plain text from elsewhere, only a named proxy.
pub(super) fn may_come_in(listen: &Listen, local: SocketAddr, remote: IpAddr) -> bool {
    listen.tls.is_some()
        || local.ip().is_loopback()
        || is_own(remote)
        || is_proxy(&listen.proxies, remote)
}

fn is_own(remote: IpAddr) -> bool {
    remote.to_canonical().is_loopback()
}

/// Answers go out at once, and dead or standing peers are noticed. What the system does not offer is left as it is.
pub(super) fn set_up(stream: &TcpStream) {
    use rustix::net::sockopt;

    let _ = stream.set_nodelay(true);
    let _ = sockopt::set_socket_keepalive(stream, true);
    let _ = sockopt::set_tcp_keepidle(stream, IDLE);
    let _ = sockopt::set_tcp_keepintvl(stream, PROBES.0);
    let _ = sockopt::set_tcp_keepcnt(stream, PROBES.1);
    #[cfg(target_os = "linux")]
    let _ = sockopt::set_tcp_user_timeout(stream, UNREAD_MS);
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(tcp: &str, proxies: &[&str], expected: Result<(), &str>) {
        let proxies = proxies.iter().map(|net| net.parse().unwrap()).collect();
        let listen = Listen { tcp: tcp.parse().ok(), proxies, ..Listen::default() };
        match (bind(&listen).await, expected) {
            (Ok(Some(_)), Ok(())) => {}
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
            (found, _) => panic!("{tcp}: {:?}", found.map_err(|error| error.to_string())),
        }
    }

    #[tokio::test]
    async fn a_public_address_needs_tls_or_a_proxy() {
        check("127.0.0.1:0", &[], Ok(())).await;
        check("0.0.0.0:0", &["10.0.0.0/8"], Ok(())).await;
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[::ffff:127.0.0.1]:0"] {
            check(address, &[], Err("--behind-proxy")).await;
        }
    }

    #[test]
    fn in_plain_text_only_the_proxy_comes_in() {
        let listen = Listen { proxies: vec!["10.0.0.1/32".parse().unwrap()], ..Listen::default() };
        let (open, loopback) = ("0.0.0.0:80".parse().unwrap(), "127.0.0.1:80".parse().unwrap());
        let came = |remote: &str, local| may_come_in(&listen, local, remote.parse().unwrap());
        assert!(came("10.0.0.1", open) && came("127.0.0.1", open) && came("::ffff:10.0.0.1", open));
        assert!(!came("10.0.0.2", open) && came("10.0.0.2", loopback));
        let tls = Listen { tls: Some(Default::default()), ..Listen::default() };
        assert!(may_come_in(&tls, open, "10.0.0.2".parse().unwrap()));
    }
}
