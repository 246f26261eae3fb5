//! Integration tests of MCP: a real server process as a tool source, and our server with a real
//! client.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test may end and say why")]

mod definition_corpus;
mod hostile_corpus;
mod hostile_servers;
mod mcp_client;
mod mcp_server;
mod stdio;
mod test_backend;
