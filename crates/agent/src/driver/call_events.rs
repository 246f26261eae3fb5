//! Events of the calls of one answer: each call is announced once and gets exactly one final state.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use toolcrib_core::{
    Answer, ApprovalId, ApprovalRequest, BatchSubscriber, Call, CallId, DecisionRecord, Outcome,
    OutcomeKind, Progress, Report, Stage,
};
use toolcrib_providers::conversation::{CallAnswer, Message};

use crate::ask_user;
use crate::events::{Event, EventSink, ToolEvent, ToolState};
use crate::machine::{Machine, Pending, PendingKind, user_question};

/// The calls of the newest answer.
pub(super) struct CallEvents {
    events: EventSink,
    round: u32,
    begun: Instant,
    /// Calls without a final state, in order.
    open: Mutex<Vec<OpenCall>>,
    /// Results of the other calls, as far as the engine returned them.
    done: Mutex<Vec<(usize, CallAnswer)>>,
    /// Open approvals of calls.
    asked: Mutex<Vec<(CallId, ApprovalId)>>,
}

#[derive(Clone)]
struct OpenCall {
    id: CallId,
    index: usize,
    tool: String,
}

impl CallEvents {
    /// New calls of the model; announces them.
    pub(super) fn for_new_calls(events: &EventSink, round: u32, calls: &[Call]) -> Self {
        let open = calls.iter().enumerate().map(|(index, call)| OpenCall {
            id: call.id,
            index,
            tool: call.name.clone(),
        });
        let made = Self::new(events, round, open.collect());
        for call in calls {
            made.emit(call.id, ToolState::InputAvailable { args: call.args.clone() });
        }
        made
    }

    /// Calls that wait since another process announced them.
    pub(super) fn for_pending_calls(events: &EventSink, round: u32, pending: &[Pending]) -> Self {
        let open = pending.iter().map(|wait| OpenCall {
            id: wait.call,
            index: wait.index,
            tool: match &wait.what {
                PendingKind::Approval(request) => request.tool.to_string(),
                PendingKind::Answer(_) => ask_user::NAME.to_owned(),
            },
        });
        Self::new(events, round, open.collect())
    }

    fn new(events: &EventSink, round: u32, open: Vec<OpenCall>) -> Self {
        let (events, begun) = (Arc::clone(events), Instant::now());
        let (done, asked) = (Mutex::default(), Mutex::default());
        Self { events, round, begun, open: Mutex::new(open), done, asked }
    }

    /// Whether this call has no final state yet.
    pub(super) fn has(&self, call: CallId) -> bool {
        self.open().iter().any(|open| open.id == call)
    }

    /// Emits the state of a call.
    pub(super) fn emit(&self, call: CallId, state: ToolState) {
        let found = self.open().iter().find(|open| open.id == call).cloned();
        if let Some(open) = found {
            self.say(open, state, None);
        }
    }

    /// Emits the final state of a call; only the first one counts.
    pub(super) fn emit_outcome(&self, outcome: &Outcome) {
        if let Some(open) = self.close(|open| open.id == outcome.call) {
            let answer = CallAnswer::from_outcome(outcome);
            let elapsed = self.elapsed_ms().saturating_sub(waited_for_person_ms(outcome));
            let state = final_state(&answer, elapsed);
            self.done.lock().unwrap_or_else(PoisonError::into_inner).push((open.index, answer));
            self.say(open, state, Some(Arc::new(outcome.report.clone())));
        }
    }

    /// Takes the results that the engine has returned, by index.
    pub(super) fn take_done(&self) -> Vec<(usize, CallAnswer)> {
        std::mem::take(&mut *self.done.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the open approvals.
    pub(super) fn take_asked(&self) -> Vec<ApprovalId> {
        self.asked().drain(..).map(|(_, question)| question).collect()
    }

    fn asked(&self) -> MutexGuard<'_, Vec<(CallId, ApprovalId)>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Emits the final state of calls that were answered without the engine: by a person, a guard,
    /// or a stop.
    pub(super) fn close_answered(&self, machine: &Machine) {
        if self.open().is_empty() {
            return;
        }
        let newest = machine.history().iter().rev().find_map(|message| match &**message {
            Message::Model(message) => Some(message),
            Message::User(_) => None,
        });
        let answers = newest.map_or(&[][..], |message| message.answers());
        for (index, answer) in answers.iter().enumerate() {
            if let Some(answer) = answer
                && let Some(open) = self.close(|open| open.index == index)
            {
                self.say(open, final_state(answer, self.elapsed_ms()), None);
            }
        }
    }

    fn close(&self, is_it: impl Fn(&OpenCall) -> bool) -> Option<OpenCall> {
        let mut open = self.open();
        let at = open.iter().position(is_it)?;
        Some(open.remove(at))
    }

    fn say(&self, open: OpenCall, state: ToolState, report: Option<Arc<Report>>) {
        let OpenCall { id, index, tool } = open;
        (self.events)(Event::Tool(ToolEvent {
            round: self.round,
            index,
            call: Some(id),
            tool,
            state,
            report,
        }));
    }

    fn open(&self) -> MutexGuard<'_, Vec<OpenCall>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl BatchSubscriber for CallEvents {
    fn on_approval_request(&self, request: &ApprovalRequest) {
        self.asked().push((request.call, request.id));
        let approval = Box::new(request.clone());
        self.emit(request.call, ToolState::ApprovalRequested { approval });
    }

    fn on_decision(&self, request: &ApprovalRequest, record: &DecisionRecord) {
        self.asked().retain(|(_, question)| *question != request.id);
        let (approval, decision) = (request.id, record.clone());
        self.emit(request.call, ToolState::ApprovalResponded { approval, decision });
    }

    fn on_progress(&self, call: CallId, progress: &Progress) {
        self.emit(call, ToolState::Progress { progress: progress.clone() });
    }

    fn on_answer(&self, answer: &Answer) {
        if let Answer::Done(outcome) = answer {
            self.asked().retain(|(call, _)| *call != outcome.call);
        }
        // A question gets its result when a person has answered it.
        if let Answer::Done(outcome) = answer
            && user_question(outcome).is_none()
        {
            self.emit_outcome(outcome);
        }
    }
}

/// Milliseconds that a call waited for the decision of a person. They say how long the person
/// thought, not how long the tool took.
fn waited_for_person_ms(outcome: &Outcome) -> u64 {
    let approvals = outcome.report.stages.iter().filter(|record| record.stage == Stage::Approve);
    approvals.map(|record| record.nanos / 1_000_000).sum()
}

/// The final state for a result.
fn final_state(answer: &CallAnswer, elapsed_ms: u64) -> ToolState {
    let output = answer.wire.clone();
    let error_type = output.get("error_type").cloned();
    let error_type = error_type.and_then(|name| serde_json::from_value(name).ok());
    match answer.kind {
        Some(OutcomeKind::Succeeded) if !answer.is_error => {
            ToolState::OutputAvailable { output, elapsed_ms }
        }
        // Without a kind the call never reached the invoker: the loop refused it.
        None | Some(OutcomeKind::Denied | OutcomeKind::Expired) => {
            let outcome = answer.kind.unwrap_or(OutcomeKind::Denied);
            ToolState::OutputDenied { outcome, error_type, output, elapsed_ms }
        }
        Some(outcome) => ToolState::OutputError { outcome, error_type, output, elapsed_ms },
    }
}
