//! Questions of the model: stored with the approvals, so that one inbox contains both and each is
//! answered once.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::display_text::escape_to_line;
use toolcrib_core::store::{ApprovalWithDecision as Kept, PendingApproval};
use toolcrib_core::{
    ApprovalId, ApprovalRequest, Batch, Context, Decision, DecisionRecord, Effect, Origin, Reach,
    Risk, StoreError,
};

use super::RunDriver;
use super::approvals::WaitResult;
use crate::ask_user;
use crate::events::Event;
use crate::machine::{Machine, Pending, PendingKind, Question, QuestionAnswer};

impl RunDriver<'_> {
    /// Stores the questions that are not stored yet, all of them before the first is shown.
    pub(super) async fn store_questions(&mut self, machine: &mut Machine, pending: &[Pending]) {
        let mut is_new = false;
        for wait in pending {
            let PendingKind::Answer(question) = &wait.what else { continue };
            match self.store_question(machine, wait, question).await {
                Ok((waiting, _)) => {
                    is_new |= wait.asked != Some(waiting.request.id);
                    machine.question_stored(wait.call, waiting.request.id);
                }
                Err(error) => {
                    let text = format!(
                        "a question to a person could not be stored, so no person is asked: {error}"
                    );
                    self.driver.tell(Event::Notice { text });
                }
            }
        }
        if is_new {
            self.checkpoint(machine, toolcrib_core::RunStatus::Running);
        }
    }

    /// Stores the question of a call, or returns the stored one: a process that died after storing
    /// it may have left it.
    async fn store_question(
        &self,
        machine: &Machine,
        wait: &Pending,
        question: &Question,
    ) -> Result<Kept, StoreError> {
        let approvals = &self.driver.approvals;
        if let Some(kept) = approvals.for_call(wait.call).await?
            && kept.0.request.question.is_some()
        {
            return Ok(kept);
        }
        let request = self.request(machine, wait, question);
        let batch = Batch {
            run: request.run,
            context: Arc::clone(&self.job.context),
            view: Arc::new(self.job.view.clone()),
            ..Batch::new(Origin::Model, Vec::new())
        };
        let waiting = PendingApproval { request, batch, setup: self.job.setup.clone() };
        approvals.ask(waiting.clone()).await?;
        Ok((waiting, None))
    }

    fn request(&self, machine: &Machine, wait: &Pending, question: &Question) -> ApprovalRequest {
        let run = Some(machine.state().run);
        let now = self.driver.clock.now_ms();
        let args = args(question);
        let definition_hash = ask_user::handler().spec().definition_hash();
        let patience = self.driver.human_input.wait_limit();
        ApprovalRequest {
            id: ApprovalId::fresh(),
            call: wait.call,
            run,
            tool: ask_user::name(),
            operation: ask_user::NAME.to_owned(),
            risk: Risk::Safe,
            effect: Effect::Pure,
            reach: Reach::default(),
            summary: escape_to_line(&question.question),
            reasons: Vec::new(),
            origin: Origin::Model,
            context: Context::clone(&self.job.context),
            binding: ApprovalRequest::compute_binding(&definition_hash, &args, run),
            definition_hash,
            args,
            requested_at: now,
            expires_at: patience.map(|time| {
                now.saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
            }),
            question: Some(question.clone()),
        }
    }

    /// Asks the person at this process, and accepts an answer from another process.
    pub(super) async fn ask_question(
        &self,
        machine: &mut Machine,
        wait: &Pending,
        question: &Question,
    ) {
        let request = match self.store_question(machine, wait, question).await {
            Ok((waiting, _)) => waiting.request,
            Err(error) => return self.notice_store_error(&error),
        };
        let (call, approval) = (wait.call, request.id);
        self.driver.tell(Event::Question { call, approval, question: question.clone() });
        let record =
            match self.wait_for_answer(&request, self.driver.human_input.answer(question)).await {
                WaitResult::Local(said) => self.record(approval, self.record_of(said)).await,
                WaitResult::Stored(record) => Some(record),
                WaitResult::TimedOut => {
                    let now = self.driver.clock.now_ms();
                    self.record(approval, DecisionRecord::expiry(now)).await
                }
                WaitResult::Unanswered => None,
            };
        if let Some(record) = record {
            let said = answer_from_record(&record);
            machine.question_answered(call, &said);
            self.driver.tell(Event::QuestionAnswered { call, said });
        }
    }

    /// Records an answer and returns the recorded one: this one, or an earlier one from another
    /// process. `None` if it could not be stored; the question stays open.
    async fn record(&self, id: ApprovalId, record: DecisionRecord) -> Option<DecisionRecord> {
        match self.driver.approvals.decide(id, record.clone()).await {
            Ok(Ok(())) => Some(record),
            Ok(Err(first)) => Some(first),
            Err(error) => {
                let text = format!("an answer could not be stored, so it does not count: {error}");
                self.driver.tell(Event::Notice { text });
                None
            }
        }
    }

    pub(super) fn record_of(&self, said: QuestionAnswer) -> DecisionRecord {
        let decided_at = self.driver.clock.now_ms();
        let decision = match said {
            QuestionAnswer::Answered { text } => Decision::Answer { text },
            QuestionAnswer::Skipped => Decision::Skip,
            QuestionAnswer::Expired => return DecisionRecord::expiry(decided_at),
        };
        DecisionRecord {
            decision,
            decided_by: self.driver.human_input.name().to_owned(),
            decided_at,
        }
    }
}

/// Returns the arguments of the question, as they are displayed.
fn args(question: &Question) -> Value {
    let mut args = json!({"question": question.question});
    if !question.context.is_empty() {
        args["context"] = json!(question.context);
    }
    if !question.options.is_empty() {
        args["options"] = json!(question.options);
    }
    args
}

/// Returns the answer for a decision. A denied question counts as skipped.
fn answer_from_record(record: &DecisionRecord) -> QuestionAnswer {
    match &record.decision {
        Decision::Answer { text } => QuestionAnswer::Answered { text: text.clone() },
        Decision::Deny { .. } if record.is_expiry() => QuestionAnswer::Expired,
        Decision::Skip
        | Decision::Deny { .. }
        | Decision::Approve { .. }
        | Decision::Edit { .. } => QuestionAnswer::Skipped,
    }
}
