//! Questions of the model: kept beside the questions about calls, so that they are in the same inbox and are answered once, whoever is
//! first.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::store::{Question as Kept, Waiting};
use toolcrib_core::{
    ApprovalId, ApprovalRequest, Batch, Context, Decision, DecisionRecord, Effect, Origin, Reach,
    Risk, StoreError,
};

use super::Work;
use super::people::Heard;
use crate::ask_user;
use crate::events::Event;
use crate::machine::{Machine, Pending, Question, Said, Waits};

impl Work<'_> {
    /// Stores the questions that are not stored yet, all of them before anybody is shown the first.
    pub(super) async fn store_questions(&mut self, machine: &mut Machine, pending: &[Pending]) {
        let mut is_new = false;
        for wait in pending {
            let Waits::Answer(question) = &wait.what else { continue };
            match self.stored(machine, wait, question).await {
                Ok((waiting, _)) => {
                    is_new |= wait.asked != Some(waiting.request.id);
                    machine.asked(wait.call, waiting.request.id);
                }
                Err(error) => {
                    let text = format!(
                        "a question to a person could not be stored, so nobody is asked: {error}"
                    );
                    self.driver.tell(Event::Notice { text });
                }
            }
        }
        if is_new {
            self.checkpoint(machine, toolcrib_core::RunStatus::Running);
        }
    }

    /// The question of a call as it is kept. A process that died after it had stored it left it there for us.
    async fn stored(
        &self,
        machine: &Machine,
        wait: &Pending,
        question: &Question,
    ) -> Result<Kept, StoreError> {
        let approvals = &self.driver.approvals;
        if let Some(kept) = approvals.of_call(wait.call).await?
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
        let waiting = Waiting { request, batch, setup: self.job.setup.clone() };
        approvals.ask(waiting.clone()).await?;
        Ok((waiting, None))
    }

    fn request(&self, machine: &Machine, wait: &Pending, question: &Question) -> ApprovalRequest {
        let run = Some(machine.state().run);
        let now = self.driver.clock.now_ms();
        let args = args(question);
        let definition_hash = ask_user::handler().spec().definition_hash();
        let patience = self.driver.person.patience();
        ApprovalRequest {
            id: ApprovalId::fresh(),
            call: wait.call,
            run,
            tool: ask_user::name(),
            operation: ask_user::NAME.to_owned(),
            risk: Risk::Safe,
            effect: Effect::Pure,
            reach: Reach::default(),
            summary: question.question.clone(),
            reasons: Vec::new(),
            origin: Origin::Model,
            context: Context::clone(&self.job.context),
            binding: ApprovalRequest::binding_of(&definition_hash, &args, run),
            definition_hash,
            args,
            requested_at: now,
            expires_at: patience.map(|time| {
                now.saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
            }),
            question: Some(question.clone()),
        }
    }

    /// Puts a question to whoever is here, and takes up what somebody answers elsewhere.
    pub(super) async fn put_question(
        &self,
        machine: &mut Machine,
        wait: &Pending,
        question: &Question,
    ) {
        let request = match self.stored(machine, wait, question).await {
            Ok((waiting, _)) => waiting.request,
            Err(error) => return self.cannot_read(&error),
        };
        let (call, approval) = (wait.call, request.id);
        self.driver.tell(Event::Question { call, approval, question: question.clone() });
        let record = match self.hear(&request, self.driver.person.answer(question)).await {
            Heard::Here(said) => self.record(approval, self.record_of(said)).await,
            Heard::Elsewhere(record) => Some(record),
            Heard::TimeOver => {
                let now = self.driver.clock.now_ms();
                self.record(approval, DecisionRecord::expiry(now)).await
            }
            Heard::Nothing => None,
        };
        if let Some(record) = record {
            let said = said(&record);
            machine.said(call, &said);
            self.driver.tell(Event::QuestionAnswered { call, said });
        }
    }

    /// What is decided: this, or what somebody was faster with. `None` = it could not be stored, and the question goes on waiting.
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

    pub(super) fn record_of(&self, said: Said) -> DecisionRecord {
        let decided_at = self.driver.clock.now_ms();
        let decision = match said {
            Said::Answered { text } => Decision::Answer { text },
            Said::Skipped => Decision::Skip,
            Said::Expired => return DecisionRecord::expiry(decided_at),
        };
        DecisionRecord { decision, decided_by: self.driver.person.name().to_owned(), decided_at }
    }
}

/// The arguments that the model asked with, as people see them.
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

/// What a decision says to the model. Whoever says no to a question has skipped it.
fn said(record: &DecisionRecord) -> Said {
    match &record.decision {
        Decision::Answer { text } => Said::Answered { text: text.clone() },
        Decision::Deny { .. } if record.is_expiry() => Said::Expired,
        Decision::Skip
        | Decision::Deny { .. }
        | Decision::Approve { .. }
        | Decision::Edit { .. } => Said::Skipped,
    }
}
