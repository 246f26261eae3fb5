//! `toolcrib metrics`: metrics of the calls of each tool.

use serde_json::{Value, json};
use toolcrib_core::{Clock as _, SystemClock, ToolMetrics};
use toolcrib_ops::calls;
use toolcrib_ops::tools::ToolNumbers;

use super::library_snapshot::table;
use super::lookup::LOCAL_OWNER;
use crate::clap_args::{Metrics, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, json_document, op_context, terminal, time_format};

/// Number of columns of an error.
const ERROR_WIDTH: usize = 60;

pub(crate) fn run(command: &Metrics, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let stores = bootstrap::stores()?;
        let mut tools = stores.history.metrics(LOCAL_OWNER, command.since).await?;
        if let Some(asked) = &command.tool {
            let toolcrib = bootstrap::inspect(&WorkspaceArgs::default(), json).await?;
            let name =
                calls::resolve_tool(&op_context::for_stores(&stores), &toolcrib, asked).await?;
            tools.retain(|tool| tool.tool == name);
        }
        if json {
            output::print_json(&tools.iter().map(to_json).collect::<Value>(), true)?;
        } else if !tools.is_empty() {
            output::print_line(&to_text(&tools))?;
        }
        if tools.is_empty() {
            output::warn("no call was recorded in this time", json);
        }
        Ok(0)
    })
}

/// Returns the share of successful calls among those that ran; `None` if none ran.
fn success_rate(tool: &ToolMetrics) -> Option<f64> {
    let ran = tool.count.checked_sub(tool.not_run).filter(|ran| *ran > 0)?;
    Some(tool.succeeded as f64 / ran as f64)
}

fn to_json(tool: &ToolMetrics) -> Value {
    json_document::with_members(
        &ToolNumbers::new(tool.clone(), true),
        json!({"tool": tool.tool, "success_rate": success_rate(tool)}),
    )
}

fn to_text(tools: &[ToolMetrics]) -> String {
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
            let words =
                terminal::truncate_to_width(&terminal::escape_to_line(&error.message), ERROR_WIDTH);
            format!(
                "{} ago: {words} ({})",
                time_format::format_age(error.at, now),
                error.error_type
            )
        });
        vec![
            terminal::escape_to_line(&tool.tool),
            tool.count.to_string(),
            success_rate(tool).map_or_else(dash, percent),
            tool.failed.to_string(),
            tool.timed_out.to_string(),
            tool.not_run.to_string(),
            tool.unknown.to_string(),
            tool.p50_nanos.map_or_else(dash, time_format::format_elapsed),
            tool.p95_nanos.map_or_else(dash, time_format::format_elapsed),
            error.unwrap_or_else(dash),
        ]
    }));
    table(&rows)
}

/// Rounds so that it is never 100 % if a call failed, and never 0 % if one succeeded.
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
