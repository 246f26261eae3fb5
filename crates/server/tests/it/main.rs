//! Tests of the daemon from outside: over sockets, with a real store, real tools and a scripted
//! model.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod agents;
mod approvals;
mod audit;
mod browser_session;
mod calls;
mod calls_again;
mod docs_page;
mod drafts;
mod environments;
mod exec;
mod files;
mod grants;
mod heartbeat;
mod hooks;
mod listen;
mod mcp;
mod metrics;
mod middleware;
mod notifications;
mod openapi;
#[cfg(feature = "otlp")]
mod otlp;
mod owner_isolation;
mod page;
mod pagination;
mod raw_http;
mod recovery;
mod request_smuggling;
mod rules;
mod run_streams;
mod runs;
mod secrets;
mod settings;
mod support;
mod switches;
mod tasks;
mod tokens;
mod tool_limits;
mod tools;
mod tools_cannot_reach_daemon;
