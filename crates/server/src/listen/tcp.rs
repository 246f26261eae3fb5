//! TCP: the addresses that the daemon listens on, the peers that it accepts, and socket options.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::middleware::is_proxy;
use crate::settings::Listen;
use crate::start_error::StartError;

/// Maximum number of connections that wait for `accept`; the system may allow fewer. Beyond that,
/// the client's system sends its SYN again only after a second.
const BACKLOG: u32 = 4096;
/// Idle time before the first keepalive probe.
const IDLE: Duration = Duration::from_secs(60);
/// Interval of keepalive probes, and the maximum number of unanswered ones.
const PROBES: (Duration, u32) = (Duration::from_secs(15), 4);
/// Milliseconds for which sent data may stay unacknowledged (`TCP_USER_TIMEOUT`): a client that
/// does not read cannot hold its connection forever.
#[cfg(target_os = "linux")]
const USER_TIMEOUT_MS: u32 = 120_000;

/// Listens, if the settings are safe: tokens must not cross a network in plain text.
pub(super) async fn bind(listen: &Listen) -> Result<Option<TcpListener>, StartError> {
    let Some(address) = listen.tcp else { return Ok(None) };
    let refused = |why: &str| StartError::Listen(format!("cannot listen on {address}: {why}"));
    if !address.ip().is_loopback() && listen.tls.is_none() && listen.proxies.is_empty() {
        return Err(refused(
            "it is not a loopback address, and tokens would cross the network in plain text; give a \
             certificate (--tls-cert and --tls-key), or name the proxy in front \
             (--trusted-proxy ADDRESS)",
        ));
    }
    open(address).map(Some).map_err(|error| refused(&error.to_string()))
}

fn open(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // With this option, a restarted daemon can bind its port at once.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Returns whether a peer may connect: without TLS, another machine may connect only if it is a
/// configured proxy.
pub(super) fn is_allowed_peer(listen: &Listen, local: SocketAddr, remote: IpAddr) -> bool {
    listen.tls.is_some()
        || local.ip().is_loopback()
        || is_loopback_peer(remote)
        || is_proxy(&listen.proxies, remote)
}

fn is_loopback_peer(remote: IpAddr) -> bool {
    remote.to_canonical().is_loopback()
}

/// Disables Nagle's algorithm and enables the detection of dead or stuck peers. Options that the
/// system lacks are skipped.
pub(super) fn configure(stream: &TcpStream) {
    use rustix::net::sockopt;

    let _ = stream.set_nodelay(true);
    let _ = sockopt::set_socket_keepalive(stream, true);
    let _ = sockopt::set_tcp_keepidle(stream, IDLE);
    let _ = sockopt::set_tcp_keepintvl(stream, PROBES.0);
    let _ = sockopt::set_tcp_keepcnt(stream, PROBES.1);
    #[cfg(target_os = "linux")]
    let _ = sockopt::set_tcp_user_timeout(stream, USER_TIMEOUT_MS);
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
            check(address, &[], Err("--trusted-proxy")).await;
        }
    }

    #[test]
    fn in_plain_text_only_the_proxy_may_connect() {
        let listen = Listen { proxies: vec!["10.0.0.1/32".parse().unwrap()], ..Listen::default() };
        let (open, loopback) = ("0.0.0.0:80".parse().unwrap(), "127.0.0.1:80".parse().unwrap());
        let allowed =
            |remote: &str, local| is_allowed_peer(&listen, local, remote.parse().unwrap());
        assert!(
            allowed("10.0.0.1", open)
                && allowed("127.0.0.1", open)
                && allowed("::ffff:10.0.0.1", open)
        );
        assert!(!allowed("10.0.0.2", open) && allowed("10.0.0.2", loopback));
        let tls = Listen { tls: Some(Default::default()), ..Listen::default() };
        assert!(is_allowed_peer(&tls, open, "10.0.0.2".parse().unwrap()));
    }
}
