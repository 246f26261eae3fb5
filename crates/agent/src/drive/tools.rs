//! Running the calls of an answer: one batch through the door, watched.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolcrib_core::{
    Answer, ApprovalRequest, Batch, Call, CallId, DecisionRecord, Origin, Outcome, OutcomeKind,
    Report, Watch,
};

use super::Work;
use crate::events::{Event, EventSink, ToolEvent, ToolState};
use crate::machine::{Machine, Next};

/// How long a stopped run waits for the outcomes of its calls; what is not there by then is answered as stopped (seed 001: stop returns to
/// idle at once).
const STOPPING: Duration = Duration::from_secs(2);

impl Work<'_> {
    pub(super) async fn run_tools(&mut self, machine: &mut Machine) {
        let Next::CallTools(calls) = machine.next() else { return };
        let calls = calls.to_vec();
        let run = machine.state().run;
        let view = self.view_request(machine);
        let watcher = Arc::new(Watcher::new(&self.driver.events, machine.state().rounds, &calls));
        for call in &calls {
            watcher.tell(call.id, ToolState::InputAvailable { args: call.args.clone() });
        }
        let seen = self.driver.catalog.view(&view);
        let batch = Batch {
            run: Some(run),
            origin: Origin::Model,
            context: Arc::clone(&self.job.context),
            view,
            calls,
        };
        let running = self.driver.invoker.invoke_watched(batch, watcher);
        let mut running = std::pin::pin!(running);
        let answers = tokio::select! {
            answers = &mut running => answers,
            () = self.control.token().cancelled() => {
                self.driver.invoker.cancel_run(run);
                match tokio::time::timeout(STOPPING, running).await {
                    Ok(answers) => answers,
                    Err(_) => return machine.stop(),
                }
            }
        };
        let (skills, messages) = (machine.state().skills.len(), machine.history().len());
        machine.ran(answers, |tool| seen.find(tool).is_some_and(|entry| entry.spec().polling));
        for skill in machine.state().skills.iter().skip(skills) {
            let (name, allowed_tools) = (skill.name.clone(), skill.allowed_tools.clone());
            self.driver.tell(Event::Skill { name, allowed_tools });
        }
        self.tell_guards(machine, messages);
    }
}

/// Passes what happens to the calls of a batch on as events.
struct Watcher {
    events: EventSink,
    round: u32,
    /// Place and name of each call.
    calls: HashMap<CallId, (usize, String)>,
    begun: Instant,
}

impl Watcher {
    fn new(events: &EventSink, round: u32, calls: &[Call]) -> Self {
        let calls =
            calls.iter().enumerate().map(|(at, call)| (call.id, (at, call.name.clone()))).collect();
        Self { events: Arc::clone(events), round, calls, begun: Instant::now() }
    }

    fn tell(&self, call: CallId, state: ToolState) {
        self.tell_with(call, state, None);
    }

    fn tell_with(&self, call: CallId, state: ToolState, report: Option<Arc<Report>>) {
        let Some((index, tool)) = self.calls.get(&call) else { return };
        (self.events)(Event::Tool(ToolEvent {
            round: self.round,
            index: *index,
            call: Some(call),
            tool: tool.clone(),
            state,
            report,
        }));
    }
}

impl Watch for Watcher {
    fn asked(&self, request: &ApprovalRequest) {
        let approval = Box::new(request.clone());
        self.tell(request.call, ToolState::ApprovalRequested { approval });
    }

    fn decided(&self, request: &ApprovalRequest, record: &DecisionRecord) {
        let (approval, decision) = (request.id, record.clone());
        self.tell(request.call, ToolState::ApprovalResponded { approval, decision });
    }

    fn answered(&self, answer: &Answer) {
        if let Answer::Done(outcome) = answer {
            let elapsed = self.begun.elapsed().as_millis();
            let elapsed_ms = u64::try_from(elapsed).unwrap_or(u64::MAX);
            let report = Some(Arc::new(outcome.report.clone()));
            self.tell_with(outcome.call, state_of(outcome, elapsed_ms), report);
        }
    }
}

/// The state that an outcome is shown as.
pub(super) fn state_of(outcome: &Outcome, elapsed_ms: u64) -> ToolState {
    let (kind, error_type, output) = (outcome.kind, outcome.error_type(), outcome.to_wire());
    match kind {
        OutcomeKind::Succeeded if !outcome.is_error() => {
            ToolState::OutputAvailable { output, elapsed_ms }
        }
        OutcomeKind::Denied | OutcomeKind::Expired => {
            ToolState::OutputDenied { outcome: kind, error_type, output, elapsed_ms }
        }
        _ => ToolState::OutputError { outcome: kind, error_type, output, elapsed_ms },
    }
}
