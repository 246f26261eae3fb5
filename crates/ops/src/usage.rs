//! Usage of models and tools, added up.

use serde::{Deserialize, Serialize};
use toolcrib_core::{UsageBy, UsageTotals};

use crate::context::StoreContext;
use crate::error::OpError;

/// Which usage, and how it is grouped.
#[derive(Debug, Clone, Copy)]
pub struct UsageRequest {
    /// The rows of the reply.
    pub by: UsageBy,
    /// At or after, milliseconds since 1970.
    pub since: Option<i64>,
    /// Before, milliseconds since 1970.
    pub until: Option<i64>,
}

/// One row for each model, agent or tool; most requests, or calls, first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsageReply {
    /// The rows.
    pub totals: Vec<UsageTotals>,
}

/// Sums tokens, cost and calls.
///
/// # Errors
/// [`OpError::Store`].
pub async fn usage(ctx: &StoreContext<'_>, request: UsageRequest) -> Result<UsageReply, OpError> {
    let UsageRequest { by, since, until } = request;
    let store = &ctx.stores.usage;
    let totals = match until {
        None => store.usage(ctx.owner, by, since).await?,
        Some(until) if since.is_some_and(|since| since >= until) => Vec::new(),
        Some(until) => {
            // The store adds up from a time on: what came after the window is subtracted.
            let after = store.usage(ctx.owner, by, Some(until)).await?;
            let all = store.usage(ctx.owner, by, since).await?;
            without(all, &after)
        }
    };
    Ok(UsageReply { totals })
}

fn without(all: Vec<UsageTotals>, after: &[UsageTotals]) -> Vec<UsageTotals> {
    let mut left: Vec<UsageTotals> = all
        .into_iter()
        .map(|sum| match after.iter().find(|later| later.name == sum.name) {
            Some(later) => less(sum, later),
            None => sum,
        })
        .filter(|sum| sum.requests > 0 || sum.calls.is_some_and(|calls| calls > 0))
        .collect();
    left.sort_by_key(|sum| std::cmp::Reverse((sum.requests, sum.calls)));
    left
}

fn less(sum: UsageTotals, later: &UsageTotals) -> UsageTotals {
    let requests = sum.requests.saturating_sub(later.requests);
    let unreported = sum.unreported.saturating_sub(later.unreported);
    let unpriced = sum.unpriced.saturating_sub(later.unpriced);
    let minus = |one: Option<u64>, other: Option<u64>| {
        one.map(|one| one.saturating_sub(other.unwrap_or_default()))
    };
    // No figure was reported in this time, so it is unknown again.
    let tokens = |one, other| minus(one, other).filter(|_| requests > unreported);
    UsageTotals {
        requests,
        unreported,
        unpriced,
        input: tokens(sum.input, later.input),
        output: tokens(sum.output, later.output),
        cache_read: tokens(sum.cache_read, later.cache_read),
        cache_write: tokens(sum.cache_write, later.cache_write),
        reasoning: tokens(sum.reasoning, later.reasoning),
        cost_micros: minus(sum.cost_micros, later.cost_micros).filter(|_| requests > unpriced),
        calls: minus(sum.calls, later.calls),
        run_nanos: minus(sum.run_nanos, later.run_nanos),
        name: sum.name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(name: &str, requests: u64, unreported: u64, input: Option<u64>) -> UsageTotals {
        UsageTotals {
            name: name.into(),
            requests,
            unreported,
            unpriced: requests,
            input,
            ..UsageTotals::default()
        }
    }

    #[test]
    fn a_window_is_what_came_since_without_what_came_after() {
        let all = vec![sum("a", 5, 1, Some(90)), sum("b", 9, 9, None), sum("c", 2, 0, Some(7))];
        let after = [sum("a", 3, 0, Some(60)), sum("b", 2, 2, None), sum("c", 2, 0, Some(7))];
        let left = without(all, &after);
        let shown: Vec<_> =
            left.iter().map(|s| (s.name.as_str(), s.requests, s.unreported, s.input)).collect();
        assert_eq!(shown, [("b", 7, 7, None), ("a", 2, 1, Some(30))]);
        let left = without(vec![sum("a", 3, 2, Some(10))], &[sum("a", 1, 0, Some(10))]);
        assert_eq!(left[0].input, None, "none was reported in this time");
    }
}
