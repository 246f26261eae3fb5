//! Sockets: connections come in, each is served on its own, and all of them end when the daemon does.

mod ancestry;
mod card;
mod connection;
mod crowd;
mod files;
mod orphans;
mod peer;
mod reception;
mod slow_body;
mod socket;
mod tcp;
mod tls;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::JoinSet;

use crate::daemon::{Daemon, StartError};
pub use card::Address;
use connection::Guest;
use crowd::{Crowd, Room};
pub(crate) use crowd::{Full, Seat};
pub(crate) use peer::Peer;
pub(crate) use reception::{Reception, leave_reception};
pub use socket::SOCKET_PATH_BYTES;
use socket::Socket;
pub(crate) use tls::Tls;

/// The pause after a connection that could not be taken, such as for want of files.
const REST: Duration = Duration::from_millis(50);
/// How long those who have shown no token may go on after the daemon was told to stop.
const STRANGERS_STAY: Duration = Duration::from_millis(500);

/// Listens until the daemon is told to stop, then drains.
pub(crate) async fn serve(
    daemon: &Daemon,
    ready: impl FnOnce(Option<SocketAddr>) + Send,
) -> Result<(), StartError> {
    let settings = daemon.settings();
    let claim = card::Claim::of(&settings.folder)?;
    let tcp = tcp::bind(&settings.listen).await?;
    let socket = settings.listen.unix.as_deref().map(Socket::bind).transpose()?;
    orphans::adopt();
    let address = tcp.as_ref().and_then(|listener| listener.local_addr().ok());
    if let Some(address) = address {
        // No tool reaches the daemon that runs it, whatever the owner opened for tools.
        daemon.toolcrib().close_port(address.port());
    }
    let card = card_of(daemon, address);
    claim
        .publish(&card)
        .map_err(|error| StartError::Listen(format!("the address file: {error}")))?;
    let room = settings.connections.min(files::room_for_connections());
    let of_client = settings.connections_of_client.min(room / 2).max(1);
    let crowd = Crowd::of(Room { all: room, of_client, strangers: settings.strangers });
    let mut house = House { daemon, crowd, router: daemon.router(), connections: JoinSet::new() };
    ready(address);
    tokio::select! {
        () = house.receive(tcp.as_ref(), socket.as_ref()) => {}
        () = orphans::bury() => {}
        () = follow_certificates(daemon) => {}
        () = daemon.stopping().cancelled() => {}
    }
    // Nothing comes in any more, and nobody is sent here.
    drop((tcp, socket));
    house.drain().await;
    drop(claim);
    Ok(())
}

async fn follow_certificates(daemon: &Daemon) {
    match daemon.tls() {
        Some(tls) => tls.follow(tls::LOOKED).await,
        None => std::future::pending().await,
    }
}

fn card_of(daemon: &Daemon, tcp: Option<SocketAddr>) -> Address {
    let settings = daemon.settings();
    Address {
        pid: std::process::id(),
        version: settings.version.clone(),
        tcp,
        tls: settings.listen.tls.is_some(),
        unix: settings.listen.unix.clone(),
        started: jiff::Timestamp::now().as_millisecond(),
    }
}

/// The connections of a daemon.
struct House<'a> {
    daemon: &'a Daemon,
    crowd: Arc<Crowd>,
    router: Router,
    connections: JoinSet<()>,
}

impl House<'_> {
    /// Takes connections, for ever.
    async fn receive(&mut self, tcp: Option<&TcpListener>, socket: Option<&Socket>) {
        loop {
            tokio::select! {
                came = async { tcp?.accept().await.into() }, if tcp.is_some() => {
                    self.greet(came, Self::let_in_tcp).await;
                }
                came = async { Some(socket?.listener.accept().await) }, if socket.is_some() => {
                    self.greet(came, |house, stream, _| house.let_in_process(stream)).await;
                }
                Some(_) = self.connections.join_next(), if !self.connections.is_empty() => {}
            }
        }
    }

    async fn greet<S, A>(
        &mut self,
        came: Option<io::Result<(S, A)>>,
        let_in: impl FnOnce(&mut Self, S, A),
    ) {
        match came {
            Some(Ok((stream, address))) => let_in(self, stream, address),
            Some(Err(error)) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(REST).await;
            }
            None => {}
        }
    }

    fn let_in_tcp(&mut self, stream: TcpStream, remote: SocketAddr) {
        let Ok(local) = stream.local_addr() else { return };
        if !tcp::may_come_in(&self.daemon.settings().listen, local, remote.ip()) {
            tracing::warn!(%remote, "somebody who is no proxy came in plain text");
            return;
        }
        let Some(seat) = self.crowd.enter(Some(remote.ip())) else {
            tracing::warn!(%remote, "there is no room for another connection");
            return;
        };
        tcp::set_up(&stream);
        let guest = self.guest(Peer::Tcp { local, remote }, seat);
        self.connections.spawn(async move {
            let daemon = guest.daemon.clone();
            match daemon.tls() {
                None => connection::serve(guest, stream).await,
                Some(tls) => {
                    if let Some(stream) = tls.accept(stream).await {
                        connection::serve(guest, stream).await;
                    }
                }
            }
        });
    }

    fn let_in_process(&mut self, stream: UnixStream) {
        let Some(seat) = self.crowd.enter(None) else { return };
        let guest = self.guest(Peer::of_unix(&stream), seat);
        self.connections.spawn(connection::serve(guest, stream));
    }

    fn guest(&self, peer: Peer, seat: Seat) -> Guest {
        Guest { daemon: self.daemon.clone(), peer, seat, router: self.router.clone() }
    }

    /// Waits for those who are being answered; what lasts longer than the settings allow is broken off.
    async fn drain(mut self) {
        let longest = self.daemon.settings().drain + Duration::from_secs(1);
        let connections = &mut self.connections;
        let all = async { while connections.join_next().await.is_some() {} };
        let crowd = &self.crowd;
        let strangers = async {
            tokio::time::sleep(STRANGERS_STAY).await;
            crowd.send_strangers_away();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = all => {}
            () = strangers => {}
            () = tokio::time::sleep(longest) => {}
        }
    }
}
