//! One call on its way through the pipeline.
//!
//! A call consists of two parts:
//!
//! - its *phase* (`stage/phase.rs`) is its progress through the stages and owns the input of the
//!   next ones: the tool, the arguments, the assessment. Stages take a phase by value and return
//!   the next one, so a wrong order of stages does not compile, and no stage unwraps a value that
//!   an earlier one should have set.
//! - [`CallState`], this file, lives as long as the call and is passed to every stage as `&mut`. It
//!   contains the data needed in *every* phase: the identity of the call, resources to release, and
//!   [`CallFacts`], the data for the trace, the events and the one outcome. Facts are `Option`s
//!   because an outcome contains only facts known when the call ends; stages write them and do not
//!   depend on them.
//!
//! A call that is dropped before it is answered, in any phase, by cancellation, a panic or an
//! abandoned future, still gets its one outcome: the drop guard of `CallState` needs only the
//! facts. This is also why phases are separate values and not a type parameter of the state: the
//! state is allocated once per call and never moves, and the guard needs no phase.

mod drop_guard;
mod record;
mod stage_log;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use toolcrib_core::{
    ApprovalId, Assessment, Call, CallId, CancellationToken, Effect, Event, EventKind, Labels,
    Operation, RawArgs, Reach, Risk, Ruling, Stage, StageRecord, StageVerdict,
};

use crate::active_calls::{CallRegistration, RunningWork};
use crate::batch_scope::BatchScope;
use crate::budget::Reservation;
use crate::concurrency_locks::KeyLock;
use crate::engine_inner::EngineInner;
use crate::policy::ActivePolicy;
use crate::registered_tool::RegisteredTool;
use crate::resume::pending_approvals::ApprovalHandle;
use crate::resume::resumed_call::ResumedCall;
use crate::safe_text;
use crate::stage::step::{StageExit, StagePass, StageResult};
use record::StoredArgs;
use stage_log::StageLog;

/// Maximum characters of the note of a stage. Notes are for people; a message for a model may be
/// longer.
const NOTE_CHARS: usize = 1_000;

/// The data of a call in every phase; see the module documentation.
pub(crate) struct CallState {
    pub(crate) id: CallId,
    /// The requested name.
    pub(crate) asked: String,
    pub(crate) args: CallArgs,
    pub(crate) scope: Arc<BatchScope>,
    /// The decision that the call enters again with; the approval stage takes it.
    pub(crate) resumed: Option<Box<ResumedCall>>,
    /// Notes for the model, next to the result.
    pub(crate) notes: Vec<String>,
    pub(crate) facts: CallFacts,
    /// Reserved budget; `None` outside a run, and after it is settled.
    pub(crate) reservation: Option<Reservation>,
    /// The open question to a person; closed if the call is dropped.
    pub(crate) open_question: Option<ApprovalId>,
    /// Keeps other tasks from resuming the same decision until the call has its answer.
    pub(crate) approval_handle: Option<ApprovalHandle>,
    pub(crate) admission: Admission,
    pub(crate) cancel: CancellationToken,
    pub(crate) attempts: Attempts,
    /// Its entry in the table of active calls; `None` for a dry run, and once the call has ended.
    registration: Option<CallRegistration>,
    received_at: i64,
    is_answered: bool,
    succeeded: bool,
    log: StageLog,
}

/// Facts about a call for its trace, events and outcome, as far as they are known.
#[derive(Default)]
pub(crate) struct CallFacts {
    /// The tool, even if the caller may not use it: the refusal names it.
    pub(crate) tool: Option<Arc<RegisteredTool>>,
    pub(crate) assessed: Option<AssessedFacts>,
    pub(crate) ruling: Option<Ruling>,
    /// The labels of the run when policy was evaluated.
    pub(crate) labels: Option<Arc<Labels>>,
    /// The question that was decided about the call.
    pub(crate) approval: Option<ApprovalId>,
    pub(crate) approved_by: Option<String>,
    /// Set once the start may have been recorded.
    pub(crate) start: Option<StartFacts>,
}

/// The part of an assessment that the outcome reports.
pub(crate) struct AssessedFacts {
    pub(crate) operation: Option<Operation>,
    pub(crate) risk: Risk,
    pub(crate) effect: Effect,
    pub(crate) reach: Reach,
}

impl From<&Assessment> for AssessedFacts {
    fn from(assessment: &Assessment) -> Self {
        Self {
            operation: assessment.operation.clone(),
            risk: assessment.risk,
            effect: assessment.effect,
            reach: assessment.reach,
        }
    }
}

/// The record of the start.
pub(crate) struct StartFacts {
    /// Arguments as stored, and their hash; both are fixed after the start.
    pub(crate) args: StoredArgs,
    /// The claim under which the start was recorded.
    pub(crate) epoch: u64,
    /// In milliseconds since 1970; `None` if the store refused the record.
    pub(crate) at: Option<i64>,
}

/// The arguments as received, and as decoded.
pub(crate) struct CallArgs {
    pub(crate) raw: RawArgs,
    /// Hash of arguments that could not be decoded, for the repeat guard.
    pub(crate) unreadable_hash: Option<u64>,
    /// `None` if they were not decoded yet, or could not be decoded.
    pub(crate) decoded: Option<DecodedArgs>,
}

impl CallArgs {
    /// Returns the arguments as shown to people and covered by hashes: references stay references.
    pub(crate) fn display(&self) -> Option<&Value> {
        self.decoded.as_ref().map(DecodedArgs::display)
    }
}

/// Validated arguments; clones share them.
#[derive(Clone)]
pub(crate) struct DecodedArgs {
    pub(crate) value: Arc<Value>,
    /// The arguments with unresolved references; `None` if there are no references.
    pub(crate) with_references: Option<Arc<Value>>,
}

impl DecodedArgs {
    pub(crate) fn display(&self) -> &Value {
        self.with_references.as_ref().unwrap_or(&self.value)
    }
}

/// The locks and slots that a call holds while it runs. They are part of the state and not of a
/// phase because they are released when the call is marked as finishing, before its outcome is
/// recorded, and for a dropped call only after its token is cancelled.
#[derive(Default)]
pub(crate) struct Admission {
    pub(crate) locks: Vec<KeyLock>,
    pub(crate) permits: Vec<OwnedSemaphorePermit>,
}

/// The attempts of a call and their duration.
#[derive(Default)]
pub(crate) struct Attempts {
    pub(crate) count: u32,
    pub(crate) run_time: Duration,
    /// The part of the run time in which child calls ran or waited; child calls are charged
    /// separately.
    pub(crate) child_time: Duration,
    /// Child calls that were denied because no approver could be asked.
    pub(crate) unapproved_children: u32,
    /// Start of the current attempt.
    pub(crate) started: Option<Instant>,
}

impl CallState {
    pub(crate) fn new(
        scope: Arc<BatchScope>,
        call: Call,
        resumed: Option<Box<ResumedCall>>,
    ) -> Self {
        let cancel = scope.cancel_token();
        let registration = scope.engine.active_calls.insert(call.id, &cancel);
        Self::with_registration(scope, call, resumed, cancel, Some(registration))
    }

    /// Creates the state of a dry run: it is in no table, sends no events and records no outcome.
    pub(crate) fn for_dry_run(scope: Arc<BatchScope>, call: Call) -> Self {
        let cancel = scope.cancel_token();
        Self::with_registration(scope, call, None, cancel, None)
    }

    fn with_registration(
        scope: Arc<BatchScope>,
        call: Call,
        resumed: Option<Box<ResumedCall>>,
        cancel: CancellationToken,
        registration: Option<CallRegistration>,
    ) -> Self {
        Self {
            id: call.id,
            asked: call.name,
            args: CallArgs { raw: call.args, unreadable_hash: None, decoded: None },
            received_at: scope.engine.clock.now_ms(),
            scope,
            resumed,
            notes: Vec::new(),
            facts: CallFacts::default(),
            reservation: None,
            open_question: None,
            approval_handle: None,
            admission: Admission::default(),
            cancel,
            attempts: Attempts::default(),
            is_answered: registration.is_none(),
            registration,
            succeeded: false,
            log: StageLog::new(),
        }
    }

    pub(crate) fn engine(&self) -> &Arc<EngineInner> {
        &self.scope.engine
    }

    /// Returns the policy that was in force when the call was received.
    pub(crate) fn policy(&self) -> &ActivePolicy {
        &self.scope.resolved_view.policy
    }

    pub(crate) fn is_dry_run(&self) -> bool {
        self.registration.is_none()
    }

    /// Returns the operation that policy evaluates.
    pub(crate) fn operation(&self) -> &str {
        let own = self.facts.assessed.as_ref().and_then(|a| a.operation.as_deref());
        own.unwrap_or_else(|| self.tool_name())
    }

    /// Returns the canonical name, or the requested one if no tool has it.
    pub(crate) fn tool_name(&self) -> &str {
        self.facts.tool.as_ref().map_or(&self.asked, |tool| tool.spec().name.as_str())
    }

    /// Adds the stage to the trace.
    pub(crate) fn record<P>(&mut self, stage: Stage, step: StageResult<P>) -> Result<P, StageExit> {
        match step {
            Ok(StagePass { next, verdict, note }) => {
                let nanos = self.log.lap(verdict);
                let note = self.mask_note(note);
                self.log.push(StageRecord { stage, verdict, note, nanos });
                Ok(next)
            }
            Err(exit) => Err(self.record_exit(stage, exit)),
        }
    }

    #[cold]
    fn record_exit(&mut self, stage: Stage, exit: StageExit) -> StageExit {
        let nanos = self.log.lap(StageVerdict::Stopped);
        let (verdict, note, exit) = match exit {
            StageExit::Fail(error) => {
                let error = safe_text::sanitize_error(&self.engine().secrets, error);
                let note = format!("{}: {}", error.error_type, error.message);
                (StageVerdict::Stopped, note.into(), StageExit::Fail(error))
            }
            StageExit::Suspend(request) => {
                let note = format!("waits for {}", request.id);
                (StageVerdict::Suspended, note.into(), StageExit::Suspend(request))
            }
            exit @ StageExit::AnsweredElsewhere(_) => {
                (StageVerdict::Stopped, "another process continues it".into(), exit)
            }
            exit @ StageExit::Rerun(_) => (StageVerdict::Changed, "arguments edited".into(), exit),
        };
        let note = self.mask_note(note);
        self.log.push(StageRecord { stage, verdict, note, nanos });
        exit
    }

    /// Masks and shortens a note. A tool's summary of a call may repeat its arguments, and the
    /// trace of a refused call is stored too.
    fn mask_note(&self, note: Cow<'static, str>) -> Cow<'static, str> {
        match note {
            Cow::Owned(note) => {
                let mut note = self.engine().secrets.mask(note);
                if let Some((end, _)) = note.char_indices().nth(NOTE_CHARS) {
                    note.truncate(end);
                    note.push('…');
                }
                Cow::Owned(note)
            }
            fixed => fixed,
        }
    }

    /// Returns when the last stage ended, which is when the current one began.
    pub(crate) fn stage_started(&self) -> Instant {
        self.log.stage_started()
    }

    /// Restarts the timer, so that the time since the last stage does not count for the next one.
    pub(crate) fn reset_stage_timer(&mut self) {
        self.log.reset();
    }

    /// Ends an attempt. The stage ends with it, so the clock is read once for both.
    pub(crate) fn add_run_time(&mut self, begun: Instant) {
        let now = Instant::now();
        self.attempts.run_time += now.duration_since(begun);
        self.attempts.started = None;
        self.log.set_now(now);
    }

    /// Lists the call among the running ones.
    pub(crate) fn mark_running(&self, tool: &Arc<RegisteredTool>, effect: Effect, at: i64) {
        let Some(registration) = &self.registration else { return };
        registration.mark_running(RunningWork {
            run: self.scope.run.as_ref().map(|run| run.id),
            origin: self.scope.origin,
            context: Arc::clone(&self.scope.context),
            tool: Arc::clone(tool),
            effect,
            started_at: at,
        });
    }

    /// Marks the call as finishing: it can no longer be cancelled, and only its end remains to be
    /// recorded.
    pub(crate) fn mark_finishing(&self) {
        if let Some(registration) = &self.registration {
            registration.mark_finishing();
        }
    }

    /// Gives the next attempt a new token, and cancels work that the failed one started.
    pub(crate) fn renew_token(&mut self) {
        let next = self.scope.cancel_token();
        if let Some(registration) = &self.registration {
            registration.replace_token(&next);
        }
        std::mem::replace(&mut self.cancel, next).cancel();
    }

    /// Marks the call as answered, so that the drop guard records no outcome.
    pub(crate) fn mark_answered(&mut self) {
        self.is_answered = true;
    }

    pub(crate) fn emit(&self, kind: EventKind, fill: impl FnOnce(&mut Event)) {
        if self.is_dry_run() {
            return;
        }
        self.engine().observers.notify(kind, || {
            let secrets = &self.engine().secrets;
            let mut event = Event {
                kind,
                call: self.id,
                run: self.scope.run.as_ref().map(|run| run.id),
                origin: self.scope.origin,
                tool: self.tool_name().to_owned(),
                args: self.args.display().map(|args| Arc::new(secrets.mask_json(args))),
                context: Arc::clone(&self.scope.context),
                attempt: self.attempts.count,
                result: None,
                error_type: None,
                error: None,
                approval: None,
                decided_by: None,
                duration: self.attempts.run_time,
            };
            fill(&mut event);
            event.tool = secrets.mask(event.tool);
            event.error = event.error.map(|error| secrets.mask(error));
            event.result = event.result.map(|result| secrets.mask(result));
            event
        });
    }
}
