//! Machine transitions for the results of calls.

use serde_json::{Value, json};
use toolcrib_core::{Answer, CallId, ErrorType, Outcome, OutcomeKind};
use toolcrib_providers::conversation::{CallAnswer, UserKind};

use super::stall_guard::Round;
use super::{
    ActiveSkill, Machine, Pending, PendingKind, Phase, Question, RequestMode, RunEnd,
    model_messages,
};
use crate::ask_user;
use crate::library::load_skill;

impl Machine {
    /// Records that the calls ran: one answer per call of [`super::NextStep::CallTools`], in order.
    /// Calls that wait for a person put the run into the waiting phase; all others have their
    /// result. `is_polling` returns whether equal results of a tool are not a sign of a stall.
    pub fn calls_finished(&mut self, answers: Vec<Answer>, is_polling: impl Fn(&str) -> bool) {
        let Phase::Tools { calls } = &self.state.phase else { return };
        let ids: Vec<CallId> = calls.iter().map(|call| call.id).collect();
        let mut pending = Vec::new();
        let mut round = Round::new(is_polling);
        for (index, answer) in answers.into_iter().enumerate() {
            if let Some(wait) = self.take_answer(index, answer, &mut round) {
                pending.push(wait);
            }
        }
        self.answer_the_rest(&ids, &pending);
        self.state.calls += ids.len() as u64;
        if !pending.is_empty() {
            round.exempt_from_stall();
        }
        self.apply_guards(round);
        if pending.is_empty() {
            self.advance();
        } else {
            self.state.phase = Phase::Person { pending }
        }
    }

    /// Records one answer; returns it if it has to wait for a person.
    pub(super) fn take_answer(
        &mut self,
        index: usize,
        answer: Answer,
        round: &mut Round<impl Fn(&str) -> bool>,
    ) -> Option<Pending> {
        let outcome = match answer {
            Answer::Suspended(request) => {
                let call = request.call;
                return Some(Pending {
                    index,
                    call,
                    what: PendingKind::Approval(request),
                    asked: None,
                });
            }
            Answer::Done(outcome) => outcome,
        };
        if let Some(question) = user_question(&outcome) {
            self.state.questions += 1;
            if self.state.questions <= ask_user::MOST_QUESTIONS {
                let (call, what) = (outcome.call, PendingKind::Answer(question));
                return Some(Pending { index, call, what, asked: None });
            }
            let mut answer = CallAnswer::from_outcome(&outcome);
            answer.kind = Some(OutcomeKind::Failed);
            answer.wire = error(model_messages::TOO_MANY_QUESTIONS);
            answer.is_error = true;
            self.set_answer(index, answer);
            return None;
        }
        let args = self.answering().and_then(|message| message.turn.calls.get(index));
        round.add_outcome(&outcome, args.map(|call| &call.args));
        if let Some(skill) = loaded_skill(&outcome) {
            self.activate(skill);
        }
        self.set_answer(index, CallAnswer::from_outcome(&outcome));
        None
    }

    /// Records the result of a call before the run is stopped.
    pub fn record_answer(&mut self, index: usize, answer: CallAnswer) {
        if let Phase::Tools { .. } = self.state.phase {
            self.set_answer(index, answer);
        }
    }

    pub(super) fn set_answer(&mut self, index: usize, answer: CallAnswer) {
        self.state.injected.add_from_answer(&answer);
        if let Some(message) = self.answering() {
            message.answer(index, answer);
        }
    }

    /// Fills missing results: an invoker that returns fewer answers than calls must not leave
    /// orphans.
    fn answer_the_rest(&mut self, ids: &[CallId], pending: &[Pending]) {
        let Some(message) = self.answering() else { return };
        let open: Vec<usize> =
            message.unanswered().filter(|at| pending.iter().all(|p| p.index != *at)).collect();
        for index in open {
            let id = ids.get(index).copied().unwrap_or_else(CallId::fresh);
            message.answer(index, CallAnswer::not_run(id, model_messages::SEND_AGAIN));
        }
    }

    /// Continues when every call of the newest message has its result.
    pub(super) fn advance(&mut self) {
        self.inject_queued();
        self.next_round();
    }

    /// Ends a round: the model is asked again, without tools if a guard demands it.
    pub(super) fn next_round(&mut self) {
        self.state.rounds += 1;
        self.state.empty_answers = 0;
        let end = self.state.progress_end();
        let (text, end) = match end {
            Some(end) => end,
            None if self.state.rounds_limit.is_some_and(|most| self.state.rounds >= most) => {
                (model_messages::ROUND_LIMIT.to_owned(), RunEnd::RoundLimit)
            }
            None => {
                self.hint();
                self.state.phase = Phase::Model { ask: RequestMode::Open };
                return;
            }
        };
        self.push_user_message(text, UserKind::Guard);
        self.state.phase = Phase::Model { ask: RequestMode::Last { end } };
    }
}

/// Returns the wire form of an error from the loop itself.
fn error(message: &str) -> Value {
    json!({"status": "error", "error_type": ErrorType::ExecutionError, "message": message})
}

/// Returns the question in the outcome of an `ask_user` call.
pub(crate) fn user_question(outcome: &Outcome) -> Option<Question> {
    let is_question = outcome.tool.as_ref().is_some_and(|tool| tool.as_str() == ask_user::NAME);
    if !is_question || outcome.kind != OutcomeKind::Succeeded {
        return None;
    }
    let structured = outcome.result.as_ref().ok()?.structured.as_ref()?;
    serde_json::from_value(structured.get("question")?.clone()).ok()
}

/// Returns the skill in the outcome of a `load_skill` call.
fn loaded_skill(outcome: &Outcome) -> Option<ActiveSkill> {
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
