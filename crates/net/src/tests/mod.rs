//! Tests of the crate: SSRF bypass tricks, and the client against a real server on loopback.

mod client;
mod keep_alive;
mod server;
mod ssrf_bypass;
mod tls;
