//! Gates: the parts of policy that vote on a call.

use serde_json::Value;

use crate::approval::ReasonKind;
use crate::call::{Context, Origin};
use crate::error::ToolError;
use crate::id::{CallId, RunId};
use crate::permission::Permission;
use crate::rule::{Decider, RuleRef};
use crate::spec::{Effect, Reach, Risk, ToolSpec};
use crate::taint::Labels;

/// The call as policy sees it, with final arguments and its assessment.
#[derive(Debug, Clone, Copy)]
pub struct GateInput<'a> {
    /// The call.
    pub call: CallId,
    /// Run of the call.
    pub run: Option<RunId>,
    /// Where the call comes from.
    pub origin: Origin,
    /// Owner, agent and the rest of the caller's context.
    pub context: &'a Context,
    /// The tool.
    pub spec: &'a ToolSpec,
    /// The operation that policy evaluates.
    pub operation: &'a str,
    /// The final arguments.
    pub args: &'a Value,
    /// Assessed risk.
    pub risk: Risk,
    /// Assessed effect.
    pub effect: Effect,
    /// Assessed reach.
    pub reach: Reach,
    /// Whether the call runs a program where path rules cannot be enforced.
    pub unconfined: bool,
    /// Permissions that the call needs beyond the declared ones.
    pub extra_permissions: &'a [Permission],
    /// Taint labels of the run; none outside a run.
    pub labels: &'a Labels,
}

/// A gate's vote on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vote {
    /// The call must not run.
    Deny {
        /// `permission_denied` or `policy_denied`. The message names the refused operation and the
        /// part of policy that refused it, and tells the model which alternatives are allowed.
        error: ToolError,
        /// The rule, if a rule denies.
        rule: Option<RuleRef>,
    },
    /// A person must decide.
    Ask {
        /// The part of policy that asks. Questions about permissions and taint are asked even if a
        /// rule allows the call.
        kind: ReasonKind,
        /// Reason, for people.
        reason: String,
        /// The rule, if a rule asks.
        rule: Option<RuleRef>,
    },
    /// A rule allows the call: the preset is not evaluated.
    Allow {
        /// The rule; one of them if several rules allow parts of the call.
        rule: RuleRef,
    },
    /// No vote.
    Abstain,
}

/// A part of policy. It decides synchronously from its input and its own state; an error or a panic
/// denies the call.
///
/// The strictest vote of all gates applies: one [`Vote::Deny`] denies, one [`Vote::Ask`] asks. A
/// gate runs for every call, so it must not do I/O.
///
/// ```
/// use toolcrib_core::{Effect, ErrorType, Gate, GateInput, ReasonKind, ToolError, Vote};
///
/// /// Denies what destroys something, and asks about everything that changes something.
/// struct Careful;
///
/// impl Gate for Careful {
///     fn name(&self) -> &'static str {
///         "careful"
///     }
///
///     fn evaluate(&self, call: &GateInput<'_>) -> Result<Vote, String> {
///         Ok(match call.effect {
///             Effect::Pure | Effect::Read => Vote::Abstain,
///             Effect::Destructive => {
///                 let text = format!("{} is not allowed. Move the file instead.", call.spec.name);
///                 Vote::Deny { error: ToolError::new(ErrorType::PolicyDenied, text), rule: None }
///             }
///             Effect::Idempotent | Effect::SideEffect => Vote::Ask {
///                 kind: ReasonKind::Risk,
///                 reason: "it changes something".to_owned(),
///                 rule: None,
///             },
///         })
///     }
/// }
/// ```
pub trait Gate: Send + Sync {
    /// Returns the name, for traces.
    fn name(&self) -> &'static str;

    /// Returns the part of policy that rulings name.
    fn decider(&self) -> Decider {
        Decider::Gate
    }

    /// Votes on a call.
    ///
    /// # Errors
    /// Any error denies the call.
    fn evaluate(&self, proposal: &GateInput<'_>) -> Result<Vote, String>;
}
