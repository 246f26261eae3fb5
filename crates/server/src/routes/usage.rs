//! What models and tools used.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::core::{UsageBy, UsageSum};

use crate::api::{Api, Json, Operation, Page, Query};
use crate::daemon::Daemon;
use crate::problem::Problem;
use crate::role::{Principal, Role};

/// What usage is added up by.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum By {
    /// By provider and model.
    #[default]
    Model,
    /// By agent.
    Agent,
    /// By tool: calls and time; tokens are the model's.
    Tool,
}

impl From<By> for UsageBy {
    fn from(by: By) -> Self {
        match by {
            By::Model => Self::Model,
            By::Agent => Self::Agent,
            By::Tool => Self::Tool,
        }
    }
}

/// Which usage is wanted.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct UsageQuery {
    /// `model`, `agent` or `tool`; `model` when nobody says.
    by: By,
    /// At or after, milliseconds since 1970.
    since: Option<i64>,
    /// Before, milliseconds since 1970.
    until: Option<i64>,
}

/// A sum. What nobody reported is absent, which is not zero; where `unreported` or `unpriced` is more than 0, the sums are lower bounds.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct UsageDocument {
    /// Model (`provider/model`), agent or tool.
    name: String,
    /// Answers of models; 0 for tools.
    requests: u64,
    /// Answers without token counts.
    unreported: u64,
    /// Answers without a known price.
    unpriced: u64,
    /// Tokens of requests.
    input_tokens: Option<u64>,
    /// Tokens of answers.
    output_tokens: Option<u64>,
    /// Tokens read from caches.
    cache_read_tokens: Option<u64>,
    /// Tokens written to caches.
    cache_write_tokens: Option<u64>,
    /// Tokens of reasoning.
    reasoning_tokens: Option<u64>,
    /// Estimated price in US dollars.
    cost_usd_estimate: Option<f64>,
    /// Calls of tools; absent where calls are not counted.
    calls: Option<u64>,
    /// Milliseconds that tools ran; absent where calls are not counted.
    run_ms: Option<f64>,
}

pub(super) fn routes(api: &mut Api) {
    let usage = Operation::get("/usage", Role::Viewer, "Adds up tokens, money and calls.");
    api.add(
        usage
            .query::<UsageQuery>()
            .ok::<Page<UsageDocument>>("Those with the most requests, or calls, first."),
        show_usage,
    );
}

async fn show_usage(
    State(daemon): State<Daemon>,
    principal: Principal,
    Query(query): Query<UsageQuery>,
) -> Result<Json<Page<UsageDocument>>, Problem> {
    let (usage, owner) = (&daemon.stores().usage, principal.owner.as_str());
    let sums = match query.until {
        None => usage.usage(owner, query.by.into(), query.since).await?,
        Some(until) if query.since.is_some_and(|since| since >= until) => Vec::new(),
        Some(until) => {
            // Sums are sums: what came later is taken off.
            let after = usage.usage(owner, query.by.into(), Some(until)).await?;
            let all = usage.usage(owner, query.by.into(), query.since).await?;
            without(all, &after)
        }
    };
    Ok(Json(Page::whole(sums.into_iter().map(document).collect())))
}

fn without(all: Vec<UsageSum>, after: &[UsageSum]) -> Vec<UsageSum> {
    let mut left: Vec<UsageSum> = all
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

fn less(sum: UsageSum, later: &UsageSum) -> UsageSum {
    let requests = sum.requests.saturating_sub(later.requests);
    let unreported = sum.unreported.saturating_sub(later.unreported);
    let unpriced = sum.unpriced.saturating_sub(later.unpriced);
    let minus = |one: Option<u64>, other: Option<u64>| {
        one.map(|one| one.saturating_sub(other.unwrap_or_default()))
    };
    // Nobody reported anything in this time, so it is unknown again.
    let tokens = |one, other| minus(one, other).filter(|_| requests > unreported);
    UsageSum {
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

fn document(sum: UsageSum) -> UsageDocument {
    UsageDocument {
        name: sum.name,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(name: &str, requests: u64, unreported: u64, input: Option<u64>) -> UsageSum {
        UsageSum {
            name: name.into(),
            requests,
            unreported,
            unpriced: requests,
            input,
            ..UsageSum::default()
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
        assert_eq!(left[0].input, None, "nobody reported any in this time");
    }
}
