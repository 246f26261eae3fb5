//! Failures of a service, as a clause for people and models.
#![deny(clippy::indexing_slicing)]

use serde::de::DeserializeOwned;
use serde_json::Value;
use toolcrib_core::{ErrorType, ToolError};
use toolcrib_net::Response;

/// Bytes of a page that are searched for signs of a bot check.
const SIGN_BYTES: usize = 64 * 1024;
/// Longest reason that is quoted from a service.
const MAX_REASON: usize = 200;

/// Why a service returned no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceError {
    /// The kind of failure.
    pub(crate) kind: ErrorType,
    /// A clause such as "it asks for a captcha".
    pub(crate) reason: String,
}

impl ServiceError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { kind: ErrorType::NetworkError, reason: reason.into() }
    }

    /// Creates the error for a service that must be configured first.
    pub(crate) fn not_configured(reason: impl Into<String>) -> Self {
        Self { kind: ErrorType::NotConfigured, reason: reason.into() }
    }

    pub(super) fn from_tool_error(error: ToolError) -> Self {
        let reason = error.message_for_people().trim_end_matches('.').to_owned();
        Self { kind: error.error_type, reason }
    }

    /// Returns whether trying another service is pointless because the call was stopped.
    pub(crate) fn is_final(&self) -> bool {
        self.kind == ErrorType::Cancelled
    }

    /// Creates the error of a tool that used only this service.
    pub(crate) fn into_tool_error(self, service: &str, instruction: &str) -> ToolError {
        let transient = !matches!(self.kind, ErrorType::NotConfigured | ErrorType::PolicyDenied);
        ToolError::new(self.kind, format!("{service} gave no result: {}.", self.reason))
            .with_instruction(instruction)
            .transient(transient)
    }
}

/// Returns why a service refused, from its status and body; `None` if it answered.
pub(crate) fn refusal_of(response: &Response) -> Option<ServiceError> {
    let status = response.head.status;
    if is_bot_check(response) {
        return Some(ServiceError::new("it asks for a captcha instead of answering"));
    }
    let what = match status {
        200..=299 => return None,
        401 | 403 => "it refuses the access",
        402 | 432 | 433 => "the paid quota is used up",
        429 => "it is asked too often",
        500..=599 => "it has a failure of its own",
        _ => "it refuses the request",
    };
    let said = said_by(response).map(|said| format!(": {said}")).unwrap_or_default();
    let kind = if status == 429 { ErrorType::RateLimited } else { ErrorType::NetworkError };
    let after = response.head.header("retry-after").filter(|_| status == 429);
    let after = after.and_then(|after| after.trim().parse::<u64>().ok());
    let after = after.map(|after| format!(", again in {after} s")).unwrap_or_default();
    Some(ServiceError { kind, reason: format!("{what} (HTTP {status}{after}){said}") })
}

/// Parses the JSON of a response.
///
/// # Errors
/// The service refused, or its response has another format.
pub(crate) fn json<T: DeserializeOwned>(response: &Response) -> Result<T, ServiceError> {
    if let Some(refusal) = refusal_of(response) {
        return Err(refusal);
    }
    if response.truncated() {
        return Err(ServiceError::new("its answer is too large"));
    }
    serde_json::from_slice(&response.body).map_err(|_| {
        let kind = response.head.header("content-type").unwrap_or("no media type");
        ServiceError::new(format!("its answer is not the JSON that was expected ({kind})"))
    })
}

/// Returns whether a page asks the visitor to prove that they are human.
fn is_bot_check(response: &Response) -> bool {
    /// In lower case. From DuckDuckGo, Google, Cloudflare, and two services that many sites use.
    const SIGNS: [&str; 7] = [
        "anomaly-modal",
        "unusual traffic from your computer network",
        "cf-challenge",
        "challenge-platform",
        "g-recaptcha",
        "h-captcha",
        "please complete the security check",
    ];
    let is_html = response.head.header("content-type").is_some_and(|kind| kind.contains("html"));
    let start = response.body.get(..SIGN_BYTES).unwrap_or(&response.body);
    let text = || String::from_utf8_lossy(start).to_ascii_lowercase();
    is_html && {
        let text = text();
        SIGNS.iter().any(|sign| text.contains(sign))
    }
}

/// Extracts the message of an error document, in the forms of the supported services.
fn said_by(response: &Response) -> Option<String> {
    const PLACES: [&str; 6] =
        ["/error/message", "/error/detail", "/detail/error", "/error", "/reason", "/message"];
    let document: Value = serde_json::from_slice(&response.body).ok()?;
    let said = PLACES.iter().find_map(|place| document.pointer(place)?.as_str())?;
    let line: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.trim_end_matches('.').chars().take(MAX_REASON).collect();
    (!short.is_empty()).then_some(short)
}
