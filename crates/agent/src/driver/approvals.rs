//! Waits for people: asks the person at this process, and polls the store for decisions made
//! elsewhere.
//!
//! Every question is stored before it is shown, and decided in the store exactly once: the first
//! decision wins, whether a person makes it here, on another surface, or while no process is
//! working on the run.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_core::invoker::DecideError;
use toolcrib_core::{
    Answer, ApprovalId, ApprovalRequest, BoxFuture, Decision, DecisionRecord, StoreError,
};

use super::RunDriver;
use super::call_events::CallEvents;
use super::run_calls::STOPPING;
use crate::events::{Event, ToolState};
use crate::machine::{Machine, NextStep, Pending, PendingKind, Question, QuestionAnswer};

/// Result of a call that another task of this process continued.
const DECIDED_ELSEWHERE: &str = "This call was decided about elsewhere; its result did not reach this run. Check before you call it again.";

/// Result of a call whose approval expired.
const EXPIRED: &str = "No person answered in time whether this call may run; it was not run. Ask the user before you try again.";

/// Result of a call whose approval is missing in the store.
const QUESTION_LOST: &str =
    "The question about this call is lost, so it was not run. Call it again if it is still needed.";

/// Polling interval while a decision may be made elsewhere: a delay of a quarter of a second is not
/// noticeable.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The person at this process.
pub trait HumanInput: Send + Sync {
    /// Asks a question of the model; `None` if no person is available now. If the question is
    /// answered elsewhere, the future is dropped and must remove its prompt.
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<QuestionAnswer>>;

    /// Decides about a call that was already waiting when this process took over the run; `None` to
    /// postpone the decision. (New calls ask the engine's approver.)
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Option<DecisionRecord>> {
        let _ = request;
        Box::pin(std::future::ready(None))
    }

    /// Returns the name of the person, for records.
    fn name(&self) -> &str {
        "person"
    }

    /// Returns the maximum time to wait for an answer from elsewhere if no person is available
    /// here; then the question expires.
    fn wait_limit(&self) -> Option<Duration> {
        None
    }
}

/// No person is available: every question pauses the run.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHumanInput;

impl HumanInput for NoHumanInput {
    fn answer<'a>(&'a self, _question: &'a Question) -> BoxFuture<'a, Option<QuestionAnswer>> {
        Box::pin(std::future::ready(None))
    }
}

/// Result of waiting for an answer.
pub(super) enum WaitResult<T> {
    /// The person at this process answered.
    Local(T),
    /// The store has a decision.
    Stored(DecisionRecord),
    /// The deadline has passed.
    TimedOut,
    /// There is no answer; the question stays open without this process.
    Unanswered,
}

impl RunDriver<'_> {
    /// Asks all pending questions that can be asked here; returns the questions that still wait and
    /// for which the run is paused.
    pub(super) async fn ask_pending(&mut self, machine: &mut Machine) -> Option<Vec<Pending>> {
        let NextStep::AskPerson(pending) = machine.next() else { return None };
        let (pending, messages) = (pending.to_vec(), machine.history().len());
        if !pending.iter().any(|wait| self.calls.has(wait.call)) {
            let round = machine.state().rounds;
            self.calls =
                Arc::new(CallEvents::for_pending_calls(&self.driver.events, round, &pending));
        }
        self.store_questions(machine, &pending).await;
        for wait in &pending {
            match &wait.what {
                PendingKind::Answer(question) => self.ask_question(machine, wait, question).await,
                PendingKind::Approval(request) => self.ask_approval(machine, wait, request).await,
            }
            if self.control.is_stopped() {
                return None;
            }
        }
        self.emit_guard_messages(machine, messages);
        match machine.next() {
            NextStep::AskPerson(left) => Some(left.to_vec()),
            _ => None,
        }
    }

    /// Asks whether a call may run. An earlier decision in the store is used without asking.
    async fn ask_approval(&self, machine: &mut Machine, wait: &Pending, request: &ApprovalRequest) {
        match self.driver.approvals.get(request.id).await {
            Ok(Some(_)) => {}
            Ok(None) => {
                machine.decision_failed(wait.call, QUESTION_LOST);
                return;
            }
            Err(error) => return self.notice_store_error(&error),
        }
        let person = &self.driver.human_input;
        let here = async {
            match &request.question {
                // A script asks; its call continues with the answer.
                Some(question) => person.answer(question).await.map(|said| self.record_of(said)),
                None => person.decide(request).await,
            }
        };
        match self.wait_for_answer(request, here).await {
            WaitResult::Local(record) => {
                self.resume_call(machine, wait, request, Some(record)).await;
            }
            WaitResult::Stored(record) => {
                self.responded(wait, request.id, &record);
                self.resume_call(machine, wait, request, None).await;
            }
            WaitResult::TimedOut => {
                let record = DecisionRecord::expiry(self.driver.clock.now_ms());
                self.resume_call(machine, wait, request, Some(record)).await;
            }
            WaitResult::Unanswered => {}
        }
    }

    /// Waits for an answer here or elsewhere, until the deadline. The deadline has passed when the
    /// wall clock reaches it, or when the remaining time has passed on a monotonic clock, whichever
    /// comes first.
    pub(super) async fn wait_for_answer<T>(
        &self,
        request: &ApprovalRequest,
        here: impl Future<Output = Option<T>>,
    ) -> WaitResult<T> {
        let begun = Instant::now();
        let now = self.driver.clock.now_ms();
        let time_left = request.expires_at.map(|end| millis(end.saturating_sub(now)));
        let patience = self.driver.human_input.wait_limit();
        let mut here = std::pin::pin!(here);
        let mut is_asked_here = true;
        loop {
            match self.driver.approvals.get(request.id).await {
                Ok(Some((_, Some(record)))) => return WaitResult::Stored(record),
                Ok(_) => {}
                Err(error) => {
                    self.notice_store_error(&error);
                    return WaitResult::Unanswered;
                }
            }
            let passed = begun.elapsed();
            if request.is_expired(self.driver.clock.now_ms())
                || time_left.is_some_and(|left| passed >= left)
            {
                return WaitResult::TimedOut;
            }
            if !is_asked_here && patience.is_none_or(|patience| passed >= patience) {
                return WaitResult::Unanswered;
            }
            let look = time_left
                .map_or(POLL_INTERVAL, |left| POLL_INTERVAL.min(left.saturating_sub(passed)));
            tokio::select! {
                biased;
                () = self.control.token().cancelled() => return WaitResult::Unanswered,
                said = &mut here, if is_asked_here => match said {
                    Some(said) => return WaitResult::Local(said),
                    None => is_asked_here = false,
                },
                () = tokio::time::sleep(look) => {}
            }
        }
    }

    pub(super) fn notice_store_error(&self, error: &StoreError) {
        let text = format!("a question to a person cannot be looked up: {error}");
        self.driver.tell(Event::Notice { text });
    }

    fn responded(&self, wait: &Pending, approval: ApprovalId, record: &DecisionRecord) {
        let decision = record.clone();
        self.calls.emit(wait.call, ToolState::ApprovalResponded { approval, decision });
    }

    /// Continues a call with this decision, or with an earlier one from the store.
    async fn resume_call(
        &self,
        machine: &mut Machine,
        wait: &Pending,
        request: &ApprovalRequest,
        record: Option<DecisionRecord>,
    ) {
        if let Some(record) = record.as_ref().filter(|record| !record.is_expiry()) {
            self.responded(wait, request.id, record);
        }
        let carried_out = {
            let mut running = std::pin::pin!(self.decided(request.id, record));
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
                    self.calls.emit_outcome(outcome);
                }
                machine.call_decided(wait.call, answer);
            }
            Ok(None) => {
                machine.decision_failed(wait.call, DECIDED_ELSEWHERE);
            }
            Err(DecideError::Expired) => {
                machine.decision_expired(wait.call, EXPIRED);
            }
            Err(error) => {
                let why =
                    format!("This call was not run: {error}. Call it again if it is still needed.");
                self.driver.tell(Event::Notice { text: format!("{}: {error}", request.tool) });
                machine.decision_failed(wait.call, &why);
            }
        }
    }

    /// Handles a decision that was made elsewhere.
    async fn decided(
        &self,
        id: ApprovalId,
        record: Option<DecisionRecord>,
    ) -> Result<Option<Answer>, DecideError> {
        let invoker = &self.driver.invoker;
        let Some(record) = record else { return invoker.resume(id).await };
        match invoker.decide(id, record).await {
            Err(DecideError::AlreadyDecided(first)) => {
                let text = format!("it was decided before, by {}", first.decided_by);
                self.driver.tell(Event::Notice { text });
                invoker.resume(id).await
            }
            decided => decided,
        }
    }

    /// Withdraws the open questions of a stopped run.
    pub(super) async fn withdraw(&self, machine: &Machine) {
        let NextStep::AskPerson(pending) = machine.next() else { return };
        for wait in pending {
            match (&wait.what, wait.asked) {
                (PendingKind::Approval(request), _) => self.withdraw_question(request.id).await,
                // A question that was answered meanwhile needs no action.
                (PendingKind::Answer(_), Some(id)) => {
                    let _ = self.driver.approvals.decide(id, self.withdrawn_decision()).await;
                }
                (PendingKind::Answer(_), None) => {}
            }
        }
    }

    /// Withdraws the approval of a call, which does not run. An approval that was decided meanwhile
    /// needs no action.
    pub(super) async fn withdraw_question(&self, question: ApprovalId) {
        let _ = self.driver.invoker.decide(question, self.withdrawn_decision()).await;
    }

    fn withdrawn_decision(&self) -> DecisionRecord {
        DecisionRecord {
            decision: Decision::Deny { note: None },
            decided_by: "stopped".to_owned(),
            decided_at: self.driver.clock.now_ms(),
        }
    }
}

/// Returns the remaining time; zero if it has passed.
fn millis(left: i64) -> Duration {
    Duration::from_millis(u64::try_from(left).unwrap_or(0))
}
