//! Extension code around calls: guards, which may refuse or rewrite, and observers, which may only look.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::BoxFuture;
use crate::call::{Context, Origin};
use crate::error::ErrorType;
use crate::id::{ApprovalId, CallId, RunId};

/// What a guard says.
#[derive(Debug, Clone, PartialEq)]
pub enum GuardVerdict {
    /// Go on.
    Continue,
    /// Go on with these arguments; they are decoded and validated again.
    Rewrite(Value),
    /// Stop, with words for the model.
    Deny(String),
}

/// The call as a guard sees it.
#[derive(Debug, Clone, Copy)]
pub struct Guarded<'a> {
    /// The call.
    pub call: CallId,
    /// Its run.
    pub run: Option<RunId>,
    /// Who asks.
    pub origin: Origin,
    /// Whose call it is.
    pub context: &'a Context,
    /// Canonical name of the tool.
    pub tool: &'a str,
    /// Validated arguments.
    pub args: &'a Value,
}

/// A guard hook: runs once per call, at stage 5, in order of registration, for at most 2 s. An error, a panic or a late answer denies.
pub trait Guard: Send + Sync {
    /// Its name, for traces.
    fn name(&self) -> &str;

    /// Looks at a call before policy does.
    fn check<'a>(&'a self, call: &'a Guarded<'a>) -> BoxFuture<'a, Result<GuardVerdict, String>>;
}

/// When an observer is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// `on_before_tool`: before each attempt.
    BeforeTool,
    /// `on_after_tool`: after a success.
    AfterTool,
    /// `on_tool_error`: after any failure, reported failures and timeouts included (SPEC 3.3).
    ToolError,
    /// `on_permission_denied`: a permission, a rule, a preset or a guard refused.
    PermissionDenied,
    /// `on_token_budget_exceeded`: a budget refused.
    BudgetExceeded,
    /// `on_tools_disabled`: a switch refused.
    ToolsDisabled,
    /// A failed attempt is tried again.
    Retry,
    /// A person is asked.
    ApprovalRequired,
    /// A person decided.
    ApprovalDecided,
    /// The time of a tool ran out.
    Timeout,
}

/// What an observer is told (the context fields of SPEC 3.3).
#[derive(Debug, Clone, Serialize)]
pub struct Event {
    /// When.
    pub kind: EventKind,
    /// The call.
    pub call: CallId,
    /// Its run.
    pub run: Option<RunId>,
    /// Name of the tool.
    pub tool: String,
    /// Arguments, once they are known.
    pub args: Option<Arc<Value>>,
    /// Whose call it is.
    pub context: Arc<Context>,
    /// Number of the attempt, from 1; 0 before the first.
    pub attempt: u32,
    /// The result's text, after a success.
    pub result: Option<String>,
    /// What went wrong.
    pub error_type: Option<ErrorType>,
    /// What went wrong, in words.
    pub error: Option<String>,
    /// The question, when a person is asked or has decided.
    pub approval: Option<ApprovalId>,
    /// Who decided.
    pub decided_by: Option<String>,
    /// How long the attempt took.
    pub duration: Duration,
}

/// An observer. It is told of events in their order, beside the calls, never in their way: what it does, how long it takes and whether
/// it panics changes nothing.
pub trait Observer: Send + Sync {
    /// The events it wants.
    fn wants(&self, kind: EventKind) -> bool {
        let _ = kind;
        true
    }

    /// Is told of one event.
    fn observe<'a>(&'a self, event: &'a Event) -> BoxFuture<'a, ()>;
}
