//! The closed table of error types with outcome, HTTP status, exit code and whether a retry can
//! help.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::exclusion::Exclusion;
use crate::outcome_kind::OutcomeKind;

macro_rules! error_types {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $outcome:ident, $http:literal, $exit:literal, retry $retry:literal;)*) => {
        /// Why a call has no result. The wire form is the snake_case name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum ErrorType {
            $($(#[$doc])* $variant,)*
        }

        impl ErrorType {
            /// Every type, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name in files and on the wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the outcome of a call that ends with this error.
            #[must_use]
            pub fn outcome(self) -> OutcomeKind {
                match self { $(Self::$variant => OutcomeKind::$outcome,)* }
            }

            /// Returns the HTTP status of an API response with this error.
            #[must_use]
            pub fn http_status(self) -> u16 {
                match self { $(Self::$variant => $http,)* }
            }

            /// Returns the exit code of a command that ends with this error.
            #[must_use]
            pub fn exit_code(self) -> u8 {
                match self { $(Self::$variant => $exit,)* }
            }

            /// Returns whether a retry can help, if the tool does not declare it.
            #[must_use]
            pub fn is_transient(self) -> bool {
                match self { $(Self::$variant => $retry,)* }
            }
        }
    };
}

error_types! {
    /// The kill switch is on, or the switch of a source or tier is off.
    ToolsDisabled = "tools_disabled", Denied, 403, 5, retry false;
    /// The tool is switched off.
    ToolDisabled = "tool_disabled", Denied, 403, 5, retry false;
    /// No tool has this name.
    ToolNotFound = "tool_not_found", Failed, 404, 4, retry false;
    /// The tool exists, but not for this caller.
    ToolNotAvailable = "tool_not_available", Denied, 403, 5, retry false;
    /// Required configuration is missing.
    NotConfigured = "not_configured", Failed, 409, 3, retry false;
    /// The arguments cannot be parsed or do not match the schema.
    ValidationError = "validation_error", Failed, 422, 1, retry false;
    /// The same calls were repeated too often.
    RepeatedCall = "repeated_call", Denied, 409, 1, retry false;
    /// A permission of the host is missing.
    PermissionDenied = "permission_denied", Denied, 403, 5, retry false;
    /// A person denied the call, or none could be asked.
    ApprovalDenied = "approval_denied", Denied, 403, 5, retry false;
    /// No decision before the deadline.
    ApprovalExpired = "approval_expired", Expired, 410, 6, retry false;
    /// A rule, a preset or a guard denied the call.
    PolicyDenied = "policy_denied", Denied, 403, 5, retry false;
    /// A budget of calls, tokens or time is used up.
    BudgetExceeded = "budget_exceeded", Denied, 429, 7, retry false;
    /// The tool or its service accepts no more calls for now.
    RateLimited = "rate_limited", Failed, 429, 1, retry true;
    /// The tool's timeout expired.
    Timeout = "timeout", TimedOut, 504, 124, retry true;
    /// The call was canceled.
    Cancelled = "cancelled", Cancelled, 499, 130, retry false;
    /// The tool's code panicked or crashed.
    Crashed = "crashed", Failed, 500, 1, retry false;
    /// The sandbox refused, or cannot provide the level that policy requires.
    SandboxError = "sandbox_error", Failed, 500, 1, retry false;
    /// The network, or the server behind it, failed.
    NetworkError = "network_error", Failed, 502, 1, retry true;
    /// The file does not exist.
    FileNotFound = "file_not_found", Failed, 404, 1, retry false;
    /// The file is larger than the tool reads.
    FileTooLarge = "file_too_large", Failed, 413, 1, retry false;
    /// The path leaves the roots, or is not a regular file.
    PathNotAllowed = "path_not_allowed", Failed, 403, 1, retry false;
    /// Any other failure of the tool.
    ExecutionError = "execution_error", Failed, 500, 1, retry false;
    /// The call could not be recorded, so it was not run: without an intent record a crash would
    /// leave no trace of it.
    StoreFailed = "store_failed", Failed, 503, 1, retry false;
    /// The call was started, and it is unknown whether it finished.
    UnknownOutcome = "unknown_outcome", Unknown, 500, 125, retry false;
    /// The call ran, and its outcome could not be recorded. The answer contains the result of the
    /// tool ([`Outcome::unrecorded`](crate::Outcome::unrecorded)); the record may later have the
    /// outcome `unknown`. 507 is Insufficient Storage (RFC 4918, section 11.5), 74 is `EX_IOERR` of
    /// `sysexits.h`.
    NotRecorded = "not_recorded", Unknown, 507, 74, retry false;
}

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a call failed: a message for the model, and if needed a detail for the operator.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq, Serialize, Deserialize)]
#[error("{error_type}: {}", detail.as_deref().unwrap_or(message))]
pub struct ToolError {
    /// The row of the table.
    pub error_type: ErrorType,
    /// Message for the model: complete sentences with instructions. Never contains a secret or a
    /// path of the host.
    pub message: String,
    /// Additional information for logs and reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Whether a retry can help; `None` uses the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transient: Option<bool>,
    /// Whether the tool refused before it read anything: its message then raises no taint label.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_nothing: bool,
    /// The message without its instructions to the model, for people; `None` if it has no
    /// instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_people: Option<String>,
    /// The obstacle that prevented the call, if the owner can remove it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<Box<Obstacle>>,
}

/// An obstacle that prevented a call and that the owner can remove. Each surface adds its own
/// instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Obstacle {
    /// The network policy refuses a target that the owner may open.
    Address {
        /// `HOST:PORT`.
        target: String,
    },
    /// The tool is not offered to the caller.
    Excluded {
        /// Why.
        reason: Exclusion,
    },
}

impl ToolError {
    /// Creates a failure with its message for the model.
    pub fn new(error_type: ErrorType, message: impl Into<String>) -> Self {
        Self {
            error_type,
            message: message.into(),
            detail: None,
            transient: None,
            read_nothing: false,
            for_people: None,
            obstacle: None,
        }
    }

    /// Creates a failure without a more specific type.
    pub fn execution(message: impl Into<String>) -> Self {
        Self::new(ErrorType::ExecutionError, message)
    }

    /// Creates a failure for arguments that match the schema but are invalid for the tool.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(ErrorType::ValidationError, message)
    }

    /// Adds a sentence that tells the model what to do next. People are shown the message without
    /// it.
    #[must_use]
    pub fn with_instruction(mut self, instruction: &str) -> Self {
        self.for_people.get_or_insert_with(|| self.message.clone());
        self.message.push(' ');
        self.message.push_str(instruction);
        self
    }

    /// Adds an obstacle that the owner can remove.
    #[must_use]
    pub fn with_obstacle(mut self, obstacle: Obstacle) -> Self {
        self.obstacle = Some(Box::new(obstacle));
        self
    }

    /// Returns the message without its instructions to the model.
    #[must_use]
    pub fn message_for_people(&self) -> &str {
        self.for_people.as_deref().unwrap_or(&self.message)
    }

    /// Adds a detail for the operator.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Declares that nothing from outside was read before this failure.
    #[must_use]
    pub fn with_nothing_read(mut self) -> Self {
        self.read_nothing = true;
        self
    }

    /// Sets whether a retry can help.
    #[must_use]
    pub fn transient(mut self, transient: bool) -> Self {
        self.transient = Some(transient);
        self
    }

    /// Returns whether a retry can help.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.transient.unwrap_or_else(|| self.error_type.is_transient())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_closed_and_names_round_trip() {
        for &t in ErrorType::ALL {
            let json = serde_json::to_string(&t).unwrap();
            assert_eq!(json, format!("\"{}\"", t.as_str()));
            assert_eq!(serde_json::from_str::<ErrorType>(&json).unwrap(), t);
            assert!(t.http_status() >= 400);
            assert_ne!(t.exit_code(), 0, "a failure never exits with 0");
            assert_ne!(t.outcome(), OutcomeKind::Succeeded);
        }
        for wire_name in ["timeout", "permission_denied", "execution_error", "validation_error"] {
            assert!(ErrorType::ALL.iter().any(|t| t.as_str() == wire_name));
        }
    }
}
