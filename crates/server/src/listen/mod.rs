//! Listeners: the TCP port and the unix socket, their connections, TLS, and the address file.

mod acceptor;
mod body_timeout;
mod connection;
mod daemon_file;
mod framing;
mod subreaper;
mod tcp;
mod tls;
mod unix_socket;

pub(crate) use acceptor::{ListenContext, serve};
pub use daemon_file::DaemonAddress;
pub(crate) use framing::Framing;
pub(crate) use tls::Tls;
pub use unix_socket::SOCKET_PATH_BYTES;
