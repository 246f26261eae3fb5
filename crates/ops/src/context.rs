//! The context of operations: the stores or the Toolcrib, and the caller.

use toolcrib_agent::library::Library;
use toolcrib_app::{Stores, Toolcrib};
use toolcrib_core::CallId;

/// The caller of an operation, and the stores that it may read and write.
///
/// Operations on stored data take only this context: they need no tools, rules or configuration.
#[derive(Clone, Copy)]
pub struct StoreContext<'a> {
    /// All stores.
    pub stores: &'a Stores,
    /// The owner whose rows are visible; rows of others are reported as not found. Empty for the
    /// local owner.
    pub owner: &'a str,
    /// Name of the acting person or token in audit records.
    pub actor: &'a str,
    /// Whether replies contain arguments, results and texts that may repeat them.
    pub shows_payloads: bool,
    /// Calls that this process has accepted and that may not be stored yet.
    pub active_calls: &'a dyn ActiveCalls,
}

/// A Toolcrib with its stores, for operations on tools, rules and agents.
#[derive(Clone, Copy)]
pub struct OpContext<'a> {
    /// The tools, rules and switches.
    pub toolcrib: &'a Toolcrib,
    /// Agents, skills, kits and guides; `None` if the surface has loaded none.
    pub library: Option<&'a Library>,
    /// The caller and the stores.
    pub store: StoreContext<'a>,
}

/// Calls in the memory of this process.
pub trait ActiveCalls: Send + Sync {
    /// Returns a call of this owner that was accepted and has not ended.
    fn find(&self, owner: &str, call: CallId) -> Option<AcceptedCall>;
}

/// A call that this process accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedCall {
    /// The tool, as the caller named it.
    pub tool: String,
    /// The principal that made the call.
    pub actor: String,
}

/// The table of a process that accepts no calls of others.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoActiveCalls;

impl ActiveCalls for NoActiveCalls {
    fn find(&self, _owner: &str, _call: CallId) -> Option<AcceptedCall> {
        None
    }
}
