//! Audit records of administration: who changed the setup or took something back, and how.

use toolcrib_app::Secrets;
use toolcrib_core::{AuditEvent, CallId, Clock as _, RunId, SystemClock};

use crate::context::StoreContext;
use crate::error::OpError;

/// Most characters of the description of an action.
const ABOUT_CHARS: usize = 500;

/// Something other than a call that a person or a token did.
#[derive(Debug, Clone)]
pub struct Act {
    /// A stable name, such as `rule.add` or `token.revoke`.
    pub name: &'static str,
    /// To what it was done, without the values of secrets; known secrets are masked in it.
    pub about: String,
    /// The call that it is about.
    pub call: Option<CallId>,
    /// The run that it is about.
    pub run: Option<RunId>,
}

impl Act {
    /// An action that is about no call.
    #[must_use]
    pub fn new(name: &'static str, about: impl Into<String>) -> Self {
        Self { name, about: about.into(), call: None, run: None }
    }
}

/// Where operations on the owner's files and on the vault record what they did.
#[derive(Clone, Copy)]
pub enum Recorder<'a> {
    /// In the audit of a daemon: its callers are not the owner of the files.
    Audit {
        /// The caller and the stores.
        store: StoreContext<'a>,
        /// What is masked in records.
        secrets: &'a Secrets,
    },
    /// Nowhere: a local command changes the files of the person who runs it, as an editor does, and
    /// must work without a database.
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

/// Records an action, to be called when it is done and before it is reported as done.
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
