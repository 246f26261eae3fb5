//! A real server process behind the real door, and our door behind a real client.

mod client;
mod server;
mod world;
