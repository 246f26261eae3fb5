//! Audit records of administration: the actor, the changed or revoked object, and the action.

use toolcrib_app::Secrets;
use toolcrib_core::{AuditEvent, CallId, Clock as _, RunId, SystemClock};

use crate::context::StoreContext;
use crate::error::OpError;

/// Maximum number of characters in the description of an action.
const ABOUT_CHARS: usize = 500;

/// An action other than a call, by a person or a token.
#[derive(Debug, Clone)]
pub struct Act {
    /// A stable name, such as `rule.add` or `token.revoke`.
    pub name: &'static str,
    /// The object of the action, without the values of secrets; known secrets are masked in it.
    pub about: String,
    /// The call that the action concerns.
    pub call: Option<CallId>,
    /// The run that the action concerns.
    pub run: Option<RunId>,
}

impl Act {
    /// Creates an action that concerns no call.
    #[must_use]
    pub fn new(name: &'static str, about: impl Into<String>) -> Self {
        Self { name, about: about.into(), call: None, run: None }
    }
}

/// Target of the records of operations on the owner's files and the vault.
#[derive(Clone, Copy)]
pub enum Recorder<'a> {
    /// The audit of a daemon, whose callers are not the owner of the files.
    Audit {
        /// The caller and the stores.
        store: StoreContext<'a>,
        /// The secrets to mask in records.
        secrets: &'a Secrets,
    },
    /// No record: a local command changes the files of the person who runs it, as an editor does,
    /// and must work without a database.
    None,
}

impl Recorder<'_> {
    /// Records an action as [`record`] does.
    ///
    /// # Errors
    /// [`OpError::Unrecorded`].
    pub async fn record(&self, act: Act) -> Result<(), OpError> {
        match self {
            Self::Audit { store, secrets } => record(store, secrets, act).await,
            Self::None => Ok(()),
        }
    }
}

/// Records an action. Call it after the action and before the action is reported as done.
///
/// # Errors
/// [`OpError::Unrecorded`] if the record cannot be written: an action that is not in the audit log
/// is not reported as a success.
pub async fn record(ctx: &StoreContext<'_>, secrets: &Secrets, act: Act) -> Result<(), OpError> {
    tracing::info!(by = %ctx.actor, act = act.name, "administration");
    let about: String = secrets.mask(act.about).chars().take(ABOUT_CHARS).collect();
    let now = SystemClock.now_ms();
    let event = AuditEvent {
        call: act.call,
        run: act.run,
        ..AuditEvent::administered(ctx.owner, ctx.actor, act.name, about, now)
    };
    ctx.stores.audit.append(event).await.map_err(|error| {
        OpError::Unrecorded(format!("it was done but could not be recorded in the audit: {error}"))
    })
}
