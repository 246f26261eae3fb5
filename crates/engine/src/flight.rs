//! One call on its way through the pipeline: everything the stages know of it.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use toolcrib_core::store::{ARGS_BYTES, MESSAGE_CHARS};
use toolcrib_core::{
    Answer, ApprovalId, ApprovalRequest, AskReason, Assessment, BoxFuture, Call, CallEnd,
    CallFacts, CallId, CallRecord, CancellationToken, Context, ErrorType, Event, EventKind, Labels,
    ModelResult, Origin, Outcome, OutcomeKind, RawArgs, Report, Ruling, Settlement, Stage,
    StageRecord, StageVerdict, ToolError, ToolOutput, Verdict, ViewRequest, canonical,
};

use crate::budget::Reservation;
use crate::engine::Inner;
use crate::locks::Held;
use crate::nest::Inside;
use crate::policy::InForce;
use crate::registry::Registered;
use crate::run::Run;
use crate::running::Seat;
use crate::secrets::Secrets;
use crate::stage::approve::{self, Resumed};
use crate::stage::shape;
use crate::view::Seen;
use crate::waiting::Place;

/// Text of the arguments, where it is short enough, and the hash of what they really were.
pub(crate) type KeptArgs = (Option<String>, Option<String>);

/// Characters of a name that was asked for and is no tool's (a canonical name has at most 64).
const NAME_CHARS: usize = 100;

/// What the calls of one batch share.
pub(crate) struct Scope {
    pub(crate) engine: Arc<Inner>,
    /// The number under which the engine worked when the batch came.
    pub(crate) epoch: u64,
    pub(crate) origin: Origin,
    pub(crate) context: Arc<Context>,
    pub(crate) view: Arc<ViewRequest>,
    pub(crate) seen: Arc<Seen>,
    pub(crate) run: Option<Arc<Run>>,
    /// Calls of this batch that may run at once; `None` for a batch of one.
    pub(crate) slots: Option<Arc<tokio::sync::Semaphore>>,
    /// Whether these calls may have run before.
    pub(crate) again: bool,
    /// The running call that makes these, when one does.
    pub(crate) inside: Option<Arc<Inside>>,
    /// Who looks on.
    pub(crate) watch: Option<Arc<dyn toolcrib_core::Watch>>,
}

impl Scope {
    /// A token that ends with the run, or with the engine, and may end before.
    pub(crate) fn cancel_token(&self) -> CancellationToken {
        let within = self.inside.as_ref().and_then(|inside| inside.cancel.as_ref());
        match (within, &self.run) {
            (Some(parent), _) => parent.child_token(),
            (None, Some(run)) => run.cancel.child_token(),
            (None, None) => self.engine.shutdown.child_token(),
        }
    }

    /// Whether somebody has taken over what this process works on since the batch came, because it stood still beyond its lease.
    pub(crate) fn was_taken_for_dead(&self) -> bool {
        self.epoch != self.engine.epoch()
    }
}

/// How a stage ends.
pub(crate) type Step = Result<Passed, Stop>;

/// The call goes on.
pub(crate) struct Passed(pub(crate) StageVerdict, pub(crate) Cow<'static, str>);

impl Passed {
    pub(crate) const PLAIN: Self = Self(StageVerdict::Pass, Cow::Borrowed(""));
    pub(crate) const SKIPPED: Self = Self(StageVerdict::Skipped, Cow::Borrowed(""));

    pub(crate) fn noting(note: impl Into<Cow<'static, str>>) -> Self {
        Self(StageVerdict::Pass, note.into())
    }

    pub(crate) fn changed(note: impl Into<Cow<'static, str>>) -> Self {
        Self(StageVerdict::Changed, note.into())
    }
}

/// The call ends here, waits, or starts again with other arguments.
pub(crate) enum Stop {
    Fail(ToolError),
    Suspend(Box<ApprovalRequest>),
    Again(Box<Resumed>),
    /// Another process goes on with it, or has: this is what is known of it.
    Known(Box<Answer>),
}

impl From<ToolError> for Stop {
    fn from(error: ToolError) -> Self {
        Self::Fail(error)
    }
}

pub(crate) fn fail<T>(error_type: ErrorType, message: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Fail(ToolError::new(error_type, message)))
}

/// One call on its way. Dropped before it is answered, it still gets its one outcome.
pub(crate) struct InFlight {
    pub(crate) call: CallId,
    pub(crate) asked: String,
    pub(crate) raw: RawArgs,
    pub(crate) scope: Arc<Scope>,
    pub(crate) resumed: Option<Box<Resumed>>,
    pub(crate) tool: Option<Arc<Registered>>,
    /// Final from stage 5 on; only a person changes them after that.
    pub(crate) args: Arc<Value>,
    /// The same with references in place of what they stand for; `None` = there are none.
    pub(crate) referring: Option<Value>,
    /// Hash of arguments that could not be read, in a run.
    pub(crate) unread: Option<u64>,
    pub(crate) notes: Vec<String>,
    pub(crate) assessment: Option<Assessment>,
    pub(crate) asks: Vec<AskReason>,
    /// What policy said.
    pub(crate) ruling: Option<Ruling>,
    /// What the run had read when policy judged.
    pub(crate) labels: Option<Arc<Labels>>,
    pub(crate) reservation: Option<Reservation>,
    pub(crate) approved_by: Option<String>,
    /// Arguments as they are kept, and their hash, once the intent is recorded: they do not change after that.
    pub(crate) kept: Option<KeptArgs>,
    /// The question that was decided about it.
    pub(crate) approval: Option<ApprovalId>,
    /// Its place among those that were decided about and go on, until it has its answer.
    pub(crate) place: Option<Place>,
    /// Number under which its start was recorded.
    pub(crate) epoch: Option<u64>,
    /// The question that is open while a person is waited for.
    pub(crate) question: Option<ApprovalId>,
    /// A place in the queues for the concurrency keys, taken in the order of the batch.
    pub(crate) queued: Option<Mutex<BoxFuture<'static, Vec<Held>>>>,
    pub(crate) held: Option<Vec<Held>>,
    pub(crate) permits: Vec<OwnedSemaphorePermit>,
    pub(crate) cancel: CancellationToken,
    /// Where whoever stops calls finds it; `None` = it is only looked at, or has ended.
    pub(crate) seat: Option<Seat>,
    /// When the intent was recorded, in milliseconds since 1970; `None` = it never was.
    pub(crate) started_at: Option<i64>,
    pub(crate) received_at: i64,
    pub(crate) attempts: u32,
    pub(crate) run_time: Duration,
    /// Of that, the time in which calls that it made were at work or waited: they pay for themselves.
    pub(crate) inner_time: Duration,
    /// When the attempt that runs now began.
    pub(crate) begun: Option<Instant>,
    pub(crate) output: Option<ToolOutput>,
    pub(crate) shaped: Option<ModelResult>,
    pub(crate) answered: bool,
    /// Whether it is only looked at: nobody is told of it.
    pub(crate) dry: bool,
    succeeded: bool,
    trace: Vec<StageRecord>,
    stamp: Instant,
    /// Now, when somebody has just read the clock.
    read_clock: Option<Instant>,
}

impl InFlight {
    pub(crate) fn new(scope: Arc<Scope>, call: Call, resumed: Option<Box<Resumed>>) -> Self {
        let cancel = scope.cancel_token();
        let received_at = scope.engine.clock.now_ms();
        let seat = scope.engine.seats.take(call.id, &cancel);
        Self {
            call: call.id,
            asked: call.name,
            raw: call.args,
            scope,
            resumed,
            tool: None,
            args: Arc::default(),
            referring: None,
            unread: None,
            notes: Vec::new(),
            assessment: None,
            asks: Vec::new(),
            ruling: None,
            labels: None,
            reservation: None,
            approved_by: None,
            kept: None,
            approval: None,
            place: None,
            epoch: None,
            question: None,
            queued: None,
            held: None,
            permits: Vec::new(),
            cancel,
            seat: Some(seat),
            started_at: None,
            received_at,
            attempts: 0,
            run_time: Duration::ZERO,
            inner_time: Duration::ZERO,
            begun: None,
            output: None,
            shaped: None,
            answered: false,
            dry: false,
            succeeded: false,
            trace: Vec::with_capacity(Stage::ALL.len()),
            stamp: Instant::now(),
            read_clock: None,
        }
    }

    pub(crate) fn engine(&self) -> &Arc<Inner> {
        &self.scope.engine
    }

    /// The policy that was in force when the call was received.
    pub(crate) fn policy(&self) -> &InForce {
        &self.scope.seen.policy
    }

    /// The tool; stages after 2 run only for calls that have one.
    pub(crate) fn tool(&self) -> Result<&Arc<Registered>, Stop> {
        self.tool
            .as_ref()
            .ok_or_else(|| Stop::Fail(ToolError::execution("stage order broken: no tool")))
    }

    /// What the call means; stages after 6 run only for calls that were assessed.
    pub(crate) fn assessed(&self) -> Result<&Assessment, Stop> {
        self.assessment
            .as_ref()
            .ok_or_else(|| Stop::Fail(ToolError::execution("stage order broken: not assessed")))
    }

    /// The name as it was asked for, when it is not the canonical one.
    fn alias(&self) -> Option<&str> {
        let name = self.tool.as_ref().map(|tool| tool.spec().name.as_str());
        (name != Some(self.asked.as_str())).then_some(&self.asked)
    }

    /// The arguments as people see them and hashes cover them: references stay references.
    pub(crate) fn shown_args(&self) -> &Value {
        self.referring.as_ref().unwrap_or(&self.args)
    }

    /// The operation that policy names.
    pub(crate) fn operation(&self) -> &str {
        let own = self.assessment.as_ref().and_then(|a| a.operation.as_deref());
        own.unwrap_or_else(|| self.tool.as_ref().map_or(&self.asked, |t| t.spec().name.as_str()))
    }

    /// Writes the stage's line of the trace.
    pub(crate) fn record(&mut self, stage: Stage, step: Step) -> Result<(), Stop> {
        let nanos = self.lap(&step);
        let (verdict, note, result) = match step {
            Ok(Passed(verdict, note)) => (verdict, note, Ok(())),
            Err(Stop::Fail(error)) => {
                let error = shape::error(self, error);
                let note = Cow::Owned(format!("{}: {}", error.error_type, error.message));
                (StageVerdict::Stopped, note, Err(Stop::Fail(error)))
            }
            Err(Stop::Suspend(request)) => {
                let note = Cow::Owned(format!("waits for {}", request.id));
                (StageVerdict::Suspended, note, Err(Stop::Suspend(request)))
            }
            Err(known @ Stop::Known(_)) => {
                let note = Cow::Borrowed("another process goes on with it");
                (StageVerdict::Stopped, note, Err(known))
            }
            Err(again @ Stop::Again(_)) => {
                (StageVerdict::Changed, Cow::Borrowed("arguments edited"), Err(again))
            }
        };
        // What a tool says that a call will do may repeat its arguments.
        let note = match note {
            Cow::Owned(words) => Cow::Owned(self.engine().secrets.mask(words)),
            fixed => fixed,
        };
        self.trace.push(StageRecord { stage, verdict, note, nanos });
        result
    }

    /// Time since the stage before. Finding out that a stage has nothing to do takes less than reading the clock, so that is not timed.
    fn lap(&mut self, step: &Step) -> u64 {
        if matches!(step, Ok(Passed(StageVerdict::Skipped, _))) {
            return 0;
        }
        let now = self.read_clock.take().unwrap_or_else(Instant::now);
        let nanos = now.duration_since(self.stamp).as_nanos() as u64;
        self.stamp = now;
        nanos
    }

    /// When the last stage ended, which is when this one began.
    pub(crate) fn last_stamp(&self) -> Instant {
        self.stamp
    }

    /// An attempt that began then has ended now. The stage ends with it, so the clock is read once for both.
    pub(crate) fn ran_since(&mut self, begun: Instant) {
        let now = Instant::now();
        self.run_time += now.duration_since(begun);
        self.begun = None;
        self.read_clock = Some(now);
    }

    /// Time since the last stage does not belong to the next one.
    pub(crate) fn restamp(&mut self) {
        self.stamp = Instant::now();
    }

    pub(crate) fn tell(&self, kind: EventKind, fill: impl FnOnce(&mut Event)) {
        if self.dry {
            return;
        }
        self.engine().observers.tell(kind, || {
            let mut event = Event {
                kind,
                call: self.call,
                run: self.scope.run.as_ref().map(|run| run.id),
                tool: self
                    .tool
                    .as_ref()
                    .map_or(&*self.asked, |t| t.spec().name.as_str())
                    .to_owned(),
                args: (!self.args.is_null())
                    .then(|| Arc::new(self.engine().secrets.mask_data(self.shown_args()))),
                context: Arc::clone(&self.scope.context),
                attempt: self.attempts,
                result: None,
                error_type: None,
                error: None,
                approval: None,
                decided_by: None,
                duration: self.run_time,
            };
            fill(&mut event);
            let secrets = &self.engine().secrets;
            event.tool = secrets.mask(event.tool);
            event.error = event.error.map(|words| secrets.mask(words));
            event.result = event.result.map(|words| secrets.mask(words));
            event
        });
    }

    /// What the store keeps of the call, however it goes on.
    pub(crate) fn facts(&self) -> CallFacts {
        let evidence = self.engine().calls.keeps_evidence();
        let assessed = self.assessment.as_ref();
        let tool = self.tool.as_ref();
        let kept = || self.kept.clone().unwrap_or_else(|| self.kept_args());
        let (args, args_hash) = if evidence { kept() } else { (None, None) };
        CallFacts {
            call: self.call,
            run: self.scope.run.as_ref().map(|run| run.id),
            origin: self.scope.origin,
            context: Arc::clone(&self.scope.context),
            tool: tool.map(|tool| tool.spec().name.clone()),
            asked: self.alias().map(|name| self.kept_name(name)),
            operation: tool.filter(|_| evidence).map(|_| self.operation().to_owned()),
            definition_hash: tool.filter(|_| evidence).map(|t| t.definition_hash().to_owned()),
            risk: assessed.map(|a| a.risk),
            effect: assessed.map(|a| a.effect),
            args,
            args_hash,
            approval: self.approval,
            approved_by: self.approved_by.clone(),
            policy: self.policy_line().filter(|_| evidence),
            received_at: self.received_at,
        }
    }

    /// What policy said, as it is kept with the call: that of a rule, or of what asked or refused. What just ran needs no line.
    fn policy_line(&self) -> Option<String> {
        let ruling = self.ruling.as_ref()?;
        let line = match &ruling.rule {
            Some(rule) => rule.to_string(),
            None if ruling.verdict == Verdict::Allow => return None,
            None => format!("{}: {}", ruling.verdict, ruling.reason),
        };
        Some(self.engine().secrets.mask(line).chars().take(MESSAGE_CHARS).collect())
    }

    /// A name that a model may have made up, as it is kept: without secrets, and not longer than names are.
    fn kept_name(&self, name: &str) -> String {
        self.engine().secrets.mask(name.to_owned()).chars().take(NAME_CHARS).collect()
    }

    /// Arguments as they are kept, without secrets, and the hash of what they really were.
    fn kept_args(&self) -> KeptArgs {
        if self.args.is_null() {
            return (None, None);
        }
        let text = canonical::to_string(self.shown_args());
        let hash = canonical::sha256_text(&text);
        let secrets = &self.engine().secrets;
        let kept = if secrets.is_empty() {
            text
        } else {
            canonical::to_string(&secrets.mask_data(self.shown_args()))
        };
        (Some(kept).filter(|text| text.len() <= ARGS_BYTES), Some(hash))
    }

    /// The record of the end.
    pub(crate) fn call_record(&self, kind: OutcomeKind, error: Option<&ToolError>) -> CallRecord {
        let words = |error: &ToolError| error.message.chars().take(MESSAGE_CHARS).collect();
        let end = CallEnd {
            outcome: kind,
            error_type: error.map(|error| error.error_type),
            message: error.filter(|_| self.engine().calls.keeps_evidence()).map(words),
            attempts: self.attempts,
            run_nanos: self.run_time.as_nanos() as u64,
            ended_at: self.engine().clock.now_ms(),
            output_hash: None,
        };
        let epoch = self.epoch.unwrap_or_else(|| self.engine().epoch());
        let started_at = self.started_at;
        CallRecord { facts: self.facts(), started_at, epoch, end }
    }

    /// Lines of the trace since they were last taken.
    pub(crate) fn take_trace(&mut self) -> Vec<StageRecord> {
        std::mem::take(&mut self.trace)
    }

    /// The outcome, as far as the trace goes by now.
    pub(crate) fn outcome(
        &mut self,
        kind: OutcomeKind,
        result: Result<ModelResult, ToolError>,
    ) -> Outcome {
        self.succeeded = result.is_ok();
        let report = self.report();
        Outcome {
            call: self.call,
            asked: self.engine().secrets.mask(self.asked.clone()),
            tool: self.tool.as_ref().map(|tool| tool.spec().name.clone()),
            kind,
            result,
            notes: std::mem::take(&mut self.notes),
            report,
        }
    }

    /// The report as far as the call came; the lines of the trace are taken.
    pub(crate) fn report(&mut self) -> Report {
        let assessed = self.assessment.as_ref();
        Report {
            attempts: self.attempts,
            run_nanos: self.run_time.as_nanos() as u64,
            operation: self.tool.is_some().then(|| self.operation().to_owned()),
            risk: assessed.map(|a| a.risk),
            effect: assessed.map(|a| a.effect),
            reach: assessed.map(|a| a.reach),
            approved_by: self.approved_by.clone(),
            ruling: self
                .ruling
                .clone()
                .map(|ruling| without_secrets(&self.engine().secrets, ruling)),
            labels: self.labels.as_deref().cloned().unwrap_or_default(),
            stages: std::mem::take(&mut self.trace),
        }
    }

    /// How a call that was dropped on its way ended, as far as anybody knows.
    fn abandoned(&self) -> (OutcomeKind, ToolError) {
        let repeatable = self.assessment.as_ref().is_none_or(|a| a.effect.is_repeatable());
        if self.attempts > 0 && !repeatable {
            let text = "The call was dropped while it ran. Whether it took effect is unknown: check before you call it again.";
            (OutcomeKind::Unknown, ToolError::new(ErrorType::UnknownOutcome, text))
        } else {
            let text = "The call was dropped before it was done.";
            (OutcomeKind::Cancelled, ToolError::new(ErrorType::Cancelled, text))
        }
    }
}

/// The reason may repeat arguments; rules are the owner's own words.
fn without_secrets(secrets: &Secrets, ruling: Ruling) -> Ruling {
    let reason = match ruling.reason {
        Cow::Owned(words) => Cow::Owned(secrets.mask(words)),
        fixed => fixed,
    };
    Ruling { reason, ..ruling }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if !self.succeeded {
            // What a call that failed or was dropped had started ends with it.
            self.cancel.cancel();
        }
        if self.answered {
            return;
        }
        if let (Some(reservation), Some(begun)) = (self.reservation.take(), self.begun) {
            // It ran until somebody let go of it, so it is paid for.
            reservation.settle(self.run_time + begun.elapsed(), 0);
        }
        let (kind, error) = self.abandoned();
        let record = self.call_record(kind, Some(&error));
        let mut settlement = Settlement { record, outcome: None };
        let engine = Arc::clone(self.engine());
        if engine.calls.keeps_evidence() {
            settlement = settlement.with_outcome(&self.outcome(kind, Err(error)));
        }
        let question = self.question.take();
        if let Some(seat) = &self.seat {
            seat.is_over();
        }
        // It has ended when that is recorded.
        let seat = self.seat.take();
        let mut settle = Box::pin(async move {
            let _seat = seat;
            let closing = question.map(|id| {
                let closed = approve::denied_by("stopped", engine.clock.now_ms());
                engine.approvals.decide(id, closed)
            });
            // Both are queued before either is waited for: there may be no runtime to wait on.
            let settling = engine.calls.settle(settlement);
            if let Some(closing) = closing {
                let _ = closing.await;
            }
            let _ = settling.await;
        });
        // Most stores are done at once; the others need a runtime, which is there as long as calls are.
        if settle.as_mut().now_or_never().is_none()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(settle);
        }
    }
}
