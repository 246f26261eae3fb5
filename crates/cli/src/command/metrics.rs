//! `toolcrib metrics`: metrics of the calls of each tool.

use serde_json::{Value, json};
use toolcrib_core::{Clock as _, SystemClock};
use toolcrib_ops::calls;
use toolcrib_ops::tools::{self, ToolNumbers};

use super::library_snapshot::table;
use crate::clap_args::{Metrics, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, json_document, op_context, terminal, time_format};

/// Number of columns of an error.
const ERROR_WIDTH: usize = 60;

pub(crate) fn run(command: &Metrics, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let stores = bootstrap::stores()?;
        let ctx = op_context::for_stores(&stores);
        let mut rows = tools::all_numbers(&ctx, command.since).await?;
        if let Some(asked) = &command.tool {
            let toolcrib = bootstrap::inspect(&WorkspaceArgs::default(), json).await?;
            let name = calls::resolve_tool(&ctx, &toolcrib, asked).await?;
            rows.retain(|(tool, _)| *tool == name);
        }
        if json {
            let row = |(tool, numbers): &(String, _)| {
                json_document::with_members(numbers, json!({ "tool": tool }))
            };
            output::print_json(&rows.iter().map(row).collect::<Value>(), true)?;
        } else if !rows.is_empty() {
            output::print_line(&to_text(&rows))?;
        }
        if rows.is_empty() {
            output::warn("no call was recorded in this time", json);
        }
        Ok(0)
    })
}

fn to_text(tools: &[(String, ToolNumbers)]) -> String {
    let now = SystemClock.now_ms();
    let dash = || "-".to_owned();
    let elapsed = |ms: Option<f64>| {
        ms.map_or_else(dash, |ms| time_format::format_elapsed((ms * 1e6).round() as u64))
    };
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
    rows.extend(tools.iter().map(|(name, tool)| {
        let error = tool.last_error.as_ref().map(|error| {
            let words = error.message.as_deref().unwrap_or_default();
            let words = terminal::truncate_to_width(&terminal::escape_to_line(words), ERROR_WIDTH);
            format!(
                "{} ago: {words} ({})",
                time_format::format_age(error.at, now),
                error.error_type
            )
        });
        vec![
            terminal::escape_to_line(name),
            tool.count.to_string(),
            tool.success_rate.map_or_else(dash, percent),
            tool.failed.to_string(),
            tool.timed_out.to_string(),
            tool.not_run.to_string(),
            tool.unknown.to_string(),
            elapsed(tool.p50_ms),
            elapsed(tool.p95_ms),
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
}
