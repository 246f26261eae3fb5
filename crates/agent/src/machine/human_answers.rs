//! Machine transitions for answers of people: replies to questions, decisions about calls.

use serde_json::json;
use toolcrib_core::{Answer, ApprovalId, CallId, ErrorType, OutcomeKind};
use toolcrib_providers::conversation::{CallAnswer, UserKind, UserMessage};

use super::stall_guard::Round;
use super::{Machine, Pending, PendingKind, Phase, Question, QuestionAnswer, model_messages};

impl Machine {
    /// Records that the question of a call is stored under this id. The first answer to it counts.
    pub fn question_stored(&mut self, call: CallId, id: ApprovalId) {
        let Phase::Person { pending } = &mut self.state.phase else { return };
        for wait in pending.iter_mut().filter(|wait| wait.call == call) {
            wait.asked = Some(id);
        }
    }

    /// Records a person's answer to the question of a call; returns `false` if no such question is
    /// waiting.
    pub fn question_answered(&mut self, call: CallId, said: &QuestionAnswer) -> bool {
        let Some(pending) = self.take_pending(call, |what| matches!(what, PendingKind::Answer(_)))
        else {
            return false;
        };
        if let PendingKind::Answer(question) = &pending.what {
            self.set_answer(pending.index, answer(call, question, said));
            if let QuestionAnswer::Answered { text } = said {
                let text = format!("[Answer to: {}] {text}", question.question);
                let kind = UserKind::Answer;
                self.state.said.push(UserMessage { text, kind, ..UserMessage::default() });
            }
        }
        self.advance_if_answered();
        true
    }

    /// Records that the engine continued a call that waited for approval; returns `false` if no
    /// such call is waiting. The call may have to wait again.
    pub fn call_decided(&mut self, call: CallId, answer: Answer) -> bool {
        let Some(pending) =
            self.take_pending(call, |what| matches!(what, PendingKind::Approval(_)))
        else {
            return false;
        };
        let mut round = Round::new(|_: &str| false);
        if let Some(again) = self.take_answer(pending.index, answer, &mut round)
            && let Phase::Person { pending } = &mut self.state.phase
        {
            pending.push(again);
        }
        round.exempt_from_stall();
        self.apply_guards(round);
        self.advance_if_answered();
        true
    }

    /// Records a call as not run because the decision about it cannot be carried out; returns
    /// `false` if no such call is waiting.
    pub fn decision_failed(&mut self, call: CallId, why: &str) -> bool {
        self.not_decided(call, CallAnswer::not_run(call, why))
    }

    /// Records a call as not run because the decision about it came too late; returns `false` if no
    /// such call is waiting.
    pub fn decision_expired(&mut self, call: CallId, why: &str) -> bool {
        let mut answer = CallAnswer::not_run(call, why);
        answer.kind = Some(OutcomeKind::Expired);
        answer.wire =
            json!({"status": "error", "error_type": ErrorType::ApprovalExpired, "message": why});
        self.not_decided(call, answer)
    }

    fn not_decided(&mut self, call: CallId, answer: CallAnswer) -> bool {
        let Some(pending) =
            self.take_pending(call, |what| matches!(what, PendingKind::Approval(_)))
        else {
            return false;
        };
        self.set_answer(pending.index, answer);
        self.advance_if_answered();
        true
    }

    /// Records waiting calls as not run because no answer will come, and continues the run.
    pub fn expire_pending(&mut self) {
        let Phase::Person { pending } = &mut self.state.phase else { return };
        for wait in std::mem::take(pending) {
            let given = match &wait.what {
                PendingKind::Answer(question) => {
                    answer(wait.call, question, &QuestionAnswer::Expired)
                }
                PendingKind::Approval(_) => {
                    CallAnswer::not_run(wait.call, model_messages::NOT_ANSWERED)
                }
            };
            self.set_answer(wait.index, given);
        }
        self.advance_if_answered();
    }

    fn take_pending(
        &mut self,
        call: CallId,
        fits: impl Fn(&PendingKind) -> bool,
    ) -> Option<Pending> {
        let Phase::Person { pending } = &mut self.state.phase else { return None };
        let at = pending.iter().position(|wait| wait.call == call && fits(&wait.what))?;
        Some(pending.remove(at))
    }

    fn advance_if_answered(&mut self) {
        if matches!(&self.state.phase, Phase::Person { pending } if pending.is_empty()) {
            self.advance();
        }
    }
}

/// Returns the result of `ask_user`, which always has a status.
fn answer(call: CallId, question: &Question, said: &QuestionAnswer) -> CallAnswer {
    let result = match said {
        QuestionAnswer::Answered { text } => question.answered(text),
        QuestionAnswer::Skipped => json!({
            "status": "skipped",
            "message": "The user skipped the question. Go on with what you know, and say what you assumed.",
        }),
        QuestionAnswer::Expired => json!({
            "status": "expired",
            "message": "There was no answer. Go on with what you know, and say what you assumed.",
        }),
    };
    CallAnswer {
        call,
        tool: Some(crate::ask_user::name()),
        kind: Some(OutcomeKind::Succeeded),
        wire: json!({"status": "success", "result": result}),
        is_error: false,
        elapsed_ms: None,
        media: Vec::new(),
        for_people: Vec::new(),
        reason: None,
    }
}
