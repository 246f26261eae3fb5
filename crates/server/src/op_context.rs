//! The context in which a request runs operations.

use toolcrib_agent::library::Library;
use toolcrib_core::CallId;
use toolcrib_ops::administration::Recorder;
use toolcrib_ops::library::LibraryContext;
use toolcrib_ops::tokens::{CallerRights, TokenContext};
use toolcrib_ops::{AcceptedCall, ActiveCalls, OpContext, StoreContext};

use crate::active_requests::ActiveCallTable;
use crate::role::Principal;
use crate::state::DaemonState;

impl DaemonState {
    /// Returns the context of operations that need only the stores.
    pub(crate) fn store_context<'a>(&'a self, principal: &'a Principal) -> StoreContext<'a> {
        StoreContext {
            stores: self.stores(),
            owner: &principal.owner,
            actor: &principal.name,
            shows_payloads: principal.sees_payloads(),
            active_calls: self.active_requests(),
        }
    }

    /// Returns the context of all other operations, with `library` for those that look up agents or
    /// skills.
    pub(crate) fn op_context<'a>(
        &'a self,
        principal: &'a Principal,
        library: Option<&'a Library>,
    ) -> OpContext<'a> {
        OpContext { toolcrib: self.toolcrib(), library, store: self.store_context(principal) }
    }

    /// Returns the context of operations on the library.
    pub(crate) fn library_context(&self) -> LibraryContext<'_> {
        LibraryContext {
            toolcrib: self.toolcrib(),
            library: self.runner().library(),
            folders: self.runner().folders(),
        }
    }

    /// Returns a recorder for the actions of this principal in the audit.
    pub(crate) fn recorder<'a>(&'a self, principal: &'a Principal) -> Recorder<'a> {
        let secrets = &self.toolcrib().engine().sealing().secrets;
        Recorder::Audit { store: self.store_context(principal), secrets }
    }

    /// Returns the context of operations on tokens.
    pub(crate) fn token_context<'a>(&'a self, principal: &'a Principal) -> TokenContext<'a> {
        TokenContext {
            store: self.store_context(principal),
            secrets: &self.toolcrib().engine().sealing().secrets,
            tokens: &self.middleware().tokens,
            rights: CallerRights {
                roles: principal.roles,
                tools: principal.tools.as_deref(),
                expires_at: principal.expires_at,
            },
        }
    }
}

impl ActiveCalls for ActiveCallTable {
    fn find(&self, owner: &str, call: CallId) -> Option<AcceptedCall> {
        let active = self.get(call).filter(|active| active.owner == owner)?;
        Some(AcceptedCall { tool: active.tool, actor: active.by })
    }
}
