//! Waiting for people: questions are put to whoever is here, approvals wait for a decision from elsewhere.

use std::sync::Arc;

use toolcrib_core::invoke::DecideError;
use toolcrib_core::{Answer, ApprovalRequest, BoxFuture, Decision, DecisionRecord};

use super::Work;
use super::calls::Calls;
use super::tools::STOPPING;
use crate::events::{Event, ToolState};
use crate::machine::{Machine, Next, Pending, Question, Said, Waits};

/// A call that another task of this process went on with; its result went there.
const ELSEWHERE: &str = "This call was decided about elsewhere; its result did not reach this run. Check before you call it again.";

/// A call that was decided about too late.
const EXPIRED: &str = "Nobody answered in time whether this call may run; it was not run. Ask the user before you try again.";

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
    pub(super) async fn ask_people(&mut self, machine: &mut Machine) -> Option<Vec<Pending>> {
        let Next::AskPerson(pending) = machine.next() else { return None };
        let (pending, messages) = (pending.to_vec(), machine.history().len());
        if !pending.iter().any(|wait| self.calls.has(wait.call)) {
            let round = machine.state().rounds;
            self.calls = Arc::new(Calls::waiting(&self.driver.events, round, &pending));
        }
        for wait in &pending {
            self.ask_about(machine, wait).await;
            if self.control.is_stopped() {
                return None;
            }
        }
        self.tell_guards(machine, messages);
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
                if let Some(said) = self.unless_stopped(self.driver.person.answer(&question)).await
                {
                    machine.said(wait.call, &said);
                    self.driver.tell(Event::QuestionAnswered { call: wait.call, said });
                }
            }
            Waits::Approval(request) => {
                let deciding = self.driver.person.decide(request);
                let Some(record) = self.unless_stopped(deciding).await else { return };
                self.decide(machine, wait, request, record).await;
            }
        }
    }

    /// What a person says; `None` as well when the run is stopped meanwhile.
    async fn unless_stopped<T>(&self, asked: impl Future<Output = Option<T>>) -> Option<T> {
        tokio::select! {
            said = asked => said,
            () = self.control.token().cancelled() => None,
        }
    }

    async fn decide(
        &self,
        machine: &mut Machine,
        wait: &Pending,
        request: &ApprovalRequest,
        record: DecisionRecord,
    ) {
        let (approval, decision) = (request.id, record.clone());
        self.calls.tell(wait.call, ToolState::ApprovalResponded { approval, decision });
        let carried_out = {
            let mut running = std::pin::pin!(self.driver.invoker.decide(request.id, record));
            tokio::select! {
                carried_out = &mut running => carried_out,
                () = self.control.token().cancelled() => {
                    self.driver.invoker.cancel_run(machine.state().run);
                    match tokio::time::timeout(STOPPING, running).await {
                        Ok(carried_out) => carried_out,
                        Err(_) => return,
                    }
                }
            }
        };
        match carried_out {
            Ok(Some(answer)) => {
                if let Answer::Done(outcome) = &answer {
                    self.calls.ended(outcome);
                }
                machine.decided(wait.call, answer);
            }
            Ok(None) => {
                machine.undecidable(wait.call, ELSEWHERE);
            }
            Err(DecideError::Expired) => {
                machine.expired(wait.call, EXPIRED);
            }
            Err(error) => {
                let why =
                    format!("This call was not run: {error}. Call it again if it is still needed.");
                self.driver.tell(Event::Notice { text: format!("{}: {error}", request.tool) });
                machine.undecidable(wait.call, &why);
            }
        }
    }

    /// The run is stopped: nobody is shown its questions any more.
    pub(super) async fn withdraw(&self, machine: &Machine) {
        let Next::AskPerson(pending) = machine.next() else { return };
        for wait in pending {
            if let Waits::Approval(request) = &wait.what {
                let record = DecisionRecord {
                    decision: Decision::Deny { note: None },
                    decided_by: "stopped".to_owned(),
                    decided_at: 0,
                };
                // One that was decided about meanwhile needs nothing.
                let _ = self.driver.invoker.decide(request.id, record).await;
            }
        }
    }
}
