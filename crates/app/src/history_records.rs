//! Builds the data sources of the introspection tools from the stores and the engine.

use std::sync::Arc;

use toolcrib_builtins::IntrospectionStores;
use toolcrib_engine::Engine;

use crate::stores::Stores;

/// Creates the data sources on these stores. The engine is referenced weakly, because it owns the
/// tools.
pub(crate) fn history_records(stores: &Stores, engine: &Engine) -> IntrospectionStores {
    IntrospectionStores {
        calls: Arc::clone(&stores.calls),
        history: Arc::clone(&stores.history),
        usage: Arc::clone(&stores.usage),
        conversations: Arc::clone(&stores.runs) as _,
        approvals: Arc::clone(&stores.approvals),
        catalog: Arc::downgrade(&engine.shared_catalog()),
        run_usage: engine.usage_of_runs(),
    }
}
