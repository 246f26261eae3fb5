//! Counts and findings of a trial.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

/// Findings that are told in words.
const MAX_FINDINGS_SHOWN: usize = 40;

/// What must not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Finding {
    /// Accepted, and without an outcome, or not there any more.
    Lost,
    /// More than one execution, outcome or decision where there may be one.
    Doubled,
    /// Not settled when every lease was over.
    Stuck,
    /// A tool began while the kill switch was pulled.
    Late,
    /// Accounts that contradict each other in any other way.
    Contradiction,
}

impl Finding {
    const ALL: [Self; 5] =
        [Self::Lost, Self::Doubled, Self::Stuck, Self::Late, Self::Contradiction];

    fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Doubled => "doubled",
            Self::Stuck => "stuck",
            Self::Late => "late_starts",
            Self::Contradiction => "contradictions",
        }
    }
}

#[derive(Debug, Default)]
struct Counted {
    figures: BTreeMap<&'static str, u64>,
    findings: BTreeMap<Finding, u64>,
    words: Vec<String>,
}

/// Everything that was counted, by all tasks of a trial.
#[derive(Debug, Default)]
pub(crate) struct Findings(Mutex<Counted>);

impl Findings {
    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more of these.
    pub(super) fn count(&self, figure: &'static str) {
        *self.lock().figures.entry(figure).or_default() += 1;
    }

    pub(super) fn set(&self, figure: &'static str, value: u64) {
        self.lock().figures.insert(figure, value);
    }

    /// Keeps the longest time under a name that ends in `_ms`.
    pub(super) fn longest(&self, figure: &'static str, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let mut counted = self.lock();
        let longest = counted.figures.entry(figure).or_default();
        *longest = millis.max(*longest);
    }

    pub(super) fn add_finding(&self, finding: Finding, words: &str) {
        let mut counted = self.lock();
        *counted.findings.entry(finding).or_default() += 1;
        if counted.words.len() < MAX_FINDINGS_SHOWN {
            counted.words.push(format!("{}: {words}", finding.name()));
        }
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.lock().findings.is_empty()
    }

    /// As one JSON object.
    pub(crate) fn json(&self) -> Value {
        let counted = self.lock();
        let findings = Finding::ALL.map(|finding| {
            (finding.name(), counted.findings.get(&finding).copied().unwrap_or_default())
        });
        let numbers = findings.into_iter().chain(counted.figures.iter().map(|(k, v)| (*k, *v)));
        let mut object: serde_json::Map<String, Value> =
            numbers.map(|(name, number)| (name.to_owned(), number.into())).collect();
        object.insert("words".to_owned(), json!(counted.words));
        Value::Object(object)
    }

    /// For people.
    pub(crate) fn table(&self) -> String {
        let mut out = String::new();
        if let Value::Object(object) = self.json() {
            for (name, value) in object.iter().filter(|(_, value)| value.is_number()) {
                let _ = writeln!(out, "{name:24} {value:>10}");
            }
        }
        for words in &self.lock().words {
            let _ = writeln!(out, "{words}");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_spoils_the_trial_and_figures_do_not() {
        for finding in Finding::ALL {
            let tally = Findings::default();
            tally.count("kills");
            tally.longest("longest_ms", Duration::from_millis(5));
            tally.longest("longest_ms", Duration::from_millis(3));
            assert!(tally.is_clean());
            tally.add_finding(finding, "why");
            assert!(!tally.is_clean());
            let json = tally.json();
            assert_eq!((&json["kills"], &json["longest_ms"]), (&json!(1), &json!(5)));
            assert_eq!(json[finding.name()], 1);
            assert!(tally.table().contains(": why"));
        }
    }
}
