//! Tests of every operation on a Toolcrib with in-memory stores.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod agents;
mod approvals;
mod artifacts;
mod audit_bundle;
mod audit_records;
mod audit_verify;
mod chains;
mod changes;
mod conversations;
mod custom_instructions;
mod documents;
mod fixture;
mod goals;
mod grants;
mod heartbeat;
mod history_and_explain;
mod kill_switch;
mod library;
mod lists;
mod mcp_servers;
mod memories;
mod notifications;
mod rules;
mod secrets;
mod settings;
mod switches;
mod tasks;
mod tokens;
mod tools;
mod usage;
