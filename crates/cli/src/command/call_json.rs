//! A call as `tool call --json`, `tool call --lines` and `tool call --daemon --json` print it: the
//! document of the REST API, with members that only the command has.

use serde_json::{Map, Value, json};

/// The members of the command, made from the document alone, so that a call has one form with and
/// without a daemon:
///
/// - `outcome`: how the call ended; `suspended` = it waits for a person, `running` = it goes on.
/// - `result`: the text of the failure too, where the call has no result.
/// - `is_error`: that the result is a failure that the tool itself reports.
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
