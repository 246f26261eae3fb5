//! `docs/errors.md`: the closed table of failures, from `toolcrib util errors --json`.

use anyhow::{Context, Result};
use serde_json::Value;

use super::binary::Binary;
use super::markdown::notice;

/// Columns: heading and member.
const COLUMNS: [(&str, &str); 5] = [
    ("error type", "error_type"),
    ("outcome", "outcome"),
    ("HTTP status", "http_status"),
    ("exit code", "exit_code"),
    ("retryable", "retried"),
];

const ABOUT: &str = "# Errors

A failed call returns to the model `{\"status\":\"error\",\"error_type\":…,\"message\":…}`. The table is complete: there are no other types.
*Retryable* is the default, which a tool can override; the engine retries a call only if its effect allows it too.

";

pub(super) fn page(binary: &Binary) -> Result<String> {
    table(&binary.json(&["util", "errors", "--json"])?)
}

fn table(errors: &Value) -> Result<String> {
    let rows = errors.as_array().context("`toolcrib util errors --json` prints no list")?;
    let mut page = notice("`toolcrib util errors`") + ABOUT;
    page.push_str(&format!(
        "| {} |\n|{}\n",
        COLUMNS.map(|(heading, _)| heading).join(" | "),
        "---|".repeat(5)
    ));
    for row in rows {
        let mut cells = Vec::new();
        for (_, member) in COLUMNS {
            let value = row.get(member).with_context(|| format!("a row without `{member}`"))?;
            cells.push(match value {
                Value::String(text) => format!("`{text}`"),
                Value::Bool(yes) => (if *yes { "yes" } else { "no" }).to_owned(),
                other => other.to_string(),
            });
        }
        page.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_for_each_error_and_an_error_for_a_broken_row() {
        let row = json!({"error_type": "timeout", "outcome": "timed_out", "http_status": 504, "exit_code": 124, "retried": true});
        let page = table(&json!([row])).unwrap();
        assert!(page.ends_with("| `timeout` | `timed_out` | 504 | 124 | yes |\n"), "{page}");
        assert!(table(&json!([{"error_type": "timeout"}])).is_err());
        assert!(table(&json!({})).is_err());
    }
}
