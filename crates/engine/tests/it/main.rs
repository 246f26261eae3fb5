//! The engine as its callers see it: through [`toolcrib_core::Invoker`] and
//! [`toolcrib_core::Catalog`], with scripted tools.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod active_calls;
mod approval_channels;
mod approvals;
mod batches;
mod budgets;
mod child_calls;
mod command_suite;
mod crash_recovery;
mod decisions_after_restart;
mod environments;
mod failing_store;
mod guards_and_observers;
mod idempotency;
mod invariants;
mod load_and_memory;
mod multi_process;
mod permissions_and_presets;
mod policy_reconfigure;
mod repeat_guard;
mod result_shaping;
mod retries;
mod rules;
mod rules_suite;
mod single_outcome;
mod store_conformance;
mod store_failures;
mod support;
mod switches;
mod taint;
mod tool_registry;
mod tool_views;
