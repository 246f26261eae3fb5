//! Signals: short notes of apps about what happens, in memory. They fade, and the strongest ones
//! are named in the context of a request.

use std::sync::{Mutex, PoisonError};

/// Maximum signals that are kept.
const MOST: usize = 100;
/// Signals that a request gets.
const TOP: usize = 5;
/// Milliseconds after which a signal has half its strength: 6 hours.
const HALF_LIFE_MS: f64 = 6.0 * 3_600_000.0;
/// Strength below which a signal is not named.
const LEAST: f64 = 0.15;
/// Strength of a signal that names none.
const ENERGY: f64 = 0.5;
/// Characters of a content and of a topic.
const CONTENT_CHARS: usize = 1_000;
const TOPIC_CHARS: usize = 100;

/// A signal as it arrives.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewSignal {
    /// Its type, one of those that the app named when it was paired.
    pub kind: String,
    /// What happens.
    pub content: String,
    /// What it is about.
    pub topic: Option<String>,
    /// Its strength, 0 to 1; the default is 0.5.
    pub energy: Option<f64>,
}

/// A signal that is kept. Content and topic are text from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// Id of the app.
    pub app_id: String,
    /// Name of the app.
    pub app: String,
    /// Its type.
    pub kind: String,
    /// What happens.
    pub content: String,
    /// What it is about.
    pub topic: Option<String>,
    /// Its strength when it arrived.
    pub energy: f64,
    /// When it arrived, Unix time in milliseconds.
    pub at: i64,
}

/// What became of the signals of one request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignalOutcome {
    /// Number of signals that were taken.
    pub accepted: usize,
    /// Those that were not, by position, with the reason.
    pub rejected: Vec<(usize, String)>,
}

impl Signal {
    /// Returns its strength at this time.
    #[must_use]
    pub fn strength(&self, now: i64) -> f64 {
        // Exact for any realistic age.
        #[expect(clippy::cast_precision_loss, reason = "an age in milliseconds is below 2^53")]
        let age = now.saturating_sub(self.at).max(0) as f64;
        self.energy * 0.5_f64.powf(age / HALF_LIFE_MS)
    }
}

/// The signals of this process.
#[derive(Default)]
pub(super) struct Signals(Mutex<Vec<Signal>>);

impl Signals {
    /// Takes a signal of an app with these types.
    pub(super) fn add(
        &self,
        (app_id, app): (&str, &str),
        types: &[String],
        new: NewSignal,
        now: i64,
    ) -> Result<(), String> {
        if !types.contains(&new.kind) {
            return Err(format!(
                "the app has not named this type of signal when it was paired; it named {}",
                if types.is_empty() { "none".to_owned() } else { types.join(", ") }
            ));
        }
        let energy = new.energy.unwrap_or(ENERGY);
        if !(0.0..=1.0).contains(&energy) {
            return Err("`energy` is a number from 0 to 1".to_owned());
        }
        if new.content.trim().is_empty() {
            return Err("`content` is empty".to_owned());
        }
        let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
        let signal = Signal {
            app_id: app_id.to_owned(),
            app: app.to_owned(),
            kind: new.kind,
            content: cut(&new.content, CONTENT_CHARS),
            topic: new.topic.map(|topic| cut(&topic, TOPIC_CHARS)),
            energy,
            at: now,
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(signal);
        if all.len() > MOST {
            sort(&mut all, now);
            all.truncate(MOST);
        }
        Ok(())
    }

    /// Returns the strongest signals at this time.
    pub(super) fn strongest(&self, now: i64) -> Vec<Signal> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        all.retain(|signal| signal.strength(now) >= LEAST);
        sort(&mut all, now);
        all.truncate(TOP);
        all
    }

    /// Removes the signals of an app.
    pub(super) fn forget(&self, app_id: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|signal| signal.app_id != app_id);
    }
}

fn sort(all: &mut [Signal], now: i64) {
    all.sort_by(|a, b| b.strength(now).total_cmp(&a.strength(now)).then(b.at.cmp(&a.at)));
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn new(kind: &str, energy: f64) -> NewSignal {
        let content = "content".to_owned();
        NewSignal { kind: kind.to_owned(), content, energy: Some(energy), topic: None }
    }

    #[test]
    fn signals_fade_and_the_strongest_five_are_named() {
        let (signals, types) = (Signals::default(), ["a".to_owned()]);
        for n in 0..8_u32 {
            let energy = 0.1 * f64::from(n + 1);
            signals.add(("1", "office"), &types, new("a", energy), 0).unwrap();
        }
        let energies = |now| {
            let all = signals.strongest(now);
            all.iter().map(|one| (one.energy * 10.0).round()).collect::<Vec<_>>()
        };
        assert_eq!(energies(0), [8.0, 7.0, 6.0, 5.0, 4.0]);
        // After 12 hours a quarter is left: 0.6 × 0.25 = 0.15.
        assert_eq!(energies(12 * HOUR), [8.0, 7.0, 6.0]);
        assert!(energies(24 * HOUR).is_empty());
        signals.forget("1");
        assert!(signals.strongest(0).is_empty());
    }

    #[test]
    fn the_list_is_bounded_and_the_weakest_go() {
        let (signals, types) = (Signals::default(), ["a".to_owned()]);
        signals.add(("1", "office"), &types, new("a", 1.0), 0).unwrap();
        for _ in 0..300 {
            signals.add(("1", "office"), &types, new("a", 0.2), 1).unwrap();
        }
        assert_eq!(signals.0.lock().unwrap().len(), MOST);
        assert_eq!(signals.strongest(1)[0].energy, 1.0);
    }

    #[test]
    fn only_declared_types_and_valid_energies_are_taken() {
        let (signals, types) = (Signals::default(), ["a".to_owned()]);
        let check = |new: NewSignal, part: &str| {
            let why = signals.add(("1", "office"), &types, new, 0).unwrap_err();
            assert!(why.contains(part), "{why}");
        };
        check(new("b", 0.5), "it named a");
        check(new("a", 1.5), "from 0 to 1");
        check(new("a", f64::NAN), "from 0 to 1");
        check(NewSignal { content: " ".to_owned(), ..new("a", 0.5) }, "empty");
    }
}
