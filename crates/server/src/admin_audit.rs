//! Audit records of administration: who changed the setup of this daemon, and how.

use std::sync::Arc;

use toolcrib_app::core::{AuditEvent, AuditStore, Clock as _, SystemClock};
use toolcrib_app::{Secrets, Toolcrib};

use crate::problem::{Code, Problem};
use crate::role::Principal;

/// Characters of the description of an action.
const ABOUT_CHARS: usize = 500;

/// Records administrative actions.
pub(crate) struct AdminAudit {
    audit: Arc<dyn AuditStore>,
    secrets: Secrets,
}

impl AdminAudit {
    pub(crate) fn new(toolcrib: &Toolcrib) -> Self {
        Self {
            audit: Arc::clone(&toolcrib.stores().audit),
            secrets: toolcrib.engine().sealing().secrets.clone(),
        }
    }

    /// Records that this principal did something other than a call: `act` is a stable name, such as
    /// `rule.add` or `token.revoke`; `about` says to what, without the values of secrets. Known
    /// secrets are masked in it.
    ///
    /// To be called when the action is done, before the response.
    ///
    /// # Errors
    /// `unavailable` if the record cannot be written: an action that is not in the audit is not
    /// answered as a success.
    pub(crate) async fn record(
        &self,
        principal: &Principal,
        act: &'static str,
        about: impl Into<String> + Send,
    ) -> Result<(), Problem> {
        let about = self.secrets.mask(about.into());
        let about = about.chars().take(ABOUT_CHARS).collect::<String>();
        tracing::info!(by = %principal.name, act, about, "administration");
        let Principal { name, owner, .. } = principal;
        let event = AuditEvent::administered(owner, name, act, about, SystemClock.now_ms());
        self.audit.append(event).await.map_err(|error| {
            tracing::error!(%error, act, "an administrative action could not be recorded");
            let detail =
                "it was done but could not be recorded in the audit; run `toolcrib doctor`";
            Problem::new(Code::Unavailable, detail)
        })
    }
}
