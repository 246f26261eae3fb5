//! `toolcrib util errors`: the table of failures.

use serde_json::Value;

use crate::output::{self, Failure};

pub(super) fn run(json: bool) -> Result<u8, Failure> {
    let table = output::error_table();
    if json {
        output::print_json(&Value::Array(table), true)?;
        return Ok(0);
    }
    let mut text = format!("{:<20} {:<10} {:>5} {:>5}\n", "error type", "outcome", "HTTP", "exit");
    for row in table {
        let word = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |key: &str| row.get(key).and_then(Value::as_u64).unwrap_or_default();
        text += &format!(
            "{:<20} {:<10} {:>5} {:>5}\n",
            word("error_type"),
            word("outcome"),
            number("http_status"),
            number("exit_code")
        );
    }
    output::print_line(&text)?;
    Ok(0)
}
