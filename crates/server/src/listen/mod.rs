//! Sockets: connections come in, each is served on its own, and all of them end when the daemon does.

mod connection;
mod peer;

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinSet;

use crate::daemon::{Daemon, StartError};
pub(crate) use peer::Peer;

/// Listens until the daemon is told to stop, then drains.
pub(crate) async fn serve(
    daemon: &Daemon,
    ready: impl FnOnce(Option<SocketAddr>) + Send,
) -> Result<(), StartError> {
    let listen = &daemon.settings().listen;
    let failed = |what: &dyn std::fmt::Display, error: std::io::Error| {
        StartError::Listen(format!("{what} cannot be listened on: {error}"))
    };
    let tcp = match listen.tcp {
        Some(address) => {
            Some(TcpListener::bind(address).await.map_err(|error| failed(&address, error))?)
        }
        None => None,
    };
    let unix = match &listen.unix {
        Some(path) => {
            let _ = std::fs::remove_file(path);
            let listener = UnixListener::bind(path).map_err(|error| failed(&path.display(), error))?;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
                .map_err(|error| failed(&path.display(), error))?;
            Some(listener)
        }
        None => None,
    };
    let address = tcp.as_ref().and_then(|listener| listener.local_addr().ok());
    let router = daemon.router();
    let mut connections = JoinSet::new();
    ready(address);
    loop {
        tokio::select! {
            () = daemon.stopping().cancelled() => break,
            Some(Ok((stream, remote))) = async { Some(tcp.as_ref()?.accept().await) }, if tcp.is_some() => {
                let _ = stream.set_nodelay(true);
                let Some(local) = address else { continue };
                let peer = Peer::Tcp { local, remote };
                connections.spawn(connection::serve(daemon.clone(), stream, peer, router.clone()));
            }
            Some(Ok((stream, _))) = async { Some(unix.as_ref()?.accept().await) }, if unix.is_some() => {
                let peer = Peer::of_unix(&stream);
                connections.spawn(connection::serve(daemon.clone(), stream, peer, router.clone()));
            }
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
    drop((tcp, unix));
    let drained = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(daemon.settings().drain + Duration::from_secs(1), drained).await;
    Ok(())
}
