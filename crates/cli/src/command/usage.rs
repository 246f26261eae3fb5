//! `toolcrib usage`: tokens, costs and calls. A figure that was not reported is unknown, not zero.

use serde_json::json;
use toolcrib_agent::context::Money;
use toolcrib_core::UsageTotals;
use toolcrib_ops::usage::{self as ops, UsageDocument, UsageRequest};

use super::library_snapshot::table;
use crate::clap_args::{Usage, UsageGrouping};
use crate::output::{self, Failure};
use crate::{bootstrap, op_context, terminal, time_format};

pub(crate) fn run(command: &Usage, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let stores = bootstrap::stores()?;
        let request = UsageRequest { by: command.by.into(), since: command.since, until: None };
        let sums = ops::usage(&op_context::for_stores(&stores), request).await?.totals;
        if json {
            let rows: Vec<_> = sums.iter().map(UsageDocument::from).collect();
            output::print_json(&json!(rows), true)?;
        } else if !sums.is_empty() {
            output::print_line(&to_text(&sums, command.by))?;
        }
        match unreported_note(&sums) {
            _ if sums.is_empty() => output::warn("nothing was used in this time", json),
            Some(words) => output::warn(&words, json),
            None => {}
        }
        Ok(0)
    })
}

fn to_text(sums: &[UsageTotals], by: UsageGrouping) -> String {
    let head: &[&str] = match by {
        UsageGrouping::Tool => &["TOOL", "CALLS", "TIME"],
        UsageGrouping::Agent => {
            &["AGENT", "ANSWERS", "INPUT", "OUTPUT", "CACHED", "COST (ESTIMATE)", "CALLS", "TIME"]
        }
        UsageGrouping::Day => {
            &["DAY", "ANSWERS", "INPUT", "OUTPUT", "CACHED", "COST (ESTIMATE)", "CALLS", "TIME"]
        }
        UsageGrouping::Model => {
            &["MODEL", "ANSWERS", "INPUT", "OUTPUT", "CACHED", "REASONING", "COST (ESTIMATE)"]
        }
    };
    let mut rows = vec![head.iter().map(|&word| word.to_owned()).collect()];
    rows.extend(sums.iter().map(|sum| {
        let name = if sum.name.is_empty() {
            "(none)".to_owned()
        } else {
            terminal::escape_to_line(&sum.name)
        };
        let (answers, calls) = (sum.requests.to_string(), count_text(sum.calls));
        let time = sum.run_nanos.map_or_else(|| "-".to_owned(), time_format::format_elapsed);
        let cost = sum.cost_micros.map_or_else(|| "-".to_owned(), |micros| Money(micros).amount());
        let (input, output) = (count_text(sum.input), count_text(sum.output));
        let cached = count_text(sum.cache_read);
        match by {
            UsageGrouping::Tool => vec![name, calls, time],
            UsageGrouping::Agent | UsageGrouping::Day => {
                vec![name, answers, input, output, cached, cost, calls, time]
            }
            UsageGrouping::Model => {
                vec![name, answers, input, output, cached, count_text(sum.reasoning), cost]
            }
        }
    }));
    table(&rows)
}

fn count_text(count: Option<u64>) -> String {
    count.map_or_else(|| "-".to_owned(), |count| count.to_string())
}

/// Describes the unknown part.
fn unreported_note(sums: &[UsageTotals]) -> Option<String> {
    let total = |of: fn(&UsageTotals) -> u64| sums.iter().map(of).sum::<u64>();
    let answers = total(|sum| sum.requests);
    let (unreported, unpriced) = (total(|sum| sum.unreported), total(|sum| sum.unpriced));
    let mut words = Vec::new();
    if unreported > 0 {
        words.push(format!("{unreported} of {answers} answers did not report their tokens"));
    }
    if unpriced > 0 {
        words.push(format!("the price of {unpriced} of {answers} answers is not known"));
    }
    (!words.is_empty()).then(|| format!("{}; what is added up is without them", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(requests: u64, unreported: u64, input: Option<u64>) -> UsageTotals {
        UsageTotals {
            name: "ollama/qwen3".into(),
            requests,
            unreported,
            unpriced: unreported,
            input,
            ..UsageTotals::default()
        }
    }

    #[test]
    fn unknown_is_a_dash_or_null_and_never_zero() {
        let row = to_text(&[sum(3, 3, None)], UsageGrouping::Model);
        assert_eq!(
            row.lines().nth(1),
            Some("ollama/qwen3  3        -      -       -       -          -")
        );
        let data = json!(UsageDocument::from(&sum(3, 3, None)));
        for key in ["input_tokens", "output_tokens", "cost_usd_estimate", "calls", "run_ms"] {
            assert_eq!(data.get(key), Some(&json!(null)), "{key}");
        }
        let reported = UsageDocument::from(&sum(1, 0, Some(0)));
        assert_eq!(reported.input_tokens, Some(0));
        let words = unreported_note(&[sum(3, 1, Some(7)), sum(2, 2, None)]).unwrap();
        assert_eq!(
            words,
            "3 of 5 answers did not report their tokens, the price of 3 of 5 answers is not known; what is added up is without them"
        );
        assert_eq!(unreported_note(&[sum(3, 0, Some(1))]), None);
    }
}
