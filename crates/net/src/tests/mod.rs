//! Tests of the whole crate: the corpus of bypass tricks, and the client against a real server on the loopback.

mod bypass;
mod client;
mod keep_alive;
mod server;
mod tls;
