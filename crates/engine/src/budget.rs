//! Budgets of a run and all its parents: reserved in one step before a call, reconciled after it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use toolcrib_core::{ErrorType, RunLimits, RunUsage, ToolError};

/// The exhausted budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BudgetShortfall {
    Calls(u64),
    Tokens(u64),
    Time(Duration),
}

/// The counters of one run; charges go up to the root.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: RunLimits,
    parent: Option<Arc<Self>>,
    calls: AtomicU64,
    tokens: AtomicU64,
    nanos: AtomicU64,
}

impl Budget {
    /// Creates counters that start at the earlier usage.
    pub(crate) fn resumed(limits: RunLimits, used: RunUsage, parent: Option<Arc<Self>>) -> Self {
        Self {
            limits,
            parent,
            calls: AtomicU64::new(used.calls),
            tokens: AtomicU64::new(used.tokens),
            nanos: AtomicU64::new(u64::try_from(used.time.as_nanos()).unwrap_or(u64::MAX)),
        }
    }

    fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |budget| budget.parent.as_deref())
    }

    /// Returns whether any run of the chain counts tokens, so that estimating them is worth the
    /// work.
    pub(crate) fn counts_tokens(&self) -> bool {
        self.chain().any(|b| b.limits.tokens.is_some())
    }

    /// Reserves one call and `tokens` on this run and every parent, or on none of them.
    pub(crate) fn reserve(self: &Arc<Self>, tokens: u64) -> Result<Reservation, BudgetShortfall> {
        for (taken, budget) in self.chain().enumerate() {
            if let Err(short) = budget.take(tokens) {
                self.chain().take(taken).for_each(|b| b.give_back(tokens));
                return Err(short);
            }
        }
        Ok(Reservation { budget: Arc::clone(self), tokens, settled: false })
    }

    fn take(&self, tokens: u64) -> Result<(), BudgetShortfall> {
        if let Some(limit) = self.limits.time
            && Duration::from_nanos(self.nanos.load(Ordering::Acquire)) >= limit
        {
            return Err(BudgetShortfall::Time(limit));
        }
        raise(&self.calls, 1, self.limits.calls).map_err(BudgetShortfall::Calls)?;
        raise(&self.tokens, tokens, self.limits.tokens).map_err(|limit| {
            self.calls.fetch_sub(1, Ordering::AcqRel);
            BudgetShortfall::Tokens(limit)
        })
    }

    fn give_back(&self, tokens: u64) {
        self.calls.fetch_sub(1, Ordering::AcqRel);
        self.tokens.fetch_sub(tokens, Ordering::AcqRel);
    }

    /// Adds spent tokens even if they exceed the limit; the error names the limit that is now
    /// exceeded.
    pub(crate) fn charge_tokens(&self, tokens: u64) -> Result<(), BudgetShortfall> {
        let mut result = Ok(());
        for budget in self.chain() {
            let now = budget.tokens.fetch_add(tokens, Ordering::AcqRel) + tokens;
            if let Some(limit) = budget.limits.tokens.filter(|&limit| now > limit) {
                result = Err(BudgetShortfall::Tokens(limit));
            }
        }
        result
    }

    /// Adds spent time.
    pub(crate) fn charge_time(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.chain().for_each(|budget| {
            budget.nanos.fetch_add(nanos, Ordering::AcqRel);
        });
    }

    /// Returns whether tokens or time of this run, or of a parent, are used up.
    pub(crate) fn is_exhausted(&self) -> bool {
        let tokens =
            |b: &Self| b.limits.tokens.is_some_and(|most| b.tokens.load(Ordering::Acquire) > most);
        self.chain().any(tokens) || self.time_left() == Some(Duration::ZERO)
    }

    /// Returns the remaining time of this run and its parents; `None` if no limit is set.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        self.chain()
            .filter_map(|b| {
                let used = Duration::from_nanos(b.nanos.load(Ordering::Acquire));
                Some(b.limits.time?.saturating_sub(used))
            })
            .min()
    }

    pub(crate) fn usage(&self) -> RunUsage {
        RunUsage {
            calls: self.calls.load(Ordering::Acquire),
            tokens: self.tokens.load(Ordering::Acquire),
            time: Duration::from_nanos(self.nanos.load(Ordering::Acquire)),
        }
    }
}

/// Adds atomically if the sum stays within the limit, and returns the limit otherwise.
fn raise(counter: &AtomicU64, amount: u64, limit: Option<u64>) -> Result<(), u64> {
    if amount == 0 && limit.is_none() {
        return Ok(());
    }
    let Some(limit) = limit else {
        counter.fetch_add(amount, Ordering::AcqRel);
        return Ok(());
    };
    counter
        .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
            now.checked_add(amount).filter(|&sum| sum <= limit)
        })
        .map(|_| ())
        .map_err(|_| limit)
}

/// The budget reserved for one call. Dropping it without [`Reservation::settle`] returns the
/// budget: the call did not run.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    tokens: u64,
    settled: bool,
}

impl Reservation {
    /// Settles a call that ran: its actual time and tokens replace the estimate.
    pub(crate) fn settle(mut self, ran: Duration, tokens: u64) {
        self.settled = true;
        let nanos = u64::try_from(ran.as_nanos()).unwrap_or(u64::MAX);
        for budget in self.budget.chain() {
            budget.nanos.fetch_add(nanos, Ordering::AcqRel);
            if tokens != self.tokens {
                budget.tokens.fetch_add(tokens, Ordering::AcqRel);
                budget.tokens.fetch_sub(self.tokens, Ordering::AcqRel);
            }
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.settled {
            self.budget.chain().for_each(|b| b.give_back(self.tokens));
        }
    }
}

/// Returns the error for a call or a request that exceeds the budget.
pub(crate) fn exceeded(short: BudgetShortfall) -> ToolError {
    let what = match short {
        BudgetShortfall::Calls(limit) => format!("all {limit} calls of this run are used"),
        BudgetShortfall::Tokens(limit) => {
            format!(
                "the {limit} tokens of this run are used (estimated where the provider reports none)"
            )
        }
        BudgetShortfall::Time(limit) => {
            format!("the {} s of tool time of this run are used", limit.as_secs())
        }
    };
    ToolError::new(ErrorType::BudgetExceeded, format!("The budget is exceeded: {what}."))
        .with_instruction("Answer with what you have.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(calls: u64, tokens: u64) -> RunLimits {
        RunLimits { calls: Some(calls), tokens: Some(tokens), time: None }
    }

    #[test]
    fn a_refused_reservation_leaves_nothing_behind_on_any_level() {
        let parent = Arc::new(Budget::resumed(limits(1, 100), RunUsage::default(), None));
        let child = Arc::new(Budget::resumed(
            limits(10, 100),
            RunUsage::default(),
            Some(Arc::clone(&parent)),
        ));
        let first = child.reserve(10).unwrap();
        assert_eq!(child.reserve(10).unwrap_err(), BudgetShortfall::Calls(1));
        assert_eq!(child.usage(), RunUsage { calls: 1, tokens: 10, time: Duration::ZERO });
        drop(first);
        assert_eq!(parent.usage(), RunUsage::default());
        child.reserve(10).unwrap().settle(Duration::from_secs(1), 25);
        assert_eq!(parent.usage(), RunUsage { calls: 1, tokens: 25, time: Duration::from_secs(1) });
    }

    #[test]
    fn many_threads_never_exceed_the_cap() {
        let budget = Arc::new(Budget::resumed(limits(100, u64::MAX), RunUsage::default(), None));
        let granted: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    let budget = Arc::clone(&budget);
                    scope.spawn(move || {
                        (0..100)
                            .filter(|_| {
                                budget.reserve(1).map(|r| r.settle(Duration::ZERO, 1)).is_ok()
                            })
                            .count()
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).sum()
        });
        assert_eq!(granted, 100);
        assert_eq!(budget.usage().calls, 100);
    }
}
