//! What the tools that look back read, from the stores and the engine that they belong to.

use std::sync::Arc;

use toolcrib_builtins::Records;
use toolcrib_engine::Engine;

use crate::stores::Stores;

/// The records of these stores; the engine is looked up and not held, as it holds the tools.
pub(crate) fn of(stores: &Stores, engine: &Engine) -> Records {
    Records {
        calls: Arc::clone(&stores.calls),
        history: Arc::clone(&stores.history),
        usage: Arc::clone(&stores.usage),
        conversations: Arc::clone(&stores.runs) as _,
        approvals: Arc::clone(&stores.approvals),
        catalog: Arc::downgrade(&engine.shared_catalog()),
        run_usage: engine.usage_of_runs(),
    }
}
