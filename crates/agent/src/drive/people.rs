//! Waiting for people: questions are put to whoever is here, and decisions that somebody makes elsewhere are taken up from the store.
//!
//! Every question is in the store before anybody sees it, and is decided there once: whoever is first, here, on another surface or while
//! no process worked on the run, has decided.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_core::invoke::DecideError;
use toolcrib_core::{
    Answer, ApprovalId, ApprovalRequest, BoxFuture, Decision, DecisionRecord, StoreError,
};

use super::Work;
use super::calls::Calls;
use super::tools::STOPPING;
use crate::events::{Event, ToolState};
use crate::machine::{Machine, Next, Pending, Question, Said, Waits};

/// A call that another task of this process went on with; its result went there.
const ELSEWHERE: &str = "This call was decided about elsewhere; its result did not reach this run. Check before you call it again.";

/// A call that was decided about too late.
const EXPIRED: &str = "Nobody answered in time whether this call may run; it was not run. Ask the user before you try again.";

/// A call whose question is not in the store any more: nobody can decide about it.
const LOST: &str =
    "The question about this call is lost, so it was not run. Call it again if it is still needed.";

/// How often the store is looked at while somebody may decide elsewhere: a person does not notice a quarter of a second.
const LOOK: Duration = Duration::from_millis(250);

/// Somebody who can be asked a question of the model.
pub trait Person: Send + Sync {
    /// Asks; `None` = nobody is here now. The future is dropped when somebody was faster elsewhere: it must then have left the screen.
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Said>>;

    /// Decides about a call that waits since before this process took the run over; `None` = not now. (Calls of this process are put to
    /// the engine's approver.)
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Option<DecisionRecord>> {
        let _ = request;
        Box::pin(std::future::ready(None))
    }

    /// Who answers here, as records name it.
    fn name(&self) -> &str {
        "person"
    }

    /// How long the run waits for somebody elsewhere when nobody is here; a question that is put meanwhile expires then. `None` = it pauses
    /// and is stored, and its questions wait as long as it takes.
    fn patience(&self) -> Option<Duration> {
        None
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

/// What became of a question while it was waited for.
pub(super) enum Heard<T> {
    /// Somebody here said this.
    Here(T),
    /// It is decided in the store.
    Elsewhere(DecisionRecord),
    /// Its time is over.
    TimeOver,
    /// Nobody said anything, and it goes on waiting without this process.
    Nothing,
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
        self.store_questions(machine, &pending).await;
        for wait in &pending {
            match &wait.what {
                Waits::Answer(question) => self.put_question(machine, wait, question).await,
                Waits::Approval(request) => self.ask_about(machine, wait, request).await,
            }
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

    /// Whether a call may run. What was decided before, while nobody worked on the run, counts before anybody is asked.
    async fn ask_about(&self, machine: &mut Machine, wait: &Pending, request: &ApprovalRequest) {
        match self.driver.approvals.get(request.id).await {
            Ok(Some(_)) => {}
            Ok(None) => {
                machine.undecidable(wait.call, LOST);
                return;
            }
            Err(error) => return self.cannot_read(&error),
        }
        let person = &self.driver.person;
        let here = async {
            match &request.question {
                // A script asks it: its call goes on with the answer.
                Some(question) => person.answer(question).await.map(|said| self.record_of(said)),
                None => person.decide(request).await,
            }
        };
        match self.hear(request, here).await {
            Heard::Here(record) => self.carry_out(machine, wait, request, Some(record)).await,
            Heard::Elsewhere(record) => {
                self.responded(wait, request.id, &record);
                self.carry_out(machine, wait, request, None).await;
            }
            Heard::TimeOver => {
                let record = DecisionRecord::expiry(self.driver.clock.now_ms());
                self.carry_out(machine, wait, request, Some(record)).await;
            }
            Heard::Nothing => {}
        }
    }

    /// Waits until somebody decides, here or elsewhere, or the time of the question is over. That is so when its deadline has come by the
    /// clock on the wall, or when the time it had left has passed by a clock that nobody sets.
    pub(super) async fn hear<T>(
        &self,
        request: &ApprovalRequest,
        here: impl Future<Output = Option<T>>,
    ) -> Heard<T> {
        let begun = Instant::now();
        let now = self.driver.clock.now_ms();
        let time_left = request.expires_at.map(|end| millis(end.saturating_sub(now)));
        let patience = self.driver.person.patience();
        let mut here = std::pin::pin!(here);
        let mut is_asked_here = true;
        loop {
            match self.driver.approvals.get(request.id).await {
                Ok(Some((_, Some(record)))) => return Heard::Elsewhere(record),
                Ok(_) => {}
                Err(error) => {
                    self.cannot_read(&error);
                    return Heard::Nothing;
                }
            }
            let passed = begun.elapsed();
            if request.is_expired(self.driver.clock.now_ms())
                || time_left.is_some_and(|left| passed >= left)
            {
                return Heard::TimeOver;
            }
            if !is_asked_here && patience.is_none_or(|patience| passed >= patience) {
                return Heard::Nothing;
            }
            let look = time_left.map_or(LOOK, |left| LOOK.min(left.saturating_sub(passed)));
            tokio::select! {
                biased;
                () = self.control.token().cancelled() => return Heard::Nothing,
                said = &mut here, if is_asked_here => match said {
                    Some(said) => return Heard::Here(said),
                    None => is_asked_here = false,
                },
                () = tokio::time::sleep(look) => {}
            }
        }
    }

    pub(super) fn cannot_read(&self, error: &StoreError) {
        let text = format!("a question to a person cannot be looked up: {error}");
        self.driver.tell(Event::Notice { text });
    }

    fn responded(&self, wait: &Pending, approval: ApprovalId, record: &DecisionRecord) {
        let decision = record.clone();
        self.calls.tell(wait.call, ToolState::ApprovalResponded { approval, decision });
    }

    /// Goes on with a call: with this decision, or with the one that is in the store.
    async fn carry_out(
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

    /// Whoever was faster elsewhere has decided.
    async fn decided(
        &self,
        id: ApprovalId,
        record: Option<DecisionRecord>,
    ) -> Result<Option<Answer>, DecideError> {
        let invoker = &self.driver.invoker;
        let Some(record) = record else { return invoker.go_on(id).await };
        match invoker.decide(id, record).await {
            Err(DecideError::AlreadyDecided(first)) => {
                let text = format!("it was decided before, by {}", first.decided_by);
                self.driver.tell(Event::Notice { text });
                invoker.go_on(id).await
            }
            decided => decided,
        }
    }

    /// The run is stopped: nobody is shown its questions any more.
    pub(super) async fn withdraw(&self, machine: &Machine) {
        let Next::AskPerson(pending) = machine.next() else { return };
        for wait in pending {
            match (&wait.what, wait.asked) {
                (Waits::Approval(request), _) => self.withdrawn(request.id).await,
                // One that was answered meanwhile needs nothing.
                (Waits::Answer(_), Some(id)) => {
                    let _ = self.driver.approvals.decide(id, self.no_longer()).await;
                }
                (Waits::Answer(_), None) => {}
            }
        }
    }

    /// Nobody is asked about this call any more, and it does not run. One that was decided about meanwhile needs nothing.
    pub(super) async fn withdrawn(&self, question: ApprovalId) {
        let _ = self.driver.invoker.decide(question, self.no_longer()).await;
    }

    fn no_longer(&self) -> DecisionRecord {
        DecisionRecord {
            decision: Decision::Deny { note: None },
            decided_by: "stopped".to_owned(),
            decided_at: self.driver.clock.now_ms(),
        }
    }
}

/// What is left of a time; nothing of one that is over.
fn millis(left: i64) -> Duration {
    Duration::from_millis(u64::try_from(left).unwrap_or(0))
}
