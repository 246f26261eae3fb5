//! `toolcrib metrics`: how the calls of each tool went.

use serde_json::{Value, json};
use toolcrib_app::core::{Clock as _, SystemClock, ToolMetrics};

use super::past::{self, OWNER, store};
use super::shelf::table;
use crate::cli::{Metrics, World};
use crate::output::{self, Failure};
use crate::{terminal, when, world};

/// Columns of an error.
const ERROR: usize = 60;

pub(crate) fn run(command: &Metrics, json: bool) -> Result<u8, Failure> {
    world::block_on(async {
        let stores = world::stores()?;
        let mut tools = stores.history.metrics(OWNER, command.since).await.map_err(store)?;
        if let Some(asked) = &command.tool {
            let toolcrib = world::look(&World::default(), json).await?;
            let name = past::tool(&stores, &toolcrib, asked).await?;
            tools.retain(|tool| tool.tool == name);
        }
        if json {
            output::document(&tools.iter().map(machine).collect::<Value>(), true)?;
        } else if !tools.is_empty() {
            output::data(&people(&tools))?;
        }
        if tools.is_empty() {
            output::remark("no call was recorded in this time", json);
        }
        Ok(0)
    })
}

/// The part of the calls that ran which succeeded; `None` = none ran.
fn success_rate(tool: &ToolMetrics) -> Option<f64> {
    let ran = tool.count.checked_sub(tool.not_run).filter(|ran| *ran > 0)?;
    Some(tool.succeeded as f64 / ran as f64)
}

fn machine(tool: &ToolMetrics) -> Value {
    let ms = |nanos: Option<u64>| nanos.map(|nanos| nanos as f64 / 1e6);
    json!({
        "tool": tool.tool,
        "count": tool.count,
        "success_rate": success_rate(tool),
        "succeeded": tool.succeeded,
        "failed": tool.failed,
        "timed_out": tool.timed_out,
        "not_run": tool.not_run,
        "unknown": tool.unknown,
        "p50_ms": ms(tool.p50_nanos),
        "p95_ms": ms(tool.p95_nanos),
        "last_error": tool.last_error,
        "last_at": tool.last_at,
    })
}

fn people(tools: &[ToolMetrics]) -> String {
    let now = SystemClock.now_ms();
    let dash = || "-".to_owned();
    let head = [
        "TOOL",
        "CALLS",
        "SUCCESS",
        "FAILED",
        "TIMED OUT",
        "NOT RUN",
        "UNKNOWN",
        "P50",
        "P95",
        "LAST ERROR",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(tools.iter().map(|tool| {
        let error = tool.last_error.as_ref().map(|error| {
            let words = terminal::shorten(&terminal::one_line(&error.message), ERROR);
            format!("{} ago: {words} ({})", when::age(error.at, now), error.error_type)
        });
        vec![
            terminal::one_line(&tool.tool),
            tool.count.to_string(),
            success_rate(tool).map_or_else(dash, percent),
            tool.failed.to_string(),
            tool.timed_out.to_string(),
            tool.not_run.to_string(),
            tool.unknown.to_string(),
            tool.p50_nanos.map_or_else(dash, when::took),
            tool.p95_nanos.map_or_else(dash, when::took),
            error.unwrap_or_else(dash),
        ]
    }));
    table(&rows)
}

/// Never 100 % where something failed, and never 0 % where something succeeded.
fn percent(rate: f64) -> String {
    let percent = (rate * 1000.0).round() / 10.0;
    let percent = match rate {
        rate if rate > 0.0 && rate < 1.0 => percent.clamp(0.1, 99.9),
        _ => percent,
    };
    format!("{percent}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_do_not_round_to_all_or_nothing() {
        for (rate, expected) in [
            (1.0, "100%"),
            (0.0, "0%"),
            (0.5, "50%"),
            (2.0 / 3.0, "66.7%"),
            (0.99999, "99.9%"),
            (1e-9, "0.1%"),
        ] {
            assert_eq!(percent(rate), expected);
        }
    }

    #[test]
    fn what_did_not_run_says_nothing_of_a_tool() {
        let tool = |count, succeeded, not_run| ToolMetrics {
            tool: "t".into(),
            count,
            succeeded,
            failed: count - succeeded - not_run,
            timed_out: 0,
            not_run,
            unknown: 0,
            p50_nanos: None,
            p95_nanos: None,
            last_error: None,
            last_at: 0,
        };
        assert_eq!(success_rate(&tool(4, 1, 2)), Some(0.5));
        assert_eq!(success_rate(&tool(2, 0, 2)), None);
        assert_eq!(success_rate(&tool(0, 0, 0)), None);
    }
}
