//! Events of the calls of one answer: each call is announced once and receives exactly one final
//! state.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolcrib_core::{
    Answer, ApprovalId, ApprovalRequest, BatchSubscriber, Call, CallId, DecisionRecord, Outcome,
    OutcomeKind, Progress, Report,
};
use toolcrib_providers::conversation::{CallAnswer, Message};

use crate::ask_user;
use crate::events::{Event, EventSink, ToolEvent, ToolState};
use crate::machine::{Machine, Pending, PendingKind, user_question};

/// The calls of the newest answer.
pub(super) struct CallEvents {
    events: EventSink,
    round: u32,
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
    /// Whether the invoker has received the call, and so records its one outcome.
    is_sent: bool,
}

impl CallEvents {
    /// Announces new calls of the model.
    pub(super) fn for_new_calls(events: &EventSink, round: u32, calls: &[Call]) -> Self {
        let open = calls.iter().enumerate().map(|(index, call)| OpenCall {
            id: call.id,
            index,
            tool: call.name.clone(),
            is_sent: false,
        });
        let made = Self::new(events, round, open.collect());
        for call in calls {
            made.emit(call.id, ToolState::InputAvailable { args: call.args.clone() });
        }
        made
    }

    /// Creates the events of waiting calls that another process announced.
    pub(super) fn for_pending_calls(events: &EventSink, round: u32, pending: &[Pending]) -> Self {
        let open = pending.iter().map(|wait| OpenCall {
            id: wait.call,
            index: wait.index,
            tool: match &wait.what {
                PendingKind::Approval(request) => request.tool.to_string(),
                PendingKind::Answer(_) => ask_user::NAME.to_owned(),
            },
            is_sent: true,
        });
        Self::new(events, round, open.collect())
    }

    fn new(events: &EventSink, round: u32, open: Vec<OpenCall>) -> Self {
        let (done, asked) = (Mutex::default(), Mutex::default());
        Self { events: Arc::clone(events), round, open: Mutex::new(open), done, asked }
    }

    /// Returns whether this call has no final state yet.
    pub(super) fn has(&self, call: CallId) -> bool {
        self.open().iter().any(|open| open.id == call)
    }

    /// Marks the calls as passed to the invoker.
    pub(super) fn mark_sent(&self) {
        self.open().iter_mut().for_each(|open| open.is_sent = true);
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
            let state = final_state(&answer);
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
    /// or a stop. Returns the calls that the invoker never received, because no other component
    /// records them.
    pub(super) fn close_answered(&self, machine: &Machine) -> Vec<(Call, CallAnswer)> {
        let mut unsent = Vec::new();
        if self.open().is_empty() {
            return unsent;
        }
        let newest = machine.history().iter().rev().find_map(|message| match &**message {
            Message::Model(message) => Some(message),
            Message::User(_) => None,
        });
        let Some(newest) = newest else { return unsent };
        for (index, (answer, asked)) in newest.answers().iter().zip(&newest.turn.calls).enumerate()
        {
            if let Some(answer) = answer
                && let Some(open) = self.close(|open| open.index == index)
            {
                if !open.is_sent {
                    let (name, args) = (open.tool.clone(), asked.args.clone());
                    unsent.push((Call { id: open.id, name, args }, answer.clone()));
                }
                self.say(open, final_state(answer), None);
            }
        }
        unsent
    }

    fn close(&self, is_it: impl Fn(&OpenCall) -> bool) -> Option<OpenCall> {
        let mut open = self.open();
        let at = open.iter().position(is_it)?;
        Some(open.remove(at))
    }

    fn say(&self, open: OpenCall, state: ToolState, report: Option<Arc<Report>>) {
        let OpenCall { id, index, tool, .. } = open;
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
        // A question receives its result when a person has answered it.
        if let Answer::Done(outcome) = answer
            && user_question(outcome).is_none()
        {
            self.emit_outcome(outcome);
        }
    }
}

/// Returns the final state for a result.
fn final_state(answer: &CallAnswer) -> ToolState {
    let (output, elapsed_ms) = (answer.wire.clone(), answer.elapsed_ms.unwrap_or(0));
    let reason = answer.reason.clone();
    let error_type = output.get("error_type").cloned();
    let error_type = error_type.and_then(|name| serde_json::from_value(name).ok());
    match answer.kind {
        Some(OutcomeKind::Succeeded) if !answer.is_error => {
            ToolState::OutputAvailable { output, elapsed_ms, cards: answer.cards() }
        }
        // Without a kind the call never reached the invoker: the loop refused it.
        None | Some(OutcomeKind::Denied | OutcomeKind::Expired) => {
            let outcome = answer.kind.unwrap_or(OutcomeKind::Denied);
            ToolState::OutputDenied { outcome, error_type, output, elapsed_ms, reason }
        }
        Some(outcome) => ToolState::OutputError { outcome, error_type, output, elapsed_ms, reason },
    }
}
