//! Reads a provider's error message and codes from any error body.
#![deny(clippy::indexing_slicing)]

use std::time::Duration;

use serde_json::Value;

use crate::parse_error::{ParseError, truncate};

/// Maximum characters of the message.
const MAX_WORDS: usize = 2_000;

/// The provider's message and codes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ErrorBody {
    /// The message, on one line; empty if there is none.
    pub(super) words: String,
    /// Codes, types and reasons, in lower case.
    pub(super) codes: Vec<String>,
    /// The status inside the body, for errors behind a 200 or a gateway.
    pub(super) status: Option<u16>,
    /// Delay before a retry (Gemini's `RetryInfo`).
    pub(super) retry_after: Option<Duration>,
}

impl ErrorBody {
    /// Reads a body: JSON of any provider, a web page, or plain text.
    pub(super) fn parse(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let text = text.trim();
        if let Ok(value) = serde_json::from_str::<Value>(text) {
            return Self::from_json(&value);
        }
        let words = page_title(text).unwrap_or_else(|| one_line(text));
        Self { words, ..Self::default() }
    }

    /// Reads an error object.
    pub(super) fn from_json(value: &Value) -> Self {
        let value = match value {
            // Gemini streams without `alt=sse` are arrays.
            Value::Array(items) => items.first().unwrap_or(&Value::Null),
            value => value,
        };
        let mut said = Self::default();
        let inner = ["/response/error", "/choices/0/error"];
        let failed =
            inner.iter().find_map(|at| value.pointer(at).filter(|error| error.is_object()));
        let error = value.get("error").filter(|error| error.is_object());
        for place in [failed, error, Some(value)].into_iter().flatten() {
            said.add_codes(place);
            if said.words.is_empty() {
                said.words = message_of(place).map(|words| one_line(&words)).unwrap_or_default();
            }
        }
        said
    }

    /// Converts an error that the parser of answers found.
    pub(super) fn from_parts(kind: &str, message: &str) -> Self {
        let mut said = Self { words: one_line(message), ..Self::default() };
        said.add_code(&Value::from(kind));
        said
    }

    fn add_codes(&mut self, object: &Value) {
        for key in ["type", "code", "status", "error_type"] {
            if let Some(code) = object.get(key) {
                self.add_code(code);
            }
        }
        let details = object.get("details").and_then(Value::as_array);
        for detail in details.into_iter().flatten() {
            if let Some(reason) = detail.get("reason") {
                self.add_code(reason);
            }
            if let Some(delay) = detail.get("retryDelay").and_then(Value::as_str) {
                self.retry_after = self.retry_after.or_else(|| seconds(delay));
            }
        }
    }

    fn add_code(&mut self, code: &Value) {
        let number = match code {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        if let Some(status) = number.and_then(|number| u16::try_from(number).ok()) {
            self.status = self.status.or(Some(status).filter(|s| (400..600).contains(s)));
        } else if let Value::String(text) = code {
            self.codes.push(truncate(text, 100).to_ascii_lowercase());
        }
    }

    /// Returns whether one of these codes was given.
    pub(super) fn has_code(&self, codes: &[&str]) -> bool {
        self.codes.iter().any(|own| codes.contains(&own.as_str()))
    }
}

/// Parses `12s` or `0.5s`, the JSON form of a protobuf `Duration`.
fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn message_of(object: &Value) -> Option<String> {
    let keys = ["message", "error", "detail", "error_message", "msg", "title"];
    let words = keys.iter().find_map(|key| message_in(object.get(*key)?))?;
    // OpenRouter's own message is "Provider returned error"; the upstream provider's is in the
    // metadata.
    let raw = object.pointer("/metadata/raw").and_then(Value::as_str);
    match raw {
        Some(raw) => Some(format!("{words}: {}", ErrorBody::parse(raw.as_bytes()).words)),
        None => Some(words),
    }
}

fn message_in(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Object(_) => message_of(value),
        Value::Array(items) => items.first().and_then(message_in),
        _ => None,
    }
}

/// Returns the text as one line without control characters.
fn one_line(text: &str) -> String {
    let start: String = text.chars().take(MAX_WORDS).collect();
    let plain: String = start.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the title of a web page.
fn page_title(text: &str) -> Option<String> {
    match crate::parse(crate::Format::OpenAiChat, text.as_bytes()) {
        Err(ParseError::Html { title }) => Some(one_line(&title)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(body: &str, words: &str, codes: &[&str], status: Option<u16>) {
        let said = ErrorBody::parse(body.as_bytes());
        assert_eq!((said.words.as_str(), said.status), (words, status), "{body}");
        assert_eq!(said.codes, codes, "{body}");
    }

    #[test]
    fn bodies_of_every_provider() {
        check(
            r#"{"error":{"message":"Incorrect API key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
            "Incorrect API key",
            &["invalid_request_error", "invalid_api_key"],
            None,
        );
        check(
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}"#,
            "Overloaded",
            &["overloaded_error", "error"],
            None,
        );
        check(
            r#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]"#,
            "API key not valid.",
            &["invalid_argument", "api_key_invalid"],
            Some(400),
        );
        check(r#"{"error":"model 'x' not found"}"#, "model 'x' not found", &[], None);
        check(
            r#"{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","code":404}"#,
            "The model `x` does not exist.",
            &["notfounderror"],
            Some(404),
        );
        check(
            r#"{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"{\"error\":{\"message\":\"busy\"}}"}}}"#,
            "Provider returned error: busy",
            &[],
            Some(502),
        );
        check(
            r#"{"detail":[{"msg":"field\n required","loc":["body"]}]}"#,
            "field required",
            &[],
            None,
        );
        check(
            r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"sorry"}}}"#,
            "sorry",
            &["server_error", "response.failed"],
            None,
        );
        check(
            "<html><head><title>502 Bad\nGateway</title></head></html>",
            "502 Bad Gateway",
            &[],
            None,
        );
        check("upstream connect\r\nerror\u{7}", "upstream connect error", &[], None);
        check("", "", &[], None);
        check("{}", "", &[], None);
    }

    #[test]
    fn retry_info_is_read() {
        for (delay, expected) in [
            ("12s", Some(Duration::from_secs(12))),
            ("0.5s", Some(Duration::from_millis(500))),
            ("-1s", None),
            ("soon", None),
        ] {
            let body = format!(
                r#"{{"error":{{"code":429,"details":[{{"@type":"x"}},{{"retryDelay":"{delay}"}}]}}}}"#
            );
            assert_eq!(ErrorBody::parse(body.as_bytes()).retry_after, expected, "{delay}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn any_body_is_read(body in prop::collection::vec(any::<u8>(), 0..200), text in r#"[\[\]{}":,a-z0-9 ]{0,80}"#) {
            prop_assert!(ErrorBody::parse(&body).words.chars().count() <= MAX_WORDS);
            ErrorBody::parse(text.as_bytes());
        }
    }
}
