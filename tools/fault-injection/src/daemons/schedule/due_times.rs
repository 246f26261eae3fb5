//! The times of repeated tasks, as their histories tell them: each is run, or counted as missed by
//! the one before it.

use std::collections::{BTreeMap, HashSet};

use crate::daemons::findings::{Finding, Findings};

/// One execution of a repeated task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Execution {
    pub(super) missed: i64,
    pub(super) is_ok: bool,
    pub(super) run: String,
    pub(super) result: String,
}

/// All executions of one repeated task, by the time that each was for. A task keeps the last ten
/// only, so they are collected while the trial goes on.
#[derive(Debug, Default)]
pub(super) struct DueTimes(BTreeMap<i64, Execution>);

impl DueTimes {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Notes an execution; the same one again says the same.
    pub(super) fn note(&mut self, name: &str, due_at: i64, execution: Execution, tally: &Findings) {
        match self.0.get(&due_at) {
            Some(known) if *known != execution => {
                let words = format!("{name} at {due_at}: {known:?} and {execution:?}");
                tally.add_finding(Finding::Doubled, &words);
            }
            Some(_) => {}
            None => {
                self.0.insert(due_at, execution);
            }
        }
    }

    /// Every time from the first to the one before `next_due`, one in each `period_ms`, was run
    /// once or is said to be missed.
    pub(super) fn verify(
        &self,
        name: &str,
        (first, period_ms, next_due): (i64, i64, i64),
        tally: &Findings,
    ) {
        let mut expected = first;
        let mut runs = HashSet::new();
        for (due_at, execution) in &self.0 {
            tally.count("due_times_run");
            if *due_at != expected {
                let gap = (due_at - expected) / period_ms;
                let finding = if gap > 0 { Finding::Lost } else { Finding::Doubled };
                let words = format!("{name}: {due_at} follows where {expected} is due ({gap})");
                tally.add_finding(finding, &words);
            }
            if !execution.is_ok {
                let words = format!("{name} at {due_at} failed: {execution:?}");
                tally.add_finding(Finding::Contradiction, &words);
            }
            if !runs.insert(&execution.run) {
                let words = format!("{name} at {due_at}: its run is that of another time");
                tally.add_finding(Finding::Contradiction, &words);
            }
            for _ in 0..execution.missed {
                tally.count("due_times_missed");
            }
            expected = due_at + (execution.missed + 1) * period_ms;
        }
        if next_due != expected {
            let words = format!("{name}: its next time is {next_due} instead of {expected}");
            tally.add_finding(Finding::Lost, &words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_MS: i64 = 60_000;

    fn verdict(times: &[(i64, i64)], next_due: i64) -> serde_json::Value {
        let (mut all, tally) = (DueTimes::default(), Findings::default());
        for (minute, missed) in times {
            let run = format!("run-{minute}");
            let execution = Execution { missed: *missed, is_ok: true, run, result: String::new() };
            all.note("a", minute * PERIOD_MS, execution, &tally);
        }
        all.verify("a", (PERIOD_MS, PERIOD_MS, next_due * PERIOD_MS), &tally);
        tally.json()
    }

    #[test]
    fn a_time_that_is_neither_run_nor_missed_is_found() {
        let clean = verdict(&[(1, 0), (2, 3), (6, 0)], 7);
        assert_eq!((&clean["lost"], &clean["doubled"]), (&0.into(), &0.into()));
        assert_eq!((&clean["due_times_run"], &clean["due_times_missed"]), (&3.into(), &3.into()));
        assert_eq!(verdict(&[(1, 0), (3, 0)], 4)["lost"], 1);
        assert_eq!(verdict(&[(1, 1), (2, 0)], 3)["doubled"], 1);
        assert_eq!(verdict(&[(1, 0), (1, 2)], 2)["doubled"], 1);
        assert_eq!(verdict(&[(1, 0)], 3)["lost"], 1);
        assert_eq!(verdict(&[], 1)["lost"], 0);
    }
}
