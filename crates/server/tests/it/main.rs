//! The daemon as its users meet it: over sockets, with a real store, real tools and a scripted model.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod agents;
mod approvals;
mod audit;
mod calls;
mod docs_page;
mod documents;
mod door;
mod exec;
mod figures;
mod files;
mod grants;
mod listening;
mod lists;
mod mcp;
#[cfg(feature = "otlp")]
mod otlp;
mod owners;
mod raw;
mod recovery;
mod rules;
mod runs;
mod secrets;
mod session;
mod settings;
mod shapes;
mod streams;
mod support;
mod switches;
mod tokens;
mod tools;
mod unreachable;
