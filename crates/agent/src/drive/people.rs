//! Waiting for people: questions are put to whoever is here, approvals wait for a decision from elsewhere.

use std::sync::Arc;

use toolcrib_core::{Answer, ApprovalRequest, BoxFuture, DecisionRecord, Report};

use super::Work;
use super::tools::state_of;
use crate::events::{Event, ToolEvent, ToolState};
use crate::machine::{Machine, Next, Pending, Question, Said, Waits};

/// A call that another task of this process went on with; its result went there.
const ELSEWHERE: &str = "This call was decided about elsewhere; its result did not reach this run. Check before you call it again.";

/// Somebody who can be asked a question of the model.
pub trait Person: Send + Sync {
    /// Asks; `None` = nobody is here now: the run pauses and is stored.
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Said>>;

    /// Decides about a call that waits since before this process took the run over; `None` = not now. (Calls of this process are put to
    /// the engine's approver.)
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Option<DecisionRecord>> {
        let _ = request;
        Box::pin(std::future::ready(None))
    }
}

/// Nobody: every question pauses the run.
#[derive(Debug, Clone, Copy, Default)]
pub struct NobodyAnswers;

impl Person for NobodyAnswers {
    fn answer<'a>(&'a self, _question: &'a Question) -> BoxFuture<'a, Option<Said>> {
        Box::pin(std::future::ready(None))
    }
}

impl Work<'_> {
    /// Asks for everything that can be asked here; what still waits is given back, and the run is paused.
    pub(super) async fn ask_people(&self, machine: &mut Machine) -> Option<Vec<Pending>> {
        let Next::AskPerson(pending) = machine.next() else { return None };
        let pending = pending.to_vec();
        for wait in &pending {
            tokio::select! {
                () = self.ask_about(machine, wait) => {}
                () = self.control.token().cancelled() => {
                    machine.stop();
                    return None;
                }
            }
        }
        match machine.next() {
            Next::AskPerson(left) => Some(left.to_vec()),
            _ => None,
        }
    }

    async fn ask_about(&self, machine: &mut Machine, wait: &Pending) {
        match &wait.what {
            Waits::Answer(question) => {
                let question = question.clone();
                self.driver.tell(Event::Question { call: wait.call, question: question.clone() });
                if let Some(said) = self.driver.person.answer(&question).await {
                    machine.said(wait.call, &said);
                    self.driver.tell(Event::QuestionAnswered { call: wait.call, said });
                }
            }
            Waits::Approval(request) => {
                let Some(record) = self.driver.person.decide(request).await else { return };
                self.decide(machine, wait, request, record).await;
            }
        }
    }

    async fn decide(
        &self,
        machine: &mut Machine,
        wait: &Pending,
        request: &ApprovalRequest,
        record: DecisionRecord,
    ) {
        let tell = |state| self.tell_call(machine.state().rounds, wait, request, state, None);
        let (approval, decision) = (request.id, record.clone());
        tell(ToolState::ApprovalResponded { approval, decision });
        match self.driver.invoker.decide(request.id, record).await {
            Ok(Some(answer)) => {
                if let Answer::Done(outcome) = &answer {
                    let report = Some(Arc::new(outcome.report.clone()));
                    let (round, state) = (machine.state().rounds, state_of(outcome, 0));
                    self.tell_call(round, wait, request, state, report);
                }
                machine.decided(wait.call, answer);
            }
            Ok(None) => {
                machine.undecidable(wait.call, ELSEWHERE);
            }
            Err(error) => {
                let why = format!("This call was not run: {error}. Call it again if it is still needed.");
                self.driver.tell(Event::Notice { text: format!("{}: {error}", request.tool) });
                machine.undecidable(wait.call, &why);
            }
        }
    }

    fn tell_call(
        &self,
        round: u32,
        wait: &Pending,
        request: &ApprovalRequest,
        state: ToolState,
        report: Option<Arc<Report>>,
    ) {
        let (index, call, tool) = (wait.index, Some(wait.call), request.tool.to_string());
        self.driver.tell(Event::Tool(ToolEvent { round, index, call, tool, state, report }));
    }
}
