//! Integration tests of the facade: tables of cases for tools, failure classes and provider
//! formats. Every row runs in a real Toolcrib, with the built-in tools on real files and a server
//! on loopback.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod agent_loop;
mod approval_races;
mod audit_tampering;
mod builtin_tools;
mod dispatch_and_artifacts;
mod failure_classes;
mod fixture;
mod folder_tools;
mod history_tools;
mod hooks_and_retries;
mod idempotency;
mod kill_switch_and_reconfigure;
mod permissions;
mod provider_edges;
mod recorded_streams_cut;
mod recorded_streams_cut_on_wire;
mod recorded_traffic;
mod recorded_traffic_loop;
mod regressions;
mod response_bodies;
mod short_needs;
mod taint;
mod test_case;
mod tiers_and_secrets;
mod tool_execution;
mod web_server;
