//! The JSON of a call in `tool call --json`, `tool call --lines` and `tool call --daemon --json`:
//! the document of the REST API, with members that only the command has.

use serde_json::{Map, Value, json};

/// Returns the members of the command, derived only from the document, so that a call has the same
/// form with and without a daemon:
///
/// - `outcome`: the outcome of the call; `suspended` if it waits for a person, `running` if it
///   continues.
/// - `result`: the text of the failure if the call has no result.
/// - `is_error`: whether the result is a failure that the tool itself reports.
pub(super) fn to_json(document: &Value) -> Map<String, Value> {
    let mut call = document.as_object().cloned().unwrap_or_default();
    let status = call.get("status").cloned().unwrap_or_default();
    let outcome = if status == "waiting" { json!("suspended") } else { status };
    if call.contains_key("error_type") && call.contains_key("result") {
        call.insert("is_error".to_owned(), json!(true));
    }
    let message = call.get("message").cloned().unwrap_or_default();
    call.entry("result").or_insert(message);
    call.insert("outcome".to_owned(), outcome);
    call
}
