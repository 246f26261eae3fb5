//! Progress of a round of the agent loop: repeated calls, budgets, and stalls.

use std::hash::{BuildHasher as _, Hash as _, Hasher as _};

use toolcrib_core::{ErrorType, Outcome, OutcomeKind, RawArgs, canonical_json};
use toolcrib_providers::conversation::UserKind;

use super::{Machine, RunEnd, State, model_messages};

/// Rounds without new results before the hint, and again before the end.
const IDLE_ROUNDS: u32 = 2;
/// Number of result hashes that are remembered; older results count as new again.
const SEEN: usize = 4_096;

/// Progress of one round.
pub(super) struct Round<P> {
    is_polling: P,
    results: Vec<u64>,
    /// Whether a call made a change, or waits for one.
    moved: bool,
    /// Whether the repeat guard refused a call.
    refused: bool,
    /// Whether the guard let another call run, so that it refused duplicates within the round, not
    /// the round.
    ran: bool,
    budget: Option<String>,
}

impl<P: Fn(&str) -> bool> Round<P> {
    pub(super) fn new(is_polling: P) -> Self {
        let results = Vec::new();
        Self { is_polling, results, moved: false, refused: false, ran: false, budget: None }
    }

    /// Exempts the round because a person was asked: the answer counts as new.
    pub(super) fn exempt_from_stall(&mut self) {
        self.moved = true;
    }

    /// Adds one outcome, of a call with these arguments.
    pub(super) fn add_outcome(&mut self, outcome: &Outcome, args: Option<&RawArgs>) {
        let name = outcome.tool.as_ref().map_or(outcome.asked.as_str(), |tool| tool.as_str());
        let polls = (self.is_polling)(name);
        match &outcome.result {
            Err(error) if error.error_type == ErrorType::RepeatedCall => self.refused = true,
            Err(error) if error.error_type == ErrorType::BudgetExceeded => {
                self.budget = Some(error.message_for_people().to_owned());
            }
            // A polling tool also runs in a refused round.
            _ => self.ran |= !polls,
        }
        // A call that may have made a change always counts; a result of a read counts if it is new.
        let changes =
            outcome.report.effect.is_some_and(|effect| effect > toolcrib_core::Effect::Read);
        let succeeded = outcome.kind == OutcomeKind::Succeeded && !outcome.is_error();
        self.moved |= succeeded && (changes || polls);
        self.results.push(fingerprint(outcome, args));
    }
}

/// Returns a hash that is the same for equal arguments and results of one tool, in this and other
/// processes. A different search that also finds nothing still counts as new.
fn fingerprint(outcome: &Outcome, args: Option<&RawArgs>) -> u64 {
    let mut hasher = foldhash::fast::FixedState::default().build_hasher();
    outcome.asked.hash(&mut hasher);
    match args {
        Some(RawArgs::Text(text) | RawArgs::Broken(text) | RawArgs::Sealed(text)) => {
            text.hash(&mut hasher);
        }
        Some(RawArgs::Value(value)) => canonical_json::to_string(value).hash(&mut hasher),
        None => {}
    }
    match &outcome.result {
        Ok(result) => result.result.to_string().hash(&mut hasher),
        Err(error) => error.message.hash(&mut hasher),
    }
    hasher.finish()
}

impl Machine {
    /// Applies the guards to a round after its calls have run.
    pub(super) fn apply_guards<P>(&mut self, round: Round<P>) {
        let progress = &mut self.state.progress;
        let mut is_new = round.moved;
        for result in round.results {
            is_new |= progress.seen.insert(result);
        }
        if progress.seen.len() > SEEN {
            progress.seen.clear();
        }
        progress.idle_rounds = if is_new { 0 } else { progress.idle_rounds + 1 };
        progress.hinted &= !is_new;
        progress.repeated |= round.refused && !round.ran;
        progress.budget = round.budget.or(progress.budget.take());
    }

    /// Adds the hint about a stall, once.
    pub(super) fn hint(&mut self) {
        let progress = &mut self.state.progress;
        if progress.idle_rounds >= IDLE_ROUNDS && !progress.hinted {
            progress.hinted = true;
            progress.idle_rounds = 0;
            self.push_user_message(model_messages::STALL_HINT, UserKind::Guard);
        }
    }
}

impl State {
    /// Returns the message to the model and the end of the run, if a guard ends it.
    pub(super) fn progress_end(&self) -> Option<(String, RunEnd)> {
        let progress = &self.progress;
        if let Some(message) = &progress.budget {
            return Some((
                model_messages::budget(message),
                RunEnd::Budget { message: message.clone() },
            ));
        }
        if progress.repeated {
            return Some((model_messages::REPEATED.to_owned(), RunEnd::Repeated));
        }
        let stalled = progress.hinted && progress.idle_rounds >= IDLE_ROUNDS;
        stalled.then(|| (model_messages::STALLED.to_owned(), RunEnd::Stalled))
    }
}
