//! The engine as its callers see it: through [`toolcrib_core::Invoker`] and [`toolcrib_core::Catalog`], with scripted tools.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod approvals;
mod batches;
mod budgets;
mod conformance;
mod hooks;
mod invariants;
mod load;
mod policy;
mod registry;
mod repeats;
mod results;
mod retries;
mod support;
mod views;
