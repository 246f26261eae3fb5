//! Sums of the usage of models and tools.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{QUARTER_HOUR_MS, UsageAggregator, UsageBy, UsageTotals};

use crate::context::StoreContext;
use crate::error::OpError;

/// Filter and grouping of usage.
#[derive(Debug, Clone)]
pub struct UsageRequest {
    /// The grouping.
    pub by: UsageRows,
    /// Only usage at or after this time, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Only usage before this time, in milliseconds since 1970.
    pub until: Option<i64>,
}

/// The grouping of usage.
#[derive(Debug, Clone)]
pub enum UsageRows {
    /// By provider and model.
    Model,
    /// By agent.
    Agent,
    /// By tool.
    Tool,
    /// By day of this time zone, such as `2026-03-29`.
    Day(TimeZone),
}

/// One row for each model, agent or tool, the one with the most requests or calls first; or one for
/// each day with usage, the oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsageReply {
    /// The rows.
    pub totals: Vec<UsageTotals>,
}

/// A sum. A figure that was not reported is absent, which is not zero; where `unreported` or
/// `unpriced` is more than 0, the sums are lower bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageDocument {
    /// Model (`provider/model`), agent, tool, or day (`2026-03-29`).
    pub name: String,
    /// Answers of models; 0 for tools.
    pub requests: u64,
    /// Answers without token counts.
    pub unreported: u64,
    /// Answers without a known price.
    pub unpriced: u64,
    /// Tokens of requests.
    pub input_tokens: Option<u64>,
    /// Tokens of answers.
    pub output_tokens: Option<u64>,
    /// Tokens read from caches.
    pub cache_read_tokens: Option<u64>,
    /// Tokens written to caches.
    pub cache_write_tokens: Option<u64>,
    /// Tokens of reasoning.
    pub reasoning_tokens: Option<u64>,
    /// Estimated price in US dollars.
    pub cost_usd_estimate: Option<f64>,
    /// Calls of tools; absent where calls are not counted.
    pub calls: Option<u64>,
    /// Milliseconds that tools ran; absent where calls are not counted.
    pub run_ms: Option<f64>,
}

impl From<&UsageTotals> for UsageDocument {
    fn from(sum: &UsageTotals) -> Self {
        Self {
            name: sum.name.clone(),
            requests: sum.requests,
            unreported: sum.unreported,
            unpriced: sum.unpriced,
            input_tokens: sum.input,
            output_tokens: sum.output,
            cache_read_tokens: sum.cache_read,
            cache_write_tokens: sum.cache_write,
            reasoning_tokens: sum.reasoning,
            cost_usd_estimate: sum.cost_micros.map(|micros| micros as f64 / 1e6),
            calls: sum.calls,
            run_ms: sum.run_nanos.map(|nanos| nanos as f64 / 1e6),
        }
    }
}

/// Sums tokens, cost and calls.
///
/// # Errors
/// [`OpError::Store`].
pub async fn usage(ctx: &StoreContext<'_>, request: UsageRequest) -> Result<UsageReply, OpError> {
    let UsageRequest { by, since, until } = request;
    let rows = by;
    let by = match &rows {
        UsageRows::Model => UsageBy::Model,
        UsageRows::Agent => UsageBy::Agent,
        UsageRows::Tool => UsageBy::Tool,
        UsageRows::Day(_) => UsageBy::QuarterHour,
    };
    let store = &ctx.stores.usage;
    let totals = match until {
        None => store.usage(ctx.owner, by, since).await?,
        Some(until) if since.is_some_and(|since| since >= until) => Vec::new(),
        Some(until) => {
            // The store sums from a start time on, so the usage after the period is subtracted.
            let after = store.usage(ctx.owner, by, Some(until)).await?;
            let all = store.usage(ctx.owner, by, since).await?;
            without(all, &after)
        }
    };
    let totals = match rows {
        UsageRows::Day(zone) => by_day(totals, &zone),
        UsageRows::Model | UsageRows::Agent | UsageRows::Tool => totals,
    };
    Ok(UsageReply { totals })
}

/// Sums quarters of an hour to days.
fn by_day(totals: Vec<UsageTotals>, zone: &TimeZone) -> Vec<UsageTotals> {
    let mut days = UsageAggregator::default();
    for sum in totals {
        let start = sum.name.parse::<i64>().ok().and_then(|at| at.checked_mul(QUARTER_HOUR_MS));
        // A time outside of the calendar comes from a broken clock.
        let Some(at) = start.and_then(|ms| Timestamp::from_millisecond(ms).ok()) else { continue };
        days.add(UsageTotals { name: at.to_zoned(zone.clone()).date().to_string(), ..sum });
    }
    let mut days = days.finish(UsageBy::QuarterHour);
    days.sort_by(|a, b| a.name.cmp(&b.name));
    days
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
    // If no figure was reported in this period, it is unknown again.
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
    fn days_are_those_of_the_zone_also_where_the_clock_changes() {
        let quarter = |text: &str| {
            let at: Timestamp = text.parse().unwrap();
            sum(&toolcrib_core::quarter_hour(at.as_millisecond()), 1, 0, Some(10))
        };
        // Berlin has 23 hours on 29 March 2026: from 23:00 UTC on the 28th to 22:00 UTC.
        let all = [
            "2026-03-28T22:50:00Z",
            "2026-03-28T23:00:00Z",
            "2026-03-29T21:59:00Z",
            "2026-03-29T22:00:00Z",
        ];
        let days = by_day(all.map(quarter).to_vec(), &TimeZone::get("Europe/Berlin").unwrap());
        let days: Vec<_> = days.iter().map(|day| (day.name.as_str(), day.input)).collect();
        let expected =
            [("2026-03-28", Some(10)), ("2026-03-29", Some(20)), ("2026-03-30", Some(10))];
        assert_eq!(days, expected);
        let days = by_day(all.map(quarter).to_vec(), &TimeZone::get("Asia/Kathmandu").unwrap());
        assert_eq!(days.len(), 2, "an offset of 5:45");
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
