//! What is answered when a request cannot be carried out: `application/problem+json` (RFC 9457) with a code that never changes.

use axum::Json;
use axum::extract::rejection::{BytesRejection, JsonRejection, PathRejection, QueryRejection};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::core::StoreError;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $status:literal;)*) => {
        /// Why a request was not carried out. The words are part of the interface: programs decide by them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The word on the wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word),* }
            }

            /// The HTTP status.
            #[must_use]
            pub fn status(self) -> u16 {
                match self { $(Self::$name => $status),* }
            }
        }
    };
}

codes! {
    /// The request cannot be read: a wrong type, an unknown field, no JSON.
    BadRequest = "bad_request", 400;
    /// A cursor is not one that this list gave out.
    BadCursor = "bad_cursor", 400;
    /// There is no token, or not one that holds.
    Unauthorized = "unauthorized", 401;
    /// The token has no right to this.
    Forbidden = "forbidden", 403;
    /// There is no such thing, or it is somebody else's.
    NotFound = "not_found", 404;
    /// The path takes other methods.
    MethodNotAllowed = "method_not_allowed", 405;
    /// It contradicts what is there: decided before, a key used for something else, a name that is taken.
    Conflict = "conflict", 409;
    /// It is over: expired, ended, revoked.
    Gone = "gone", 410;
    /// What was changed is not what was read; read it again.
    Stale = "stale", 412;
    /// The body is too large.
    TooLarge = "too_large", 413;
    /// The body is not `application/json`.
    UnsupportedMediaType = "unsupported_media_type", 415;
    /// The Host or Origin is not one of this daemon's.
    Misdirected = "misdirected", 421;
    /// It can be read and makes no sense: a limit out of range, an unknown agent.
    Invalid = "invalid", 422;
    /// A change needs `If-Match`.
    NeedsMatch = "needs_match", 428;
    /// Too many requests of this client.
    RateLimited = "rate_limited", 429;
    /// The daemon failed; the request may be sent again.
    Internal = "internal", 500;
    /// The daemon is stopping, full, or its store does not answer.
    Unavailable = "unavailable", 503;
}

/// Why a request was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The code.
    pub code: Code,
    /// The HTTP status.
    pub status: u16,
    /// The code in words; the same for each code.
    pub title: String,
    /// What is wrong with this request, and what to do.
    pub detail: String,
    /// Seconds after which it can be tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// What the answer is about, such as the first decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Box<serde_json::Value>>,
}

impl Problem {
    /// A problem with words about this request.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let title = code.as_str().replace('_', " ");
        let status = code.status();
        Self { code, status, title, detail: detail.into(), retry_after: None, about: None }
    }

    /// There is no such thing.
    #[must_use]
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(Code::NotFound, detail)
    }

    /// It can be read and makes no sense.
    #[must_use]
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(Code::Invalid, detail)
    }

    /// It contradicts what is there.
    #[must_use]
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(Code::Conflict, detail)
    }

    /// Says when to try again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Says what the answer is about.
    #[must_use]
    pub fn about(mut self, about: serde_json::Value) -> Self {
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
        // An id that is none names nothing.
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
                Self::conflict("somebody else has taken this over; read it again")
            }
            StoreError::Busy(_) | StoreError::Full(_) => {
                Self::new(Code::Unavailable, error.to_string()).retry_after(1)
            }
            StoreError::Failed(_) => {
                tracing::error!(%error, "the store failed");
                Self::new(Code::Unavailable, "the store failed; `toolcrib doctor` may know why")
                    .retry_after(5)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_word_of_a_code_is_its_name() {
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
            assert!(code.status() >= 400);
        }
    }
}
