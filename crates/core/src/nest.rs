//! Calls inside a call: what a tool that calls other tools gets from the engine, and what it gives back.
//!
//! A tool never sees the engine. It gets [`Children`], through which each of its calls passes the same stages as any other, in its caller's
//! view, with its caller's budget, labels and rules.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::BoxFuture;
use crate::approval::ApprovalRequest;
use crate::artifact::ArtifactRef;
use crate::call::Call;
use crate::catalog::View;
use crate::error::ToolError;
use crate::invoke::Answer;
use crate::output::ToolOutput;
use crate::tool::CallCtx;

/// One call among those that a running call makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// How long its tool may run, within the tool's own time; waiting for people and for its turn excluded.
    pub limit: Duration,
    /// Its number, from 1, for the person who is asked about it.
    pub number: u32,
    /// The most calls that there may be.
    pub most: u32,
}

/// The door, as a running call reaches it.
pub trait Children: Send + Sync {
    /// The tools that the caller of the running call sees now.
    fn view(&self) -> Arc<View>;

    /// Whether the running call may have run before, in this process or one that has died: then what is recorded of each of its calls is looked
    /// up first, so that each needs the id that it had.
    fn is_again(&self) -> bool;

    /// How long people have been waited for so far. It counts against no limit.
    fn waited(&self) -> Duration;

    /// The text of a stored result of this caller, at most 16 MiB.
    ///
    /// # Errors
    /// `validation_error` when there is none, or it is no text or too large.
    fn stored(&self, artifact: &ArtifactRef) -> Result<String, ToolError>;

    /// Runs a call as a child of the running one. Several may be at work at once; more than the engine's limit for a batch wait.
    fn invoke(&self, call: Call, turn: Turn) -> BoxFuture<'_, Answer>;

    /// Waits for the decision about a call that [`invoke`](Self::invoke) has answered as waiting, and goes on with it then; for whoever cannot be put
    /// aside. `None` = nobody decided in this time.
    fn decided<'a>(
        &'a self,
        call: Call,
        turn: Turn,
        request: &'a ApprovalRequest,
        at_most: Duration,
    ) -> BoxFuture<'a, Option<Answer>>;
}

/// How a running call that makes calls ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Nested {
    /// With a result.
    Done(ToolOutput),
    /// It waits: one of its calls waits for this decision. Whoever decides lets that call go on, and then runs this one again, with
    /// [`Children::is_again`].
    Waits(Box<ApprovalRequest>),
}

/// What runs a tool whose calls call other tools. Such a tool declares an effect that may be repeated: it changes nothing but by its calls, and
/// each of those has one outcome, however often it is asked for.
pub trait Nesting: Send + Sync {
    /// Runs the call.
    fn call<'a>(
        &'a self,
        ctx: &'a CallCtx,
        args: &'a Value,
        children: &'a dyn Children,
    ) -> BoxFuture<'a, Result<Nested, ToolError>>;
}
