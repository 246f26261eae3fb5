//! The context in which commands run operations: the local owner, who sees everything.

use std::sync::OnceLock;

use toolcrib_agent::library::Library;
use toolcrib_app::{Stores, Toolcrib};
use toolcrib_ops::{NoActiveCalls, OpContext, StoreContext};

use crate::os_user;

/// Owner of everything that is stored on behalf of the command line.
pub(crate) const LOCAL_OWNER: &str = "";

/// The context of operations that only need the stores.
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

/// The context of all other operations; `library` where they look up agents or skills.
pub(crate) fn for_toolcrib<'a>(
    toolcrib: &'a Toolcrib,
    library: Option<&'a Library>,
) -> OpContext<'a> {
    OpContext { toolcrib, library, store: for_stores(toolcrib.stores()) }
}

/// The context of operations on the tools of one Toolcrib and the history in these stores.
pub(crate) fn for_history<'a>(toolcrib: &'a Toolcrib, stores: &'a Stores) -> OpContext<'a> {
    OpContext { toolcrib, library: None, store: for_stores(stores) }
}
