//! Extension code around calls: guards can refuse or rewrite a call, observers can only watch it.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::BoxFuture;
use crate::call::{Context, Origin};
use crate::error::ErrorType;
use crate::id::{ApprovalId, CallId, RunId};

/// A guard's decision.
#[derive(Debug, Clone, PartialEq)]
pub enum GuardVerdict {
    /// Continue.
    Continue,
    /// Continue with these arguments; they are decoded and validated again.
    Rewrite(Value),
    /// Refuse, with a message for the model.
    Deny(String),
}

/// The call as a guard sees it.
#[derive(Debug, Clone, Copy)]
pub struct GuardInput<'a> {
    /// The call.
    pub call: CallId,
    /// Run of the call.
    pub run: Option<RunId>,
    /// Where the call comes from.
    pub origin: Origin,
    /// Owner, agent and the rest of the caller's context.
    pub context: &'a Context,
    /// Canonical name of the tool.
    pub tool: &'a str,
    /// Validated arguments.
    pub args: &'a Value,
}

/// A guard. The guard stage runs it once per call, in order of registration, for at most 2 s. An
/// error, a panic or a timeout denies the call.
///
/// Guards receive the arguments before policy evaluates them; use a [`Gate`](crate::Gate) to decide
/// about a call whose risk and effect have been assessed.
///
/// ```
/// use serde_json::json;
/// use toolcrib_core::hook::{Guard, GuardInput, GuardVerdict};
/// use toolcrib_core::BoxFuture;
///
/// /// Fetches no page of the intranet, and all others with GET.
/// struct Fetches;
///
/// impl Guard for Fetches {
///     fn name(&self) -> &str {
///         "fetches"
///     }
///
///     fn check<'a>(
///         &'a self,
///         call: &'a GuardInput<'a>,
///     ) -> BoxFuture<'a, Result<GuardVerdict, String>> {
///         let verdict = match (call.tool, call.args["url"].as_str()) {
///             ("fetch_url", Some(url)) if url.contains("intranet.example") => {
///                 GuardVerdict::Deny("Pages of the intranet are not fetched.".into())
///             }
///             ("fetch_url", Some(_)) => {
///                 let mut args = call.args.clone();
///                 args["method"] = json!("GET");
///                 GuardVerdict::Rewrite(args)
///             }
///             _ => GuardVerdict::Continue,
///         };
///         Box::pin(std::future::ready(Ok(verdict)))
///     }
/// }
/// ```
pub trait Guard: Send + Sync {
    /// Returns the name, for traces.
    fn name(&self) -> &str;

    /// Checks a call before policy evaluates it.
    ///
    /// # Errors
    /// Any error denies the call. The model reads its text, so it must not contain a secret.
    fn check<'a>(&'a self, call: &'a GuardInput<'a>)
    -> BoxFuture<'a, Result<GuardVerdict, String>>;
}

/// The events that observers receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// `on_before_tool`: before each attempt.
    BeforeTool,
    /// `on_after_tool`: after a success.
    AfterTool,
    /// `on_tool_error`: after any failure, including timeouts and failures that the tool reports
    /// itself.
    ToolError,
    /// `on_permission_denied`: a permission, a rule, a preset or a guard refused the call.
    PermissionDenied,
    /// `on_token_budget_exceeded`: a budget refused the call.
    BudgetExceeded,
    /// `on_tools_disabled`: a switch refused the call.
    ToolsDisabled,
    /// A failed attempt is retried.
    Retry,
    /// A person is asked.
    ApprovalRequired,
    /// A person decided.
    ApprovalDecided,
    /// The tool's timeout expired.
    Timeout,
}

/// An event for observers.
#[derive(Debug, Clone, Serialize)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The call.
    pub call: CallId,
    /// Run of the call.
    pub run: Option<RunId>,
    /// Where the call comes from.
    pub origin: Origin,
    /// Name of the tool.
    pub tool: String,
    /// Arguments, once they are known.
    pub args: Option<Arc<Value>>,
    /// Owner, agent and the rest of the caller's context.
    pub context: Arc<Context>,
    /// Number of the attempt, from 1; 0 before the first.
    pub attempt: u32,
    /// Text of the result, after a success.
    pub result: Option<String>,
    /// Type of the failure.
    pub error_type: Option<ErrorType>,
    /// Message of the failure.
    pub error: Option<String>,
    /// The question, if a person is asked or has decided.
    pub approval: Option<ApprovalId>,
    /// Name of the person who decided.
    pub decided_by: Option<String>,
    /// Duration of the attempt.
    pub duration: Duration,
}

/// An observer. It receives events in order and off the path of the call: its work, its duration
/// and its panics have no effect on calls.
///
/// Secrets in its events are masked. An observer that is slower than the calls misses events; the
/// audit misses none.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use toolcrib_core::{BoxFuture, Event, EventKind, Observer};
///
/// /// Counts failures.
/// #[derive(Default)]
/// struct Failures(AtomicU64);
///
/// impl Observer for Failures {
///     fn wants(&self, kind: EventKind) -> bool {
///         matches!(kind, EventKind::ToolError | EventKind::Timeout)
///     }
///
///     fn observe<'a>(&'a self, event: &'a Event) -> BoxFuture<'a, ()> {
///         debug_assert!(self.wants(event.kind));
///         self.0.fetch_add(1, Ordering::Relaxed);
///         Box::pin(std::future::ready(()))
///     }
/// }
///
/// assert!(!Failures::default().wants(EventKind::AfterTool));
/// ```
pub trait Observer: Send + Sync {
    /// Returns whether the observer wants events of this kind.
    fn wants(&self, kind: EventKind) -> bool {
        let _ = kind;
        true
    }

    /// Handles one event.
    fn observe<'a>(&'a self, event: &'a Event) -> BoxFuture<'a, ()>;
}
