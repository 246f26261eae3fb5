//! Accepts connections and serves each in a separate task until the daemon is told to stop; then
//! drains them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::JoinSet;
use toolcrib_app::Toolcrib;
use toolcrib_core::CancellationToken;

use super::connection::{self, ConnectionContext, HttpSettings};
use super::daemon_file::{DaemonAddress, DaemonLock};
use super::tls::{self, Tls};
use super::unix_socket::BoundSocket;
use super::{subreaper, tcp};
use crate::admission::{Admission, ConnectionLimiter, ConnectionPermit};
use crate::peer::Peer;
use crate::settings::DaemonSettings;
use crate::start_error::StartError;

/// Pause after an error of `accept`, such as too many open files.
const ACCEPT_ERROR_DELAY: Duration = Duration::from_millis(50);
/// Drain time of connections that have not sent a token.
const UNAUTHENTICATED_DRAIN: Duration = Duration::from_millis(500);

/// The context that the listeners need.
pub(crate) struct ListenContext {
    /// Addresses and limits.
    pub(crate) settings: DaemonSettings,
    /// The Toolcrib whose tools must not connect to the port.
    pub(crate) toolcrib: Toolcrib,
    /// The limits on requests.
    pub(crate) admission: Arc<Admission>,
    /// The certificate; `None` = plain text.
    pub(crate) tls: Option<Arc<Tls>>,
    /// Cancelled when the daemon is told to stop.
    pub(crate) shutdown: CancellationToken,
}

/// Listens until the daemon is told to stop, then drains the connections. Calls `ready` with the
/// TCP address.
pub(crate) async fn serve(
    context: ListenContext,
    router: Router,
    ready: impl FnOnce(Option<SocketAddr>) + Send,
) -> Result<(), StartError> {
    let settings = &context.settings;
    let lock = DaemonLock::acquire(&settings.folder)?;
    let tcp = tcp::bind(&settings.listen).await?;
    let socket = settings.listen.unix.as_deref().map(BoundSocket::bind).transpose()?;
    subreaper::enable();
    let address = tcp.as_ref().and_then(|listener| listener.local_addr().ok());
    if let Some(address) = address {
        // No tool may reach the daemon that runs it, even if the owner allows this host.
        context.toolcrib.deny_port(address.port());
    }
    lock.publish(&daemon_address(settings, address))
        .map_err(|error| StartError::Listen(format!("the address file: {error}")))?;
    let mut acceptor = Acceptor::new(&context, router);
    ready(address);
    tokio::select! {
        () = acceptor.accept_loop(tcp.as_ref(), socket.as_ref()) => {}
        () = subreaper::reap() => {}
        () = watch_certificates(context.tls.as_deref()) => {}
        () = context.shutdown.cancelled() => {}
    }
    // Close the listeners first, so that no new connections arrive while the old ones drain.
    drop((tcp, socket));
    acceptor.drain().await;
    subreaper::end_tools().await;
    drop(lock);
    Ok(())
}

async fn watch_certificates(tls: Option<&Tls>) {
    match tls {
        Some(tls) => tls.watch_files(tls::RELOAD_INTERVAL).await,
        None => std::future::pending().await,
    }
}

fn daemon_address(settings: &DaemonSettings, tcp: Option<SocketAddr>) -> DaemonAddress {
    DaemonAddress {
        pid: std::process::id(),
        version: settings.version.clone(),
        tcp,
        tls: settings.listen.tls.is_some(),
        unix: settings.listen.unix.clone(),
        started: jiff::Timestamp::now().as_millisecond(),
    }
}

/// The connections of a daemon.
struct Acceptor<'a> {
    context: &'a ListenContext,
    limiter: Arc<ConnectionLimiter>,
    http: Arc<HttpSettings>,
    connections: JoinSet<()>,
}

impl<'a> Acceptor<'a> {
    fn new(context: &'a ListenContext, router: Router) -> Self {
        let http = HttpSettings {
            router,
            admission: Arc::clone(&context.admission),
            head_timeout: context.settings.head_timeout,
            body_idle_timeout: context.settings.body_idle_timeout,
            shutdown: context.shutdown.clone(),
        };
        Self {
            context,
            limiter: ConnectionLimiter::for_settings(&context.settings),
            http: Arc::new(http),
            connections: JoinSet::new(),
        }
    }

    /// Accepts connections, forever.
    async fn accept_loop(&mut self, tcp: Option<&TcpListener>, socket: Option<&BoundSocket>) {
        loop {
            tokio::select! {
                accepted = async { tcp?.accept().await.into() }, if tcp.is_some() => {
                    self.handle_accept(accepted, Self::accept_tcp).await;
                }
                accepted = async { Some(socket?.listener.accept().await) }, if socket.is_some() => {
                    self.handle_accept(accepted, |this, stream, _| this.accept_unix(stream)).await;
                }
                Some(_) = self.connections.join_next(), if !self.connections.is_empty() => {}
            }
        }
    }

    async fn handle_accept<S, A>(
        &mut self,
        accepted: Option<io::Result<(S, A)>>,
        serve: impl FnOnce(&mut Self, S, A),
    ) {
        match accepted {
            Some(Ok((stream, address))) => serve(self, stream, address),
            Some(Err(error)) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_ERROR_DELAY).await;
            }
            None => {}
        }
    }

    fn accept_tcp(&mut self, stream: TcpStream, remote: SocketAddr) {
        let Ok(local) = stream.local_addr() else { return };
        if !tcp::is_allowed_peer(&self.context.settings.listen, local, remote.ip()) {
            tracing::warn!(%remote, "a plain-text connection from no configured proxy was closed");
            return;
        }
        let Some(permit) = self.limiter.acquire(Some(remote.ip())) else {
            tracing::warn!(%remote, "a connection was closed: the limit of connections is reached");
            return;
        };
        tcp::configure(&stream);
        let connection = self.connection_context(Peer::Tcp { local, remote }, permit);
        let tls = self.context.tls.clone();
        self.connections.spawn(async move {
            match tls {
                None => connection::serve(connection, stream).await,
                Some(tls) => {
                    if let Some(stream) = tls.accept(stream).await {
                        connection::serve(connection, stream).await;
                    }
                }
            }
        });
    }

    fn accept_unix(&mut self, stream: UnixStream) {
        let Some(permit) = self.limiter.acquire(None) else { return };
        let connection = self.connection_context(Peer::from_unix(&stream), permit);
        self.connections.spawn(connection::serve(connection, stream));
    }

    fn connection_context(&self, peer: Peer, permit: ConnectionPermit) -> ConnectionContext {
        ConnectionContext { http: Arc::clone(&self.http), peer, permit }
    }

    /// Waits for the connections to end, for at most the drain time and a second.
    async fn drain(mut self) {
        let limit = self.context.settings.drain + Duration::from_secs(1);
        let connections = &mut self.connections;
        let all = async { while connections.join_next().await.is_some() {} };
        let limiter = &self.limiter;
        let unauthenticated = async {
            tokio::time::sleep(UNAUTHENTICATED_DRAIN).await;
            limiter.evict_unauthenticated();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = all => {}
            () = unauthenticated => {}
            () = tokio::time::sleep(limit) => {}
        }
    }
}
