//! The repeat guard of a run: the third identical batch, the third turn of a cycle, or the same
//! error three times.

use std::collections::VecDeque;

use toolcrib_core::defaults::{REPEAT_LIMIT, REPEAT_PERIOD};

/// The kind of repetition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// The same batch again.
    Same,
    /// A cycle of this many batches.
    Cycle(usize),
    /// The same failure again.
    Error,
}

/// Watches the batches of one run.
#[derive(Debug, Default)]
pub(crate) struct RepeatGuard {
    batches: VecDeque<u64>,
    /// The last failure and its number of consecutive occurrences.
    error: Option<LastError>,
}

#[derive(Debug, Clone, Copy)]
struct LastError {
    tool: u64,
    error: u64,
    times: usize,
}

impl RepeatGuard {
    /// Checks the next batch before it runs, and remembers it. `tools` are the hashes of the tool
    /// names in it.
    pub(crate) fn check(&mut self, batch: u64, tools: &[u64]) -> Option<Repeat> {
        self.batches.push_back(batch);
        if self.batches.len() > REPEAT_PERIOD * REPEAT_LIMIT {
            self.batches.pop_front();
        }
        if let Some(last) = self.error
            && last.times >= REPEAT_LIMIT
            && tools.contains(&last.tool)
        {
            // One more try is allowed after the refusal, so that a model that changed its approach
            // can continue.
            self.error = None;
            return Some(Repeat::Error);
        }
        (1..=REPEAT_PERIOD)
            .find(|&period| self.repeats(period))
            .map(|period| if period == 1 { Repeat::Same } else { Repeat::Cycle(period) })
    }

    /// Returns whether the last `REPEAT_LIMIT * period` batches repeat one pattern.
    fn repeats(&self, period: usize) -> bool {
        let needed = period * REPEAT_LIMIT;
        let Some(start) = self.batches.len().checked_sub(needed) else { return false };
        let tail = || self.batches.iter().skip(start);
        tail().zip(tail().skip(period)).all(|(a, b)| a == b)
    }

    /// Remembers how a call ended; `error` is a hash of its type and text.
    pub(crate) fn record_end(&mut self, tool: u64, error: Option<u64>) {
        self.error = error.map(|error| {
            let before = self.error.filter(|last| last.tool == tool && last.error == error);
            LastError { tool, error, times: before.map_or(1, |last| last.times + 1) }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(batches: &[u64]) -> Vec<Option<Repeat>> {
        let mut guard = RepeatGuard::default();
        batches.iter().map(|&b| guard.check(b, &[])).collect()
    }

    #[test]
    fn the_third_identical_batch_is_refused() {
        assert_eq!(run(&[1, 1, 1])[1..], [None, Some(Repeat::Same)]);
        assert!(run(&[1, 1, 2, 1, 1]).iter().all(Option::is_none));
    }

    #[test]
    fn the_third_turn_of_a_cycle_is_refused() {
        assert_eq!(run(&[1, 2, 1, 2, 1, 2]).last().unwrap(), &Some(Repeat::Cycle(2)));
        let four = [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4];
        assert_eq!(run(&four).last().unwrap(), &Some(Repeat::Cycle(4)));
        let five: Vec<u64> = (0..20).map(|i| i % 5).collect();
        assert!(run(&five).iter().all(Option::is_none));
    }

    #[test]
    fn the_same_error_three_times_refuses_the_tool_once() {
        let mut guard = RepeatGuard::default();
        for i in 0..3 {
            assert_eq!(guard.check(i, &[7]), None);
            guard.record_end(7, Some(99));
        }
        assert_eq!(guard.check(10, &[8]), None, "another tool may run");
        assert_eq!(guard.check(11, &[7]), Some(Repeat::Error));
        assert_eq!(guard.check(12, &[7]), None);
    }
}
