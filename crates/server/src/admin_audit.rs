//! Audit records of administration: which principal changed the setup of this daemon, and how.

use toolcrib_ops::administration::{self, Act};

use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// Records administrative actions.
pub(crate) struct AdminAudit<'a> {
    daemon: &'a DaemonState,
}

impl<'a> AdminAudit<'a> {
    pub(crate) fn new(daemon: &'a DaemonState) -> Self {
        Self { daemon }
    }

    /// Records an action of this principal other than a call: `act` is a stable name, such as
    /// `rule.add` or `token.revoke`; `about` identifies the object of the action, without the
    /// values of secrets. Known secrets are masked in it.
    ///
    /// Call it after the action and before the response.
    ///
    /// # Errors
    /// `unavailable` if the record cannot be written: an action without an audit record is not
    /// reported as a success.
    pub(crate) async fn record(
        &self,
        principal: &Principal,
        act: &'static str,
        about: impl Into<String> + Send,
    ) -> Result<(), Problem> {
        let secrets = &self.daemon.toolcrib().engine().sealing().secrets;
        let ctx = self.daemon.store_context(principal);
        Ok(administration::record(&ctx, secrets, Act::new(act, about)).await?)
    }
}
