//! The context in which commands run operations: the local owner, who may see everything.

use std::sync::OnceLock;

use toolcrib_agent::library::Library;
use toolcrib_app::{Stores, Toolcrib};
use toolcrib_ops::{NoActiveCalls, OpContext, StoreContext};

use crate::os_user;

/// Owner of all data that is stored on behalf of the command line.
pub(crate) const LOCAL_OWNER: &str = "";

/// Returns the context of operations that need only the stores.
pub(crate) fn for_stores(stores: &Stores) -> StoreContext<'_> {
    static ACTOR: OnceLock<String> = OnceLock::new();
    StoreContext {
        stores,
        owner: LOCAL_OWNER,
        actor: ACTOR.get_or_init(os_user::current_user),
        shows_payloads: true,
        active_calls: &NoActiveCalls,
    }
}

/// Returns the context of all other operations, with `library` for those that look up agents or
/// skills.
pub(crate) fn for_toolcrib<'a>(
    toolcrib: &'a Toolcrib,
    library: Option<&'a Library>,
) -> OpContext<'a> {
    OpContext { toolcrib, library, store: for_stores(toolcrib.stores()) }
}

/// Returns the context of operations on the tools of one Toolcrib and the history in these stores.
pub(crate) fn for_history<'a>(toolcrib: &'a Toolcrib, stores: &'a Stores) -> OpContext<'a> {
    OpContext { toolcrib, library: None, store: for_stores(stores) }
}
