//! Connection of one hop: resolve once, check every address, connect to a checked address, then
//! TLS.
#![deny(clippy::indexing_slicing)]

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::rustls::ClientConfig;

use crate::address_policy::AddressPolicy;
use crate::deny_rule::{ConnectionDenied, Rule};
use crate::dns::{Resolve, resolve_checked};
use crate::error::{HttpError, Phase};
use crate::limits::{Limits, MAX_CONNECT_ATTEMPTS};
use crate::quick_ack::QuickAckStream;
use crate::tls;
use crate::url_check::Target;

/// A byte stream to the peer, plain or TLS.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// The dependencies of a connection besides its target.
pub(crate) struct Dialer<'a> {
    pub(crate) policy: &'a AddressPolicy,
    pub(crate) resolver: &'a dyn Resolve,
    pub(crate) tls: Option<&'a Arc<ClientConfig>>,
    pub(crate) limits: &'a Limits,
    pub(crate) deadline: Deadline,
}

/// The deadline of a complete request, with its original timeout for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    at: Instant,
    total: Duration,
}

impl Deadline {
    pub(crate) fn after(total: Duration) -> Self {
        let now = Instant::now();
        // A timeout beyond the clock's range means no timeout: use thirty years.
        let far = Duration::from_secs(30 * 365 * 86_400);
        Self { at: now.checked_add(total).unwrap_or(now + far), total }
    }

    /// Returns the earlier of both deadlines.
    fn earlier(self, other: Self) -> Self {
        if other.at < self.at { other } else { self }
    }

    /// Returns an equal share of the remaining time for one of `parts` attempts; errors report the
    /// complete timeout.
    fn share(self, parts: usize) -> Self {
        let now = Instant::now();
        let parts = u32::try_from(parts).unwrap_or(u32::MAX).max(1);
        Self { at: now + self.at.saturating_duration_since(now) / parts, total: self.total }
    }

    /// Runs `work` until this deadline.
    pub(crate) async fn bound<T>(
        self,
        phase: Phase,
        host: &str,
        work: impl Future<Output = T>,
    ) -> Result<T, HttpError> {
        let late = |_| HttpError::Timeout { phase, host: host.to_owned(), after: self.total };
        timeout_at(self.at, work).await.map_err(late)
    }
}

/// The time limits for waiting for bytes of the peer: until the deadline of the request, but at
/// most the idle timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectTimeouts {
    pub(crate) deadline: Deadline,
    pub(crate) idle: Option<Duration>,
}

impl ConnectTimeouts {
    /// Runs `work`, which ends when bytes arrive.
    pub(crate) async fn bound<T>(
        self,
        phase: Phase,
        host: &str,
        work: impl Future<Output = T>,
    ) -> Result<T, HttpError> {
        let silence = self.idle.map(Deadline::after).filter(|own| own.at < self.deadline.at);
        let Some(silence) = silence else {
            return self.deadline.bound(phase, host, work).await;
        };
        let idle = |_| HttpError::Idle { phase, host: host.to_owned(), after: silence.total };
        timeout_at(silence.at, work).await.map_err(idle)
    }
}

impl Dialer<'_> {
    /// Opens a connection to `target` and returns it with the address of the peer.
    pub(crate) async fn dial(
        &self,
        target: &Target,
    ) -> Result<(Box<dyn Io>, SocketAddr), HttpError> {
        let host = target.authority();
        let (stream, peer) = self.dial_tcp(target).await?;
        let limit = self.deadline.earlier(Deadline::after(self.limits.connect));
        let stream = QuickAckStream::new(stream);
        if !target.is_https() {
            return Ok((Box::new(stream), peer));
        }
        let refused = |detail| HttpError::Tls { host: host.clone(), detail };
        let config = match self.tls {
            Some(config) => Arc::clone(config),
            None => tls::system_config().map_err(|error| refused(error.to_string()))?,
        };
        let shaking = tls::handshake(config, target.host(), stream);
        let stream = limit.bound(Phase::Tls, &host, shaking).await?.map_err(refused)?;
        Ok((Box::new(stream), peer))
    }
}

impl Dialer<'_> {
    /// Opens a TCP connection to `target` and returns it with the address of the peer.
    pub(crate) async fn dial_tcp(
        &self,
        target: &Target,
    ) -> Result<(TcpStream, SocketAddr), HttpError> {
        let host = target.authority();
        let limit = self.deadline.earlier(Deadline::after(self.limits.connect));
        let looking = resolve_checked(target, self.resolver, self.policy);
        let addresses = limit.bound(Phase::Dns, &host, looking).await??.addresses;
        let limit = self.deadline.earlier(Deadline::after(self.limits.connect));
        connect_first(&addresses, limit, &host).await
    }
}

/// Tries the addresses in order; each gets an equal share of the remaining time.
async fn connect_first(
    addresses: &[SocketAddr],
    limit: Deadline,
    host: &str,
) -> Result<(TcpStream, SocketAddr), HttpError> {
    let attempts = addresses.len().min(MAX_CONNECT_ATTEMPTS);
    let mut last = HttpError::Dns(ConnectionDenied::new(Rule::DnsEmpty, host));
    for (tried, &addr) in addresses.iter().take(attempts).enumerate() {
        let share = limit.share(attempts - tried);
        match share.bound(Phase::Connect, host, TcpStream::connect(addr)).await {
            Ok(Ok(stream)) => return Ok((assert_peer(stream, addr, host)?, addr)),
            Ok(Err(source)) => {
                last = HttpError::Connect { host: host.to_owned(), addr, source };
            }
            Err(late) => last = late,
        }
    }
    Err(last)
}

/// Verifies that the connection reached exactly the address that was checked.
fn assert_peer(stream: TcpStream, addr: SocketAddr, host: &str) -> Result<TcpStream, HttpError> {
    let reached = |source: io::Error| HttpError::Connect { host: host.to_owned(), addr, source };
    let peer = stream.peer_addr().map_err(reached)?;
    if (peer.ip().to_canonical(), peer.port()) != (addr.ip(), addr.port()) {
        let denied = ConnectionDenied::new(Rule::PeerMismatch, host).with_address(peer.ip());
        return Err(denied.into());
    }
    // Latency matters more than throughput: each connection sends one small request. Failing to set
    // the option is harmless.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_peer_other_than_the_checked_one_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let addr = listener.local_addr().expect("address");
        let checked = SocketAddr::new([93, 184, 215, 14].into(), addr.port());
        let stream = TcpStream::connect(addr).await.expect("connect");
        let error = assert_peer(stream, checked, "a.example.com:80").expect_err("mismatch");
        assert!(matches!(error, HttpError::Denied(denied) if denied.rule == Rule::PeerMismatch));
        let stream = TcpStream::connect(addr).await.expect("connect");
        assert_peer(stream, addr, "a.example.com:80").expect("same address");
    }

    #[tokio::test]
    async fn deadlines_share_and_never_overflow() {
        let limit = Deadline::after(Duration::from_secs(8));
        let share = limit.share(4);
        assert!(share.at < limit.at && share.total == limit.total);
        assert!(share.at <= Instant::now() + Duration::from_secs(2));
        let endless = Deadline::after(Duration::MAX);
        assert_eq!(endless.earlier(limit).at, limit.at);
        assert_eq!(limit.earlier(endless).at, limit.at);
    }
}
