//! A real server process behind the real door, and our door behind a real client.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test may end and say why")]

mod client;
mod piped;
mod server;
mod world;
