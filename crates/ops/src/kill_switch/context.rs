//! The context of operations on the kill switch.

use std::sync::Arc;

use toolcrib_app::{KillSwitchFile, Toolcrib};
use toolcrib_core::SwitchStore;

use crate::error::OpError;

/// Owner of the switches: the only owner.
pub(super) const OWNER: &str = "";

/// The kill switch and the acting person or token.
///
/// It needs no [`OpContext`](crate::OpContext): the file must work even if nothing else does.
#[derive(Clone, Copy)]
pub struct KillSwitchContext<'a> {
    /// The file in the state folder.
    pub file: &'a KillSwitchFile,
    /// Opens the store of the row. The store is opened after the file is written, so that a store
    /// that cannot be opened delays nothing.
    pub open_store: &'a (dyn Fn() -> Result<Arc<dyn SwitchStore>, OpError> + Sync),
    /// Name of the acting person or token.
    pub actor: &'a str,
    /// The tools of this process; `None` if it runs none.
    pub process: Option<ToolProcess<'a>>,
}

/// A process that runs tools.
#[derive(Clone, Copy)]
pub struct ToolProcess<'a> {
    /// Its tools and active calls.
    pub toolcrib: &'a Toolcrib,
    /// Whether daemons of other machines read the same store.
    pub store_is_shared: bool,
}
