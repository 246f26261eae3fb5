//! Nested calls: the interface between a tool that calls other tools and the engine.
//!
//! A tool never sees the engine. It gets [`ChildInvoker`], through which each of its calls passes
//! the same stages as any other, with its caller's view, budget, labels and rules.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::BoxFuture;
use crate::approval::ApprovalRequest;
use crate::artifact::ArtifactRef;
use crate::call::Call;
use crate::catalog::View;
use crate::error::ToolError;
use crate::invoker::Answer;
use crate::output::ToolOutput;
use crate::tool::CallCtx;

/// Parameters of one child call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildCallSpec {
    /// How long the child's tool may run, within the parent's own timeout; excludes waiting for
    /// people and for a slot.
    pub limit: Duration,
    /// Number of the child, from 1, shown in approval requests.
    pub number: u32,
    /// Maximum number of children.
    pub max_calls: u32,
}

/// The invoker as seen by a running call.
pub trait ChildInvoker: Send + Sync {
    /// Returns the tools that the caller of the running call sees now.
    fn view(&self) -> Arc<View>;

    /// Returns whether the running call may have run before, in this process or in one that died.
    /// Records of its children are then looked up first, which requires each child to have the id
    /// it had before.
    fn is_replay(&self) -> bool;

    /// Returns the total time spent waiting for people so far. It counts against no limit.
    fn approval_wait(&self) -> Duration;

    /// Returns the text of a stored result of this caller, at most 16 MiB.
    ///
    /// # Errors
    /// `validation_error` if it does not exist, is not text or is too large.
    fn read_artifact(&self, artifact: &ArtifactRef) -> Result<String, ToolError>;

    /// Runs a call as a child of the running one. Children can run concurrently; beyond the
    /// engine's limit for a batch they wait for a slot.
    fn invoke(&self, call: Call, turn: ChildCallSpec) -> BoxFuture<'_, Answer>;

    /// Waits for the decision about a call that [`invoke`](Self::invoke) returned as suspended, and
    /// resumes it; for a parent that cannot be suspended itself. `None` if there was no decision
    /// within this time.
    fn resume_when_decided<'a>(
        &'a self,
        call: Call,
        turn: ChildCallSpec,
        request: &'a ApprovalRequest,
        at_most: Duration,
    ) -> BoxFuture<'a, Option<Answer>>;
}

/// How a parent call ends.
#[derive(Debug, Clone, PartialEq)]
pub enum ParentOutcome {
    /// With a result.
    Done(ToolOutput),
    /// The call is suspended because one of its children waits for this decision. The decision
    /// resumes the child and then runs the parent again, with [`ChildInvoker::is_replay`] set.
    Suspended(Box<ApprovalRequest>),
}

/// Handler of a tool whose calls make other calls. Such a tool declares a repeatable effect: it
/// changes nothing except through its children, and each child has one outcome no matter how often
/// it is requested.
pub trait ParentHandler: Send + Sync {
    /// Runs the call.
    fn call<'a>(
        &'a self,
        ctx: &'a CallCtx,
        args: &'a Value,
        children: &'a dyn ChildInvoker,
    ) -> BoxFuture<'a, Result<ParentOutcome, ToolError>>;
}
