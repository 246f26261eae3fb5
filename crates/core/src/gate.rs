//! Policy: what may run.

use serde_json::Value;

use crate::approval::ReasonKind;
use crate::call::{Context, Origin};
use crate::id::{CallId, RunId};
use crate::permission::Permission;
use crate::rule::{Decider, RuleRef};
use crate::spec::{Effect, Reach, Risk, ToolSpec};
use crate::taint::Labels;

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
    /// What the run has read before; none outside a run.
    pub labels: &'a Labels,
}

/// What a gate says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vote {
    /// It must not run: the error type and the words for the model.
    Deny {
        /// `permission_denied` or `policy_denied`.
        error_type: crate::error::ErrorType,
        /// Why, in words for the model: what was refused, by what, and what would be allowed.
        reason: String,
        /// The rule, when one refuses.
        rule: Option<RuleRef>,
    },
    /// A person must decide.
    Ask {
        /// Which part of policy asks; permission and taint stand whatever else allows the call.
        kind: ReasonKind,
        /// Why, in words for people.
        reason: String,
        /// The rule, when one asks.
        rule: Option<RuleRef>,
    },
    /// A rule allows it: the preset is not consulted.
    Allow {
        /// The rule; of several that allow parts of a call, one.
        rule: RuleRef,
    },
    /// Nothing to say.
    Abstain,
}

/// A part of policy. It decides from what it is given and its own store, without waiting for anything; an error, or a panic, denies.
pub trait Gate: Send + Sync {
    /// Its name, for traces.
    fn name(&self) -> &'static str;

    /// Which part of policy it is, where a ruling is shown.
    fn decider(&self) -> Decider {
        Decider::Gate
    }

    /// Judges a call.
    ///
    /// # Errors
    /// Any error denies the call.
    fn judge(&self, proposal: &Proposal<'_>) -> Result<Vote, String>;
}
