//! The progress of a call as types: each stage takes the phase that it needs by value and returns
//! the next one.
//!
//! | stage | takes | returns |
//! |---|---|---|
//! | receive | nothing | [`Received`] |
//! | switch | [`Received`] | [`Enabled`] |
//! | resolve | [`Enabled`] | [`Resolved`]: the tool and its handler |
//! | decode | [`Resolved`] | [`Decoded`]: and the checked arguments |
//! | repeat | [`Decoded`] | [`Unrepeated`] |
//! | guard | [`Unrepeated`] | [`Guarded`] |
//! | assess | [`Guarded`] | [`Assessed`]: and the assessment |
//! | gates | [`Assessed`] | [`Ruled`]: and the reasons to ask a person |
//! | budget | [`Ruled`] | [`Budgeted`] |
//! | approve | [`Budgeted`] | [`Approved`] |
//! | admit | [`Approved`] | [`Admitted`] |
//! | intent | [`Admitted`] | [`Started`] |
//! | run | [`Started`] | [`Finished`]: the output of the tool |
//! | shape | [`Finished`] | [`Shaped`]: the result for the model |
//!
//! Only a stage can create a phase, because the fields are visible in `stage/` alone; phases are
//! not `Clone`. A stage that is omitted, repeated or called too early is therefore a type error in
//! `pipeline.rs`, and no stage checks at run time whether the previous ones ran.
//!
//! A phase owns the data for later stages. It is small, because it is moved about three times per
//! stage: the [`Plan`] (144 bytes) and the result (296 bytes) are boxed, which is faster than
//! moving them (with both inline, a call of 3.6 µs took 0.27 µs longer). Data that must survive a
//! call dropped midway is in [`CallState`](crate::call_state::CallState) instead.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use toolcrib_core::{
    ApprovalReason, Assessment, BoxFuture, Handler, ModelResult, Permission, ToolOutput,
};

use crate::call_state::DecodedArgs;
use crate::concurrency_locks::KeyLock;
use crate::registered_tool::RegisteredTool;

/// Stage 0 counted the call.
pub(crate) struct Received(pub(super) ());

/// Stage 1: no switch stops it.
pub(crate) struct Enabled(pub(super) ());

/// Stage 2: the name is a tool of the caller's view that runs here.
pub(crate) struct Resolved {
    pub(super) tool: Arc<RegisteredTool>,
    pub(super) handler: Arc<dyn Handler>,
}

/// A tool and the arguments that it is called with.
pub(crate) struct Request {
    pub(super) tool: Arc<RegisteredTool>,
    pub(super) handler: Arc<dyn Handler>,
    pub(super) args: DecodedArgs,
}

/// Stage 3: the arguments are one validated object.
pub(crate) struct Decoded(pub(super) Request);

/// Stage 4: its batch is not a repetition.
pub(crate) struct Unrepeated(pub(super) Request);

impl Unrepeated {
    /// Creates the phase for a dry run, which repeats nothing and therefore skips stage 4.
    pub(crate) fn in_dry_run(Decoded(request): Decoded) -> Self {
        Self(request)
    }
}

/// Stage 5: no guard refused it. Only a person changes its arguments from here on.
pub(crate) struct Guarded(pub(super) Request);

/// A request with its assessment: everything that a call needs to run.
pub(crate) struct Plan {
    pub(super) request: Request,
    pub(super) assessment: Assessment,
}

impl Plan {
    pub(super) fn tool(&self) -> &Arc<RegisteredTool> {
        &self.request.tool
    }

    /// Returns the arguments as the tool receives them.
    pub(super) fn args(&self) -> &Arc<Value> {
        &self.request.args.value
    }

    /// Returns the hosts that the call would connect to beyond the owner's settings.
    pub(super) fn assessed_hosts(&self) -> impl Iterator<Item = &str> {
        self.assessment.permissions.iter().filter_map(|permission| match permission {
            Permission::Host(host) => Some(host.as_str()),
            _ => None,
        })
    }

    /// Returns the arguments as shown to people and covered by hashes: references stay references.
    pub(super) fn display_args(&self) -> &Value {
        self.request.args.display()
    }
}

/// Stage 6: the call is assessed.
pub(crate) struct Assessed(pub(super) Box<Plan>);

/// Stage 7: policy does not deny it, but a person may have to be asked.
pub(crate) struct Ruled {
    pub(super) plan: Box<Plan>,
    pub(super) asks: Vec<ApprovalReason>,
}

impl Ruled {
    pub(crate) fn asks(&self) -> &[ApprovalReason] {
        &self.asks
    }
}

/// A position in the queues of the concurrency keys. The mutex only makes it `Sync`.
pub(super) type QueuedLocks = Mutex<BoxFuture<'static, Vec<KeyLock>>>;

/// Stage 8: its run has budget for it.
pub(crate) struct Budgeted {
    pub(super) plan: Box<Plan>,
    pub(super) asks: Vec<ApprovalReason>,
    /// `None` if the call enters the queues at stage 10.
    pub(super) queued_locks: Option<QueuedLocks>,
}

/// Stage 9: no question is needed, or a person approved.
pub(crate) struct Approved {
    pub(super) plan: Box<Plan>,
    pub(super) queued_locks: Option<QueuedLocks>,
}

/// Stage 10: the call holds its locks and slots.
pub(crate) struct Admitted(pub(super) Box<Plan>);

/// Stage 11: its start is recorded.
pub(crate) struct Started(pub(super) Box<Plan>);

/// Stage 12: the tool returned.
pub(crate) struct Finished {
    pub(super) tool: Arc<RegisteredTool>,
    pub(super) output: ToolOutput,
}

/// Stage 13: the result is fit for a model.
pub(crate) struct Shaped(pub(super) Box<ModelResult>);

impl Shaped {
    pub(crate) fn into_result(self) -> ModelResult {
        *self.0
    }
}
