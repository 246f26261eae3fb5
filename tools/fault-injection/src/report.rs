//! The report of the findings: counts and texts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

/// Findings that are told in words.
const MAX_FINDINGS_SHOWN: usize = 40;

/// Refusals that are.
const TOLD_REFUSALS: u64 = 5;

/// Counts of one kind of round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// Rounds.
    pub(crate) rounds: u64,
    /// Of these, those whose worker did not come to the place where it should die.
    pub(crate) unreached: u64,
    /// What was found in them.
    pub(crate) found: u64,
}

/// Everything that was counted.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) rounds: u64,
    /// Acknowledged, and not there afterwards; or accepted, and without an outcome.
    pub(crate) lost: u64,
    /// More than one effect, or more than one outcome.
    pub(crate) doubled: u64,
    /// Calls whose outcome is unknown, and says so.
    pub(crate) unknown: u64,
    /// Of these, those whose effect came from a child that outlived its worker.
    pub(crate) outlived: u64,
    /// Questions that two decided at once.
    pub(crate) raced: u64,
    /// Calls that may change something and were entered again.
    pub(crate) silent_reruns: u64,
    /// Rounds after which the audit did not verify.
    pub(crate) audit_failures: u64,
    /// Accounts that contradict each other in any other way.
    pub(crate) contradictions: u64,
    /// Workers that left a process behind.
    pub(crate) orphans: u64,
    /// Workers that did not end.
    pub(crate) stuck: u64,
    /// Calls that were judged.
    pub(crate) calls: u64,
    /// Acceptances, answers and decisions that a client was told of.
    pub(crate) acknowledged: u64,
    /// Batches that were asked for again.
    pub(crate) resent: u64,
    /// Batches or decisions that were refused.
    pub(crate) refused: u64,
    /// Audit records that were verified.
    pub(crate) audit_records: u64,
    /// Signed checkpoints that they were held against.
    pub(crate) checkpoints: u64,
    pub(crate) by_point: BTreeMap<&'static str, Row>,
    pub(crate) seconds: f64,
    pub(crate) seed: u64,
    /// The first findings and refusals, in words.
    pub(crate) words: Vec<String>,
}

macro_rules! finding {
    ($($name:ident => $field:ident),*) => {
        $(pub(crate) fn $name(&mut self, words: String) {
            self.$field += 1;
            self.tell(stringify!($name), &words);
        })*
    };
}

impl Tally {
    finding! {
        lost => lost, doubled => doubled, silent_rerun => silent_reruns, audit_failure => audit_failures,
        contradiction => contradictions, orphan => orphans, stuck => stuck
    }

    pub(crate) fn refused(&mut self, error: &str) {
        self.refused += 1;
        if self.refused <= TOLD_REFUSALS {
            self.tell("refused", error);
        }
    }

    fn tell(&mut self, what: &str, words: &str) {
        if self.words.len() < MAX_FINDINGS_SHOWN {
            self.words.push(format!("{what}: {words}"));
        }
    }

    /// Everything that must not be.
    pub(crate) fn finding_count(&self) -> u64 {
        self.lost
            + self.doubled
            + self.silent_reruns
            + self.audit_failures
            + self.contradictions
            + self.orphans
            + self.stuck
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.finding_count() == 0
    }

    /// Adds what another lane counted.
    pub(crate) fn add(&mut self, other: Self) {
        self.rounds += other.rounds;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.unknown += other.unknown;
        self.outlived += other.outlived;
        self.raced += other.raced;
        self.silent_reruns += other.silent_reruns;
        self.audit_failures += other.audit_failures;
        self.contradictions += other.contradictions;
        self.orphans += other.orphans;
        self.stuck += other.stuck;
        self.calls += other.calls;
        self.acknowledged += other.acknowledged;
        self.resent += other.resent;
        self.refused += other.refused;
        self.audit_records += other.audit_records;
        self.checkpoints += other.checkpoints;
        for (point, row) in other.by_point {
            let sum = self.by_point.entry(point).or_default();
            sum.rounds += row.rounds;
            sum.unreached += row.unreached;
            sum.found += row.found;
        }
        let room = MAX_FINDINGS_SHOWN.saturating_sub(self.words.len());
        self.words.extend(other.words.into_iter().take(room));
    }

    /// As one JSON object.
    pub(crate) fn json(&self) -> Value {
        let by_point: serde_json::Map<String, Value> = self
            .by_point
            .iter()
            .map(|(point, row)| {
                let row =
                    json!({"rounds": row.rounds, "unreached": row.unreached, "found": row.found});
                ((*point).to_owned(), row)
            })
            .collect();
        json!({
            "rounds": self.rounds,
            "lost": self.lost,
            "doubled": self.doubled,
            "unknown": self.unknown,
            "outlived": self.outlived,
            "raced": self.raced,
            "silent_reruns": self.silent_reruns,
            "audit_failures": self.audit_failures,
            "contradictions": self.contradictions,
            "orphans": self.orphans,
            "stuck": self.stuck,
            "calls": self.calls,
            "acknowledged": self.acknowledged,
            "resent": self.resent,
            "refused": self.refused,
            "audit_records": self.audit_records,
            "checkpoints": self.checkpoints,
            "by_point": by_point,
            "seconds": (self.seconds * 10.0).round() / 10.0,
            "seed": self.seed,
            "words": self.words,
        })
    }

    /// For people.
    pub(crate) fn table(&self) -> String {
        let mut out = String::new();
        let Value::Object(object) = self.json() else { return out };
        for (name, value) in object {
            if value.is_number() {
                let _ = writeln!(out, "{name:16} {value:>10}");
            }
        }
        let _ =
            writeln!(out, "\n{:16} {:>10} {:>10} {:>10}", "point", "rounds", "unreached", "found");
        for (point, row) in &self.by_point {
            let Row { rounds, unreached, found } = row;
            let _ = writeln!(out, "{point:16} {rounds:>10} {unreached:>10} {found:>10}");
        }
        for words in &self.words {
            let _ = writeln!(out, "{words}");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_spoils_the_run_and_refusals_do_not() {
        let findings: [fn(&mut Tally, String); 7] = [
            Tally::lost,
            Tally::doubled,
            Tally::silent_rerun,
            Tally::audit_failure,
            Tally::contradiction,
            Tally::orphan,
            Tally::stuck,
        ];
        for finding in findings {
            let mut tally = Tally::default();
            tally.refused("busy");
            assert!(tally.is_clean());
            finding(&mut tally, "why".to_owned());
            let mut sum = Tally::default();
            sum.add(tally);
            assert!(!sum.is_clean());
            assert!(sum.table().contains(": why"));
        }
    }
}
