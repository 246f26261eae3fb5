//! Errors of parsing a response body.

use serde_json::Value;

use crate::wire_format::Format;

/// Why a response body is not a turn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Only white space.
    #[error("the response body is empty")]
    Empty,
    /// A web page, which a proxy sends if the server behind it is down.
    #[error(
        "the response body is an HTML page, not an answer of a model (title: \"{title}\"); a proxy or gateway probably failed"
    )]
    Html {
        /// Title of the page.
        title: String,
    },
    /// Neither JSON nor an event stream, or truncated.
    #[error("the response body cannot be read as {format}: {reason}")]
    Invalid {
        /// The requested format.
        format: Format,
        /// The problem and its position.
        reason: String,
    },
    /// An answer in another format.
    #[error("the response body is not {asked}: it looks like {found} (use --format {found})")]
    OtherFormat {
        /// The requested format.
        asked: Format,
        /// The detected format.
        found: Format,
    },
    /// JSON, but not an answer of a model in any known format.
    #[error("the response body is JSON, but not an answer in the format {asked}: {hint}")]
    Unrecognised {
        /// The requested format.
        asked: Format,
        /// The members that were expected.
        hint: &'static str,
    },
    /// The provider reports a failure instead of an answer.
    #[error("the provider answered with an error ({kind}): {message}")]
    Provider {
        /// Its type or code, such as `overloaded_error`.
        kind: String,
        /// Its message, at most 500 characters.
        message: String,
    },
}

/// Returns the provider's failure in a body or event, if there is one. `error: null`, as Responses
/// sends it, is not a failure.
pub(crate) fn provider_error(value: &Value) -> Option<ParseError> {
    let object = value.as_object()?;
    let (kind, message) = match object.get("error") {
        Some(Value::Object(error)) => (
            first_text(error, &["type", "status", "code"]),
            first_text(error, &["message", "detail"]),
        ),
        Some(Value::String(message)) => (None, Some(message.clone())),
        _ if is_error_event(value) => {
            (first_text(object, &["code", "param"]), first_text(object, &["message"]))
        }
        _ => return None,
    };
    Some(ParseError::Provider {
        kind: kind.unwrap_or_else(|| "error".to_owned()),
        message: truncate(&message.unwrap_or_else(|| value.to_string()), 500),
    })
}

/// Returns whether this is `{"type":"error","message":…}` of Responses streams or
/// `{"object":"error","message":…}` of older vLLM servers.
fn is_error_event(value: &Value) -> bool {
    ["type", "object"].iter().any(|key| value.get(key).is_some_and(|v| v == "error"))
}

fn first_text(object: &serde_json::Map<String, Value>, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| match object.get(*key)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// Returns the first `limit` characters, with an ellipsis if there are more.
pub(crate) fn truncate(text: &str, limit: usize) -> String {
    let mut out: String = text.chars().take(limit).collect();
    if out.len() < text.len() {
        out.pop();
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(body: Value, expected: Option<(&str, &str)>) {
        let got = provider_error(&body);
        let expected = expected.map(|(kind, message)| ParseError::Provider {
            kind: kind.to_owned(),
            message: message.to_owned(),
        });
        assert_eq!(got, expected, "{body}");
    }

    #[test]
    fn error_objects_of_every_provider() {
        check(
            json!({"error": {"message": "bad key", "type": "invalid_request_error", "code": null}}),
            Some(("invalid_request_error", "bad key")),
        );
        check(
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            Some(("overloaded_error", "Overloaded")),
        );
        check(
            json!({"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED"}}),
            Some(("RESOURCE_EXHAUSTED", "quota")),
        );
        check(json!({"error": "model not found"}), Some(("error", "model not found")));
        check(
            json!({"type": "error", "code": "server_error", "message": "x", "param": null}),
            Some(("server_error", "x")),
        );
        check(json!({"error": null, "output": []}), None);
        check(json!([1]), None);
    }
}
