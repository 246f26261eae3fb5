//! The guards that look at a whole round: repeats, budgets, and rounds that bring nothing new.

use std::hash::{BuildHasher as _, Hash as _, Hasher as _};

use toolcrib_core::{ErrorType, Outcome, OutcomeKind};
use toolcrib_providers::chat::UserKind;

use super::{End, Machine, State, texts};

/// Rounds without anything new before the hint, and again before the end (SPEC 6.5, Stall: 2).
const IDLE_ROUNDS: u32 = 2;
/// Result hashes that are remembered; older ones count as new again.
const SEEN: usize = 4_096;

/// What one round brought.
pub(super) struct Round<P> {
    is_polling: P,
    results: Vec<u64>,
    /// Something changed the world, or only waits for it to change.
    moved: bool,
    repeated: bool,
    budget: Option<String>,
}

impl<P: Fn(&str) -> bool> Round<P> {
    pub(super) fn new(is_polling: P) -> Self {
        Self { is_polling, results: Vec::new(), moved: false, repeated: false, budget: None }
    }

    /// A person was asked: what they say is new.
    pub(super) fn involves_people(&mut self) {
        self.moved = true;
    }

    /// Looks at one outcome.
    pub(super) fn saw(&mut self, outcome: &Outcome) {
        match &outcome.result {
            Err(error) if error.error_type == ErrorType::RepeatedCall => self.repeated = true,
            Err(error) if error.error_type == ErrorType::BudgetExceeded => {
                self.budget = Some(error.message.clone());
            }
            _ => {}
        }
        // Only what may have changed the world counts by itself; what was read counts when it is new.
        let changes =
            outcome.report.effect.is_some_and(|effect| effect > toolcrib_core::Effect::Read);
        let succeeded = outcome.kind == OutcomeKind::Succeeded && !outcome.is_error();
        let name = outcome.tool.as_ref().map_or(outcome.asked.as_str(), |tool| tool.as_str());
        self.moved |= succeeded && (changes || (self.is_polling)(name));
        self.results.push(fingerprint(outcome));
    }
}

/// Equal for equal results of one tool, in this process and in the next.
fn fingerprint(outcome: &Outcome) -> u64 {
    let mut hasher = foldhash::fast::FixedState::default().build_hasher();
    outcome.asked.hash(&mut hasher);
    match &outcome.result {
        Ok(result) => result.result.to_string().hash(&mut hasher),
        Err(error) => error.message.hash(&mut hasher),
    }
    hasher.finish()
}

impl Machine {
    /// Looks at a round when its calls have run.
    pub(super) fn judge<P>(&mut self, round: Round<P>) {
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
        progress.repeated |= round.repeated;
        progress.budget = round.budget.or(progress.budget.take());
    }

    /// The hint that rounds bring nothing new, once.
    pub(super) fn hint(&mut self) {
        let progress = &mut self.state.progress;
        if progress.idle_rounds >= IDLE_ROUNDS && !progress.hinted {
            progress.hinted = true;
            progress.idle_rounds = 0;
            self.say(texts::STALL_HINT, UserKind::Guard);
        }
    }
}

impl State {
    /// What the model is told and how the run ends, when a guard has had enough.
    pub(super) fn progress_end(&self) -> Option<(String, End)> {
        let progress = &self.progress;
        if let Some(message) = &progress.budget {
            return Some((texts::budget(message), End::Budget { message: message.clone() }));
        }
        if progress.repeated {
            return Some((texts::REPEATED.to_owned(), End::Repeated));
        }
        let stalled = progress.hinted && progress.idle_rounds >= IDLE_ROUNDS;
        stalled.then(|| (texts::STALLED.to_owned(), End::Stalled))
    }
}
