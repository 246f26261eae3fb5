//! Policy: what may run.

use serde_json::Value;

use crate::approval::ReasonKind;
use crate::call::{Context, Origin};
use crate::id::{CallId, RunId};
use crate::permission::Permission;
use crate::spec::{Effect, Reach, Risk, ToolSpec};

/// The call as policy sees it: final arguments, assessed.
#[derive(Debug, Clone, Copy)]
pub struct Proposal<'a> {
    /// The call.
    pub call: CallId,
    /// Its run.
    pub run: Option<RunId>,
    /// Who asks.
    pub origin: Origin,
    /// Whose call it is.
    pub context: &'a Context,
    /// The tool.
    pub spec: &'a ToolSpec,
    /// The operation that policy names.
    pub operation: &'a str,
    /// The final arguments.
    pub args: &'a Value,
    /// Assessed risk.
    pub risk: Risk,
    /// Assessed effect.
    pub effect: Effect,
    /// Assessed reach.
    pub reach: Reach,
    /// Permissions that this call needs beyond the declared ones.
    pub extra_permissions: &'a [Permission],
}

/// What a gate says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vote {
    /// It must not run: the error type and the words for the model.
    Deny {
        /// `permission_denied` or `policy_denied`.
        error_type: crate::error::ErrorType,
        /// Why.
        reason: String,
    },
    /// A person must decide.
    Ask {
        /// Which part of policy asks; permission and taint stand whatever else allows the call.
        kind: ReasonKind,
        /// Why.
        reason: String,
    },
    /// A rule allows it: the preset is not consulted.
    Allow {
        /// Which rule.
        reason: String,
    },
    /// Nothing to say.
    Abstain,
}

/// A part of policy. It decides from what it is given and its own store, without waiting for anything; an error, or a panic, denies.
pub trait Gate: Send + Sync {
    /// Its name, for traces.
    fn name(&self) -> &'static str;

    /// Judges a call.
    ///
    /// # Errors
    /// Any error denies the call.
    fn judge(&self, proposal: &Proposal<'_>) -> Result<Vote, String>;
}
