//! Acts of administration are put on record: who changed what about how things are set up.

use toolcrib_app::core::{AuditEvent, Clock as _, SystemClock};

use crate::daemon::Daemon;
use crate::problem::{Code, Problem};
use crate::role::Principal;

/// Characters of what is said of an act.
const ABOUT_CHARS: usize = 500;

impl Daemon {
    /// Records in the audit that this principal did something that is no call: `act` is a word that stays, such as `rule.add` or
    /// `token.revoke`; `about` says to what, without the values of secrets. Known secrets are masked in it all the same.
    ///
    /// To be called once the act is done and before it is answered.
    ///
    /// # Errors
    /// `unavailable` when it cannot be recorded: whoever acted is not told that all is well.
    pub(crate) async fn record(
        &self,
        principal: &Principal,
        act: &'static str,
        about: impl Into<String> + Send,
    ) -> Result<(), Problem> {
        let about = self.toolcrib().engine().sealing().secrets.mask(about.into());
        let about = about.chars().take(ABOUT_CHARS).collect::<String>();
        tracing::info!(by = %principal.name, act, about, "administration");
        let Principal { name, owner, .. } = principal;
        let event = AuditEvent::administered(owner, name, act, about, SystemClock.now_ms());
        self.stores().audit.append(event).await.map_err(|error| {
            tracing::error!(%error, act, "an act of administration could not be recorded");
            let words = "it was done and could not be recorded in the audit; `toolcrib doctor` may know why";
            Problem::new(Code::Unavailable, words)
        })
    }
}
