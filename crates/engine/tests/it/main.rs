//! The engine as its callers see it: through [`toolcrib_core::Invoker`] and [`toolcrib_core::Catalog`], with scripted tools.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod approvals;
mod batches;
mod budgets;
mod channels;
mod conformance;
mod crash;
mod decisions;
mod failing;
mod hooks;
mod invariants;
mod keyed;
mod load;
mod nested;
mod one_outcome;
mod policy;
mod processes;
mod reconfigure;
mod registry;
mod repeats;
mod results;
mod retries;
mod rules;
mod rules_suite;
mod running;
mod stores;
mod support;
mod switches;
mod taint;
mod views;
