//! What became of the calls.

use serde_json::{Value, json};
use toolcrib_core::{Answer, CallId, ErrorType, Outcome, OutcomeKind};
use toolcrib_providers::chat::{CallAnswer, UserKind};

use super::guard::Round;
use super::{ActiveSkill, Ask, End, Machine, Pending, Phase, Question, Waits, texts};
use crate::ask_user;
use crate::library::load_skill;

impl Machine {
    /// The calls ran: one answer per call of [`super::Next::CallTools`], in their order. Those that wait for a person leave the run waiting;
    /// all others have their result. `is_polling` says of a tool's name whether equal results of it are no sign of standing still.
    pub fn ran(&mut self, answers: Vec<Answer>, is_polling: impl Fn(&str) -> bool) {
        let Phase::Tools { calls } = &self.state.phase else { return };
        let ids: Vec<CallId> = calls.iter().map(|call| call.id).collect();
        let mut pending = Vec::new();
        let mut round = Round::new(is_polling);
        for (index, answer) in answers.into_iter().enumerate() {
            if let Some(wait) = self.take(index, answer, &mut round) {
                pending.push(wait);
            }
        }
        self.answer_the_rest(&ids, &pending);
        self.state.calls += ids.len() as u64;
        if !pending.is_empty() {
            round.involves_people();
        }
        self.judge(round);
        if pending.is_empty() { self.go_on() } else { self.state.phase = Phase::Person { pending } }
    }

    /// Records one answer; what has to wait for a person is given back.
    pub(super) fn take(
        &mut self,
        index: usize,
        answer: Answer,
        round: &mut Round<impl Fn(&str) -> bool>,
    ) -> Option<Pending> {
        let outcome = match answer {
            Answer::Suspended(request) => {
                let call = request.call;
                return Some(Pending { index, call, what: Waits::Approval(request), asked: None });
            }
            Answer::Done(outcome) => outcome,
        };
        if let Some(question) = asked(&outcome) {
            self.state.questions += 1;
            if self.state.questions <= ask_user::MOST_QUESTIONS {
                let (call, what) = (outcome.call, Waits::Answer(question));
                return Some(Pending { index, call, what, asked: None });
            }
            let mut answer = CallAnswer::of(&outcome);
            answer.kind = Some(OutcomeKind::Failed);
            answer.wire = error(texts::TOO_MANY_QUESTIONS);
            answer.is_error = true;
            self.put(index, answer);
            return None;
        }
        round.saw(&outcome);
        if let Some(skill) = loaded(&outcome) {
            self.activate(skill);
        }
        self.put(index, CallAnswer::of(&outcome));
        None
    }

    /// Records what became of a call before the run is stopped.
    pub fn keep(&mut self, index: usize, answer: CallAnswer) {
        if let Phase::Tools { .. } = self.state.phase {
            self.put(index, answer);
        }
    }

    pub(super) fn put(&mut self, index: usize, answer: CallAnswer) {
        self.state.injected.saw(&answer);
        if let Some(message) = self.answering() {
            message.answer(index, answer);
        }
    }

    /// A door that gave fewer answers than it was asked for would leave orphans behind.
    fn answer_the_rest(&mut self, ids: &[CallId], pending: &[Pending]) {
        let Some(message) = self.answering() else { return };
        let open: Vec<usize> =
            message.open().filter(|at| pending.iter().all(|p| p.index != *at)).collect();
        for index in open {
            let id = ids.get(index).copied().unwrap_or_else(CallId::fresh);
            message.answer(index, CallAnswer::not_run(id, texts::SEND_AGAIN));
        }
    }

    /// Every call of the newest message has its result.
    pub(super) fn go_on(&mut self) {
        self.inject_queued();
        self.next_round();
    }

    /// One more round is done: the model is asked again, without tools if a guard says so.
    pub(super) fn next_round(&mut self) {
        self.state.rounds += 1;
        let end = self.state.progress_end();
        let (text, end) = match end {
            Some(end) => end,
            None if self.state.rounds_limit.is_some_and(|most| self.state.rounds >= most) => {
                (texts::ROUND_LIMIT.to_owned(), End::RoundLimit)
            }
            None => {
                self.hint();
                self.state.phase = Phase::Model { ask: Ask::Open };
                return;
            }
        };
        self.say(text, UserKind::Guard);
        self.state.phase = Phase::Model { ask: Ask::Last { end } };
    }
}

/// The wire form of an error that the loop itself gives.
fn error(message: &str) -> Value {
    json!({"status": "error", "error_type": ErrorType::ExecutionError, "message": message})
}

/// The question of an `ask_user` call that came through the door.
pub(crate) fn asked(outcome: &Outcome) -> Option<Question> {
    let is_question = outcome.tool.as_ref().is_some_and(|tool| tool.as_str() == ask_user::NAME);
    if !is_question || outcome.kind != OutcomeKind::Succeeded {
        return None;
    }
    let structured = outcome.result.as_ref().ok()?.structured.as_ref()?;
    serde_json::from_value(structured.get("question")?.clone()).ok()
}

/// The skill that a `load_skill` call loaded.
fn loaded(outcome: &Outcome) -> Option<ActiveSkill> {
    let is_skill = outcome.tool.as_ref().is_some_and(|tool| tool.as_str() == load_skill::NAME);
    let structured = outcome.result.as_ref().ok()?.structured.as_ref().filter(|_| is_skill)?;
    Some(ActiveSkill {
        name: structured.get("skill")?.as_str()?.to_owned(),
        allowed_tools: structured
            .get("allowed_tools")
            .and_then(|list| serde_json::from_value(list.clone()).ok())
            .unwrap_or_default(),
        in_prompt: false,
    })
}
