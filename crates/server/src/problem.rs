//! Errors of the API: `application/problem+json` (RFC 9457) with stable codes.

use axum::Json;
use axum::extract::rejection::{BytesRejection, JsonRejection, PathRejection, QueryRejection};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_agent::library::UnknownName;
use toolcrib_core::StoreError;
use toolcrib_ops::{OpError, Resource};

/// Number of characters of an unknown name that an error repeats.
const NAME_CHARS: usize = 80;
/// Number of characters of an unknown artifact id that an error repeats.
const ARTIFACT_CHARS: usize = 60;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $status:literal;)*) => {
        /// The reason for the failure of a request. The codes are stable: programs match on them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// All codes.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the code as it is sent.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word),* }
            }

            /// Returns the HTTP status.
            #[must_use]
            pub fn status(self) -> u16 {
                match self { $(Self::$name => $status),* }
            }
        }
    };
}

codes! {
    /// The request cannot be parsed: a wrong type, an unknown field, invalid JSON.
    BadRequest = "bad_request", 400;
    /// The cursor is not one of this list.
    BadCursor = "bad_cursor", 400;
    /// The token is missing or not valid.
    Unauthorized = "unauthorized", 401;
    /// The token does not permit this.
    Forbidden = "forbidden", 403;
    /// It does not exist, or belongs to another owner.
    NotFound = "not_found", 404;
    /// The path does not support the method.
    MethodNotAllowed = "method_not_allowed", 405;
    /// It conflicts with the current state: already decided, a key used for another request, a name
    /// in use.
    Conflict = "conflict", 409;
    /// It has expired, ended or been revoked.
    Gone = "gone", 410;
    /// It was changed since it was read; read it again.
    Stale = "stale", 412;
    /// The body is too large.
    TooLarge = "too_large", 413;
    /// The body is not `application/json`.
    UnsupportedMediaType = "unsupported_media_type", 415;
    /// The Host or Origin is not one of this daemon.
    Misdirected = "misdirected", 421;
    /// It can be parsed but is not valid: a limit out of range, an unknown agent.
    Invalid = "invalid", 422;
    /// A change needs `If-Match`.
    NeedsMatch = "needs_match", 428;
    /// Too many requests of this client.
    RateLimited = "rate_limited", 429;
    /// The daemon failed; the request may be sent again.
    Internal = "internal", 500;
    /// The daemon is stopping or at its limit, or its store failed.
    Unavailable = "unavailable", 503;
}

/// The body of the response to a failed request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The code.
    pub code: Code,
    /// The HTTP status.
    pub status: u16,
    /// The code as text.
    pub title: String,
    /// The error of this request, and advice.
    pub detail: String,
    /// Seconds after which to try again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// The object of the error, such as the first decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Box<serde_json::Value>>,
}

impl Problem {
    /// Creates a problem with a detail about this request.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let title = code.as_str().replace('_', " ");
        let status = code.status();
        Self { code, status, title, detail: detail.into(), retry_after: None, about: None }
    }

    /// Creates the problem of an object that does not exist.
    #[must_use]
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(Code::NotFound, detail)
    }

    /// Creates the problem of a request that can be parsed but is not valid.
    #[must_use]
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(Code::Invalid, detail)
    }

    /// Creates the problem of a request that conflicts with the current state.
    #[must_use]
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(Code::Conflict, detail)
    }

    /// Adds the seconds after which to try again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Adds the object of the error.
    #[must_use]
    pub fn with_extra(mut self, about: serde_json::Value) -> Self {
        self.about = Some(Box::new(about));
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let retry_after = self.retry_after;
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = retry_after {
            headers.insert(HeaderName::from_static("retry-after"), HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        let code = match rejection.status() {
            StatusCode::UNSUPPORTED_MEDIA_TYPE => Code::UnsupportedMediaType,
            StatusCode::PAYLOAD_TOO_LARGE => Code::TooLarge,
            _ => Code::BadRequest,
        };
        Self::new(code, rejection.body_text())
    }
}

impl From<BytesRejection> for Problem {
    fn from(rejection: BytesRejection) -> Self {
        let code = match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Code::TooLarge,
            _ => Code::BadRequest,
        };
        Self::new(code, rejection.body_text())
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(Code::BadRequest, rejection.body_text())
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        // A malformed id is reported as not found.
        match rejection.status() {
            StatusCode::BAD_REQUEST => Self::not_found(rejection.body_text()),
            _ => Self::new(Code::Internal, rejection.body_text()),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict(what) => Self::conflict(what),
            StoreError::Missing(what) => Self::not_found(format!("there is no {what}")),
            StoreError::Fenced { .. } => {
                Self::conflict("another process has taken this over; read it again")
            }
            StoreError::Busy(_) | StoreError::Full(_) => {
                Self::new(Code::Unavailable, error.to_string()).retry_after(1)
            }
            StoreError::Failed(_) => {
                tracing::error!(%error, "the store failed");
                Self::new(Code::Unavailable, "the store failed; run `toolcrib doctor`")
                    .retry_after(5)
            }
        }
    }
}

impl From<OpError> for Problem {
    fn from(error: OpError) -> Self {
        let code = error.class().code();
        let code = Code::ALL.iter().find(|known| known.as_str() == code);
        let code = code.copied().unwrap_or(Code::Internal);
        let detail = match error {
            OpError::Store(error) => return error.into(),
            OpError::Unrecorded(why) => {
                tracing::error!(why, "an action could not be recorded");
                "it was done but could not be recorded in the audit; run `toolcrib doctor`"
                    .to_owned()
            }
            OpError::NotFound { what, name, near } => missing_detail(what, name, near),
            OpError::NoOwnSwitch { tool, feature } => {
                format!("{tool} has no switch of its own: switch `feature:{feature}`")
            }
            OpError::OpenRun { run } => {
                let words = format!(
                    "the run {run} of this conversation is not over; stop it first, or wait for it"
                );
                return Self::new(code, words).with_extra(serde_json::json!({"run": run}));
            }
            OpError::Refused(error) => {
                let about = serde_json::json!({"error_type": error.error_type});
                return Self::new(code, error.message).with_extra(about);
            }
            OpError::WithFacts { error, facts } => return Self::from(*error).with_extra(facts),
            error => error.to_string(),
        };
        Self::new(code, detail)
    }
}

/// Describes the missing object, and where to find its kind over HTTP.
fn missing_detail(what: Resource, name: String, near: Vec<String>) -> String {
    match what {
        Resource::Agent => UnknownName { kind: "agent", name, near }.to_string(),
        Resource::Skill => UnknownName { kind: "skill", name, near }.to_string(),
        Resource::Tool | Resource::Switch => {
            let next = match near.as_slice() {
                [] if what == Resource::Tool => "GET /tools lists them".to_owned(),
                [] => "GET /switches lists them".to_owned(),
                near => format!("did you mean {}?", near.join(" or ")),
            };
            let name: String = name.chars().take(NAME_CHARS).collect();
            format!("there is no {what} {name}; {next}")
        }
        Resource::Artifact => {
            let name: String = name.chars().take(ARTIFACT_CHARS).collect();
            format!("there is no {what} {name}; it may have expired")
        }
        Resource::Call => {
            let name: String = name.chars().take(NAME_CHARS).collect();
            format!(
                "there is no call {name}; GET /calls lists them, and an id is sent whole, such as call_ with 32 hexadecimal digits"
            )
        }
        what => {
            let name: String = name.chars().take(NAME_CHARS).collect();
            format!("there is no {what} {name}; GET {} lists what there is", list_route(what))
        }
    }
}

/// Returns the route that lists objects of this kind.
fn list_route(what: Resource) -> &'static str {
    match what {
        Resource::Tool => "/tools",
        Resource::Agent => "/agents",
        Resource::Skill => "/skills",
        Resource::Kit => "/kits",
        Resource::Call => "/calls",
        Resource::Run => "/runs",
        Resource::Conversation => "/conversations",
        Resource::Grant => "/grants",
        Resource::Approval => "/approvals?state=all",
        Resource::Artifact => "/artifacts",
        Resource::Task => "/tasks",
        Resource::Notification => "/notifications",
        Resource::Memory => "/memories",
        Resource::Goal => "/goals",
        Resource::App => "/apps",
        Resource::Pairing => "/pairings",
        Resource::Draft => "/drafts",
        Resource::Document => "/documents",
        Resource::List => "/lists",
        Resource::Switch => "/switches",
        Resource::McpServer => "/mcp/servers",
        Resource::Secret => "/secrets",
        Resource::Rule => "/rules/own",
        Resource::Chain => "/chains",
        Resource::Token => "/tokens",
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_ops::ErrorClass;

    use super::*;

    #[test]
    fn every_class_of_failed_operations_has_its_code() {
        for class in ErrorClass::ALL {
            let code = Code::ALL.iter().find(|code| code.as_str() == class.code());
            assert_eq!(code.map(|code| code.status()), Some(class.http_status()), "{class:?}");
        }
    }

    #[test]
    fn a_code_is_sent_as_its_name() {
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
            assert!(code.status() >= 400);
        }
    }
}
