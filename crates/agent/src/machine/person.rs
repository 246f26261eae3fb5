//! What people said: answers to questions, decisions about calls.

use serde_json::json;
use toolcrib_core::{Answer, ApprovalId, CallId, ErrorType, OutcomeKind};
use toolcrib_providers::chat::{CallAnswer, UserKind, UserMessage};

use super::guard::Round;
use super::{Machine, Pending, Phase, Question, Said, Waits, texts};

impl Machine {
    /// The question of a call is stored under this id: whoever answers it first, here or elsewhere, has answered it.
    pub fn asked(&mut self, call: CallId, id: ApprovalId) {
        let Phase::Person { pending } = &mut self.state.phase else { return };
        for wait in pending.iter_mut().filter(|wait| wait.call == call) {
            wait.asked = Some(id);
        }
    }

    /// A person answered the question of a call; `false` = no such question waits.
    pub fn said(&mut self, call: CallId, said: &Said) -> bool {
        let Some(pending) = self.take_pending(call, |what| matches!(what, Waits::Answer(_))) else {
            return false;
        };
        if let Waits::Answer(question) = &pending.what {
            self.put(pending.index, answer(call, question, said));
            if let Said::Answered { text } = said {
                let text = format!("[Answer to: {}] {text}", question.question);
                let kind = UserKind::Answer;
                self.state.said.push(UserMessage { text, kind, ..UserMessage::default() });
            }
        }
        self.all_said();
        true
    }

    /// The door went on with a call that waited for approval; `false` = no such call waits. It may have to wait again.
    pub fn decided(&mut self, call: CallId, answer: Answer) -> bool {
        let Some(pending) = self.take_pending(call, |what| matches!(what, Waits::Approval(_)))
        else {
            return false;
        };
        let mut round = Round::new(|_: &str| false);
        if let Some(again) = self.take(pending.index, answer, &mut round)
            && let Phase::Person { pending } = &mut self.state.phase
        {
            pending.push(again);
        }
        round.involves_people();
        self.judge(round);
        self.all_said();
        true
    }

    /// The decision about a call cannot be carried out any more; it is answered as not run. `false` = no such call waits.
    pub fn undecidable(&mut self, call: CallId, why: &str) -> bool {
        self.not_decided(call, CallAnswer::not_run(call, why))
    }

    /// The decision about a call came too late; it was not run. `false` = no such call waits.
    pub fn expired(&mut self, call: CallId, why: &str) -> bool {
        let mut answer = CallAnswer::not_run(call, why);
        answer.kind = Some(OutcomeKind::Expired);
        answer.wire =
            json!({"status": "error", "error_type": ErrorType::ApprovalExpired, "message": why});
        self.not_decided(call, answer)
    }

    fn not_decided(&mut self, call: CallId, answer: CallAnswer) -> bool {
        let Some(pending) = self.take_pending(call, |what| matches!(what, Waits::Approval(_)))
        else {
            return false;
        };
        self.put(pending.index, answer);
        self.all_said();
        true
    }

    /// Nobody will answer what still waits: it is answered as not run, and the run goes on.
    pub fn give_up_waiting(&mut self) {
        let Phase::Person { pending } = &mut self.state.phase else { return };
        for wait in std::mem::take(pending) {
            let given = match &wait.what {
                Waits::Answer(question) => answer(wait.call, question, &Said::Expired),
                Waits::Approval(_) => CallAnswer::not_run(wait.call, texts::NOT_ANSWERED),
            };
            self.put(wait.index, given);
        }
        self.all_said();
    }

    fn take_pending(&mut self, call: CallId, fits: impl Fn(&Waits) -> bool) -> Option<Pending> {
        let Phase::Person { pending } = &mut self.state.phase else { return None };
        let at = pending.iter().position(|wait| wait.call == call && fits(&wait.what))?;
        Some(pending.remove(at))
    }

    fn all_said(&mut self) {
        if matches!(&self.state.phase, Phase::Person { pending } if pending.is_empty()) {
            self.go_on();
        }
    }
}

/// The result of `ask_user`: every one has a status (DESIGN 9, ask_user).
fn answer(call: CallId, question: &Question, said: &Said) -> CallAnswer {
    let result = match said {
        Said::Answered { text } => {
            let selected = question.options.iter().position(|option| option == text);
            json!({
                "status": "answered",
                "user_choice": text,
                "was_freeform": selected.is_none(),
                "selected_option": selected.map(|at| at + 1),
            })
        }
        Said::Skipped => json!({
            "status": "skipped",
            "message": "The user skipped the question. Go on with what you know, and say what you assumed.",
        }),
        Said::Expired => json!({
            "status": "expired",
            "message": "Nobody answered. Go on with what you know, and say what you assumed.",
        }),
    };
    CallAnswer {
        call,
        tool: Some(crate::ask_user::name()),
        kind: Some(OutcomeKind::Succeeded),
        wire: json!({"status": "success", "result": result}),
        is_error: false,
        media: Vec::new(),
        for_people: Vec::new(),
    }
}
