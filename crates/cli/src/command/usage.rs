//! `toolcrib usage`: tokens, money and calls. What nobody reported is unknown, not zero.

use serde_json::{Value, json};
use toolcrib_app::agent::context::Money;
use toolcrib_app::core::UsageSum;

use super::past::{OWNER, store};
use super::shelf::table;
use crate::cli::{By, Usage};
use crate::output::{self, Failure};
use crate::{terminal, when, world};

pub(crate) fn run(command: &Usage, json: bool) -> Result<u8, Failure> {
    world::block_on(async {
        let stores = world::stores()?;
        let sums =
            stores.usage.usage(OWNER, command.by.into(), command.since).await.map_err(store)?;
        if json {
            output::document(&sums.iter().map(machine).collect::<Value>(), true)?;
        } else if !sums.is_empty() {
            output::data(&people(&sums, command.by))?;
        }
        match unknown(&sums) {
            _ if sums.is_empty() => output::remark("nothing was used in this time", json),
            Some(words) => output::remark(&words, json),
            None => {}
        }
        Ok(0)
    })
}

fn machine(sum: &UsageSum) -> Value {
    json!({
        "name": sum.name,
        "requests": sum.requests,
        "unreported": sum.unreported,
        "unpriced": sum.unpriced,
        "input_tokens": sum.input,
        "output_tokens": sum.output,
        "cache_read_tokens": sum.cache_read,
        "cache_write_tokens": sum.cache_write,
        "reasoning_tokens": sum.reasoning,
        "cost_usd_estimate": sum.cost_micros.map(|micros| micros as f64 / 1e6),
        "calls": sum.calls,
        "run_ms": sum.run_nanos.map(|nanos| nanos as f64 / 1e6),
    })
}

fn people(sums: &[UsageSum], by: By) -> String {
    let head: &[&str] = match by {
        By::Tool => &["TOOL", "CALLS", "TIME"],
        By::Agent => {
            &["AGENT", "ANSWERS", "INPUT", "OUTPUT", "CACHED", "COST (ESTIMATE)", "CALLS", "TIME"]
        }
        By::Model => {
            &["MODEL", "ANSWERS", "INPUT", "OUTPUT", "CACHED", "REASONING", "COST (ESTIMATE)"]
        }
    };
    let mut rows = vec![head.iter().map(|&word| word.to_owned()).collect()];
    rows.extend(sums.iter().map(|sum| {
        let name =
            if sum.name.is_empty() { "(none)".to_owned() } else { terminal::one_line(&sum.name) };
        let (answers, calls) = (sum.requests.to_string(), number(sum.calls));
        let time = sum.run_nanos.map_or_else(|| "-".to_owned(), when::took);
        let cost = sum.cost_micros.map_or_else(|| "-".to_owned(), |micros| Money(micros).amount());
        let (input, output) = (number(sum.input), number(sum.output));
        let cached = number(sum.cache_read);
        match by {
            By::Tool => vec![name, calls, time],
            By::Agent => vec![name, answers, input, output, cached, cost, calls, time],
            By::Model => {
                vec![name, answers, input, output, cached, number(sum.reasoning), cost]
            }
        }
    }));
    table(&rows)
}

fn number(count: Option<u64>) -> String {
    count.map_or_else(|| "-".to_owned(), |count| count.to_string())
}

/// Says how much of it nobody knows.
fn unknown(sums: &[UsageSum]) -> Option<String> {
    let total = |of: fn(&UsageSum) -> u64| sums.iter().map(of).sum::<u64>();
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

    fn sum(requests: u64, unreported: u64, input: Option<u64>) -> UsageSum {
        UsageSum {
            name: "ollama/qwen3".into(),
            requests,
            unreported,
            unpriced: unreported,
            input,
            ..UsageSum::default()
        }
    }

    #[test]
    fn unknown_is_a_dash_or_null_and_never_zero() {
        let row = people(&[sum(3, 3, None)], By::Model);
        assert_eq!(
            row.lines().nth(1),
            Some("ollama/qwen3  3        -      -       -       -          -")
        );
        let data = machine(&sum(3, 3, None));
        for key in ["input_tokens", "output_tokens", "cost_usd_estimate", "calls", "run_ms"] {
            assert_eq!(data.get(key), Some(&Value::Null), "{key}");
        }
        assert_eq!(machine(&sum(1, 0, Some(0))).get("input_tokens"), Some(&json!(0)), "reported");
        let words = unknown(&[sum(3, 1, Some(7)), sum(2, 2, None)]).unwrap();
        assert_eq!(
            words,
            "3 of 5 answers did not report their tokens, the price of 3 of 5 answers is not known; what is added up is without them"
        );
        assert_eq!(unknown(&[sum(3, 0, Some(1))]), None);
    }
}
