//! What is told of the calls of one answer: each is announced once and gets exactly one final state, whoever answers it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use toolcrib_core::{
    Answer, ApprovalId, ApprovalRequest, Call, CallId, DecisionRecord, Outcome, OutcomeKind,
    Progress, Report, Watch,
};
use toolcrib_providers::chat::{CallAnswer, Message};

use crate::ask_user;
use crate::events::{Event, EventSink, ToolEvent, ToolState};
use crate::machine::{Machine, Pending, Waits, asked};

/// The calls of the newest answer.
pub(super) struct Calls {
    events: EventSink,
    round: u32,
    begun: Instant,
    /// Those without a final state, in their order.
    open: Mutex<Vec<Open>>,
    /// What became of the others, as far as the door answered them.
    done: Mutex<Vec<(usize, CallAnswer)>>,
    /// Questions about calls that nobody has answered yet.
    asked: Mutex<Vec<(CallId, ApprovalId)>>,
}

#[derive(Clone)]
struct Open {
    id: CallId,
    index: usize,
    tool: String,
}

impl Calls {
    /// Calls that the model asks for; they are announced.
    pub(super) fn of(events: &EventSink, round: u32, calls: &[Call]) -> Self {
        let open = calls.iter().enumerate().map(|(index, call)| Open {
            id: call.id,
            index,
            tool: call.name.clone(),
        });
        let made = Self::new(events, round, open.collect());
        for call in calls {
            made.tell(call.id, ToolState::InputAvailable { args: call.args.clone() });
        }
        made
    }

    /// Calls that wait since another process announced them.
    pub(super) fn waiting(events: &EventSink, round: u32, pending: &[Pending]) -> Self {
        let open = pending.iter().map(|wait| Open {
            id: wait.call,
            index: wait.index,
            tool: match &wait.what {
                Waits::Approval(request) => request.tool.to_string(),
                Waits::Answer(_) => ask_user::NAME.to_owned(),
            },
        });
        Self::new(events, round, open.collect())
    }

    fn new(events: &EventSink, round: u32, open: Vec<Open>) -> Self {
        let (events, begun) = (Arc::clone(events), Instant::now());
        let (done, asked) = (Mutex::default(), Mutex::default());
        Self { events, round, begun, open: Mutex::new(open), done, asked }
    }

    /// Whether this call has no final state yet.
    pub(super) fn has(&self, call: CallId) -> bool {
        self.open().iter().any(|open| open.id == call)
    }

    /// Says where a call stands.
    pub(super) fn tell(&self, call: CallId, state: ToolState) {
        let found = self.open().iter().find(|open| open.id == call).cloned();
        if let Some(open) = found {
            self.say(open, state, None);
        }
    }

    /// Says how a call ended; the first time stands.
    pub(super) fn ended(&self, outcome: &Outcome) {
        if let Some(open) = self.close(|open| open.id == outcome.call) {
            let answer = CallAnswer::of(outcome);
            let state = of_answer(&answer, self.elapsed_ms());
            self.done.lock().unwrap_or_else(PoisonError::into_inner).push((open.index, answer));
            self.say(open, state, Some(Arc::new(outcome.report.clone())));
        }
    }

    /// What became of the calls that the door has answered, by their place; given once.
    pub(super) fn take_done(&self) -> Vec<(usize, CallAnswer)> {
        std::mem::take(&mut *self.done.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The questions that nobody has answered; given once.
    pub(super) fn take_asked(&self) -> Vec<ApprovalId> {
        self.asked().drain(..).map(|(_, question)| question).collect()
    }

    fn asked(&self) -> MutexGuard<'_, Vec<(CallId, ApprovalId)>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says how those calls ended that somebody else than the door has answered: a person, a guard, or whoever stopped the run.
    pub(super) fn settle(&self, machine: &Machine) {
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
                self.say(open, of_answer(answer, self.elapsed_ms()), None);
            }
        }
    }

    fn close(&self, is_it: impl Fn(&Open) -> bool) -> Option<Open> {
        let mut open = self.open();
        let at = open.iter().position(is_it)?;
        Some(open.remove(at))
    }

    fn say(&self, open: Open, state: ToolState, report: Option<Arc<Report>>) {
        let Open { id, index, tool } = open;
        (self.events)(Event::Tool(ToolEvent {
            round: self.round,
            index,
            call: Some(id),
            tool,
            state,
            report,
        }));
    }

    fn open(&self) -> MutexGuard<'_, Vec<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Watch for Calls {
    fn asked(&self, request: &ApprovalRequest) {
        self.asked().push((request.call, request.id));
        let approval = Box::new(request.clone());
        self.tell(request.call, ToolState::ApprovalRequested { approval });
    }

    fn decided(&self, request: &ApprovalRequest, record: &DecisionRecord) {
        self.asked().retain(|(_, question)| *question != request.id);
        let (approval, decision) = (request.id, record.clone());
        self.tell(request.call, ToolState::ApprovalResponded { approval, decision });
    }

    fn progressed(&self, call: CallId, progress: &Progress) {
        self.tell(call, ToolState::Progress { progress: progress.clone() });
    }

    fn answered(&self, answer: &Answer) {
        if let Answer::Done(outcome) = answer {
            self.asked().retain(|(call, _)| *call != outcome.call);
        }
        // A question has its result when a person has answered it.
        if let Answer::Done(outcome) = answer
            && asked(outcome).is_none()
        {
            self.ended(outcome);
        }
    }
}

/// The state that an answer is shown as.
fn of_answer(answer: &CallAnswer, elapsed_ms: u64) -> ToolState {
    let output = answer.wire.clone();
    let error_type = output.get("error_type").cloned();
    let error_type = error_type.and_then(|name| serde_json::from_value(name).ok());
    match answer.kind {
        Some(OutcomeKind::Succeeded) if !answer.is_error => {
            ToolState::OutputAvailable { output, elapsed_ms }
        }
        // Without a kind it was never asked of the door: the loop refused it.
        None | Some(OutcomeKind::Denied | OutcomeKind::Expired) => {
            let outcome = answer.kind.unwrap_or(OutcomeKind::Denied);
            ToolState::OutputDenied { outcome, error_type, output, elapsed_ms }
        }
        Some(outcome) => ToolState::OutputError { outcome, error_type, output, elapsed_ms },
    }
}
