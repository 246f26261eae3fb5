//! The closed table of failures: error type x outcome x text x `is_error` x HTTP status x exit code (DESIGN 9, Outcomes and errors).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::outcome::OutcomeKind;

macro_rules! error_types {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $outcome:ident, $http:literal, $exit:literal, retry $retry:literal;)*) => {
        /// Why a call has no result. The wire form is the snake_case name; seed 001's four are among them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum ErrorType {
            $($(#[$doc])* $variant,)*
        }

        impl ErrorType {
            /// Every type, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The wire name.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The outcome of a call that ends with it.
            #[must_use]
            pub fn outcome(self) -> OutcomeKind {
                match self { $(Self::$variant => OutcomeKind::$outcome,)* }
            }

            /// The HTTP status of an API answer about it.
            #[must_use]
            pub fn http_status(self) -> u16 {
                match self { $(Self::$variant => $http,)* }
            }

            /// The exit code of a command that ends with it (DESIGN 7).
            #[must_use]
            pub fn exit_code(self) -> u8 {
                match self { $(Self::$variant => $exit,)* }
            }

            /// Whether trying the same call again can help, when the tool says nothing.
            #[must_use]
            pub fn is_transient(self) -> bool {
                match self { $(Self::$variant => $retry,)* }
            }
        }
    };
}

error_types! {
    /// The kill switch, or the switch of a source or tier, is off.
    ToolsDisabled = "tools_disabled", Denied, 403, 5, retry false;
    /// This tool is switched off.
    ToolDisabled = "tool_disabled", Denied, 403, 5, retry false;
    /// No tool has this name.
    ToolNotFound = "tool_not_found", Failed, 404, 4, retry false;
    /// The tool exists, but not for this caller.
    ToolNotAvailable = "tool_not_available", Denied, 403, 5, retry false;
    /// Required configuration is missing.
    NotConfigured = "not_configured", Failed, 409, 3, retry false;
    /// The arguments cannot be read or do not fit the schema.
    ValidationError = "validation_error", Failed, 422, 1, retry false;
    /// The same calls again and again.
    RepeatedCall = "repeated_call", Denied, 409, 1, retry false;
    /// A permission of the host is missing.
    PermissionDenied = "permission_denied", Denied, 403, 5, retry false;
    /// A person, or the lack of one, said no.
    ApprovalDenied = "approval_denied", Denied, 403, 5, retry false;
    /// Nobody answered in time.
    ApprovalExpired = "approval_expired", Expired, 410, 6, retry false;
    /// A rule, a preset or a guard said no.
    PolicyDenied = "policy_denied", Denied, 403, 5, retry false;
    /// A budget of calls, tokens or time is used up.
    BudgetExceeded = "budget_exceeded", Denied, 429, 7, retry false;
    /// The tool or its service takes no more calls for now.
    RateLimited = "rate_limited", Failed, 429, 1, retry true;
    /// The time of the tool is over.
    Timeout = "timeout", TimedOut, 504, 124, retry true;
    /// Somebody stopped the call.
    Cancelled = "cancelled", Cancelled, 499, 130, retry false;
    /// The tool's code broke.
    Crashed = "crashed", Failed, 500, 1, retry false;
    /// The sandbox refused, or could not give the level that policy asks for.
    SandboxError = "sandbox_error", Failed, 500, 1, retry false;
    /// The network, or the server behind it, failed.
    NetworkError = "network_error", Failed, 502, 1, retry true;
    /// No such file.
    FileNotFound = "file_not_found", Failed, 404, 1, retry false;
    /// The file is larger than the tool reads.
    FileTooLarge = "file_too_large", Failed, 413, 1, retry false;
    /// The path leaves the roots, or leads to something that is no plain file.
    PathNotAllowed = "path_not_allowed", Failed, 403, 1, retry false;
    /// Anything else that went wrong in the tool.
    ExecutionError = "execution_error", Failed, 500, 1, retry false;
    /// The call could not be recorded, so it was not run (reliability D1, B1).
    StoreFailed = "store_failed", Failed, 503, 1, retry false;
    /// The call was started and nobody knows whether it finished.
    UnknownOutcome = "unknown_outcome", Unknown, 500, 125, retry false;
}

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a call failed: one text for the model, and where it differs, one for the operator.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq, Serialize, Deserialize)]
#[error("{error_type}: {}", detail.as_deref().unwrap_or(message))]
pub struct ToolError {
    /// The row of the table.
    pub error_type: ErrorType,
    /// What the model reads: whole sentences that say what to do. Never a secret, never a path of the machine.
    pub message: String,
    /// What the operator reads in logs and reports, when there is more to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Whether another attempt can help; `None` = as the table says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transient: Option<bool>,
}

impl ToolError {
    /// A failure with its text for the model.
    pub fn new(error_type: ErrorType, message: impl Into<String>) -> Self {
        Self { error_type, message: message.into(), detail: None, transient: None }
    }

    /// Anything that has no type of its own.
    pub fn execution(message: impl Into<String>) -> Self {
        Self::new(ErrorType::ExecutionError, message)
    }

    /// Arguments that the schema let through and the tool cannot take.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(ErrorType::ValidationError, message)
    }

    /// The same with words for the operator.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The same, saying whether another attempt can help.
    #[must_use]
    pub fn transient(mut self, transient: bool) -> Self {
        self.transient = Some(transient);
        self
    }

    /// Whether another attempt can help.
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
        for seed_001 in ["timeout", "permission_denied", "execution_error", "validation_error"] {
            assert!(ErrorType::ALL.iter().any(|t| t.as_str() == seed_001));
        }
    }
}
