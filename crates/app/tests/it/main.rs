//! The tables of the five seeds, of the failure classes seen in their origins, and of the providers' edge cases: every row goes through a
//! real Toolcrib, with its built-in tools on real files and a real server on loopback.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod agent_loop;
mod approval_races;
mod bodies;
mod failure_classes;
mod folder;
mod keyed;
mod looking_back;
mod operating;
mod permissions;
mod provider_edges;
mod regressions;
mod row;
mod seed_000;
mod seed_001;
mod seed_002;
mod seed_003;
mod seed_004;
mod taint;
mod tampering;
mod traffic_cuts;
mod traffic_files;
mod traffic_live_cuts;
mod traffic_loop;
mod web;
mod world;
