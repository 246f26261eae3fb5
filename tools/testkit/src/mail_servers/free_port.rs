//! A port that no process listens on.

/// A free port of loopback.
///
/// # Panics
/// If none is free.
#[must_use]
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0");
    listener.and_then(|listener| listener.local_addr()).map_or_else(
        |error| panic!("no port of loopback is free: {error}"),
        |address| address.port(),
    )
}
