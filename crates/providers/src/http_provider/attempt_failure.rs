//! A failed attempt: maps HTTP errors, error bodies and parse errors to one type.

use std::time::Duration;

use toolcrib_net::{HttpError, Phase};

use super::classify_error::classify;
use super::error_body::ErrorBody;
use super::error_message::{ErrorCause, ErrorContext};
use crate::model::FailureKind;
use crate::parse_error::ParseError;
use crate::stream_preview::MAX_ANSWER;

/// A failed attempt, with a message for users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AttemptFailure {
    pub(super) kind: FailureKind,
    pub(super) status: Option<u16>,
    pub(super) message: String,
    pub(super) retry_after: Option<Duration>,
}

impl AttemptFailure {
    pub(super) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, status: None, message: message.into(), retry_after: None }
    }

    /// Creates the failure that the provider reports, in a response or inside an answer.
    pub(super) fn from_error_body(
        about: &ErrorContext<'_>,
        status: Option<u16>,
        said: &ErrorBody,
    ) -> Self {
        let kind = classify(status, said);
        let cause = ErrorCause { kind, status, said };
        Self { status, retry_after: said.retry_after, ..Self::new(kind, about.message(&cause)) }
    }

    /// Creates the failure for a redirect, which is not followed, so that the key stays with the
    /// configured host.
    pub(super) fn redirected(about: &ErrorContext<'_>, status: u16, target: &str) -> Self {
        let message = format!(
            "{} redirects to {target} ({status}). The request and its key were not sent there. If that is where it moved, \
             set its base URL.",
            about.provider()
        );
        let message = about.mask_secrets(&message);
        Self { status: Some(status), ..Self::new(FailureKind::BadRequest, message) }
    }

    /// Creates the failure for a missing response or a broken connection.
    pub(super) fn http(about: &ErrorContext<'_>, error: &HttpError) -> Self {
        let kind = match error {
            HttpError::Idle { .. } => FailureKind::Idle,
            HttpError::Dns(_)
            | HttpError::Connect { .. }
            | HttpError::Tls { .. }
            | HttpError::Timeout { .. }
            | HttpError::Protocol { .. } => FailureKind::Connection,
            HttpError::HeadTooLarge { .. } | HttpError::Decode { .. } => FailureKind::Unreadable,
            _ => FailureKind::BadRequest,
        };
        let (provider, place) = (about.provider(), about.display_url());
        let message = match error {
            HttpError::Dns(_) => {
                format!(
                    "The host of {provider} ({place}) is not found. Check the base URL and the network."
                )
            }
            HttpError::Connect { source, .. } => {
                format!(
                    "{provider} cannot be reached at {place} ({source}). {}",
                    about.unreachable_hint()
                )
            }
            HttpError::Timeout { phase: Phase::Response | Phase::Body, .. } => {
                format!("The answer of {provider} was not whole within {}.", about.timeout_text())
            }
            HttpError::Timeout { phase, after, .. } => {
                format!(
                    "{provider} cannot be reached at {place}: {phase} took more than {} s.",
                    after.as_secs()
                )
            }
            HttpError::Idle { after, .. } => {
                format!("Nothing came from {provider} for {} s.", after.as_secs_f64())
            }
            HttpError::Denied(denied) => {
                format!("The address of {provider} may not be connected to: {denied}.")
            }
            HttpError::Protocol { detail, .. } => {
                format!("The connection to {provider} broke ({detail}).")
            }
            error => format!("The exchange with {provider} failed: {error}."),
        };
        Self::new(kind, about.mask_secrets(&message))
    }

    /// Creates the failure for a body that is not an answer: another kind of server probably runs
    /// at this URL.
    pub(super) fn unreadable(about: &ErrorContext<'_>, error: &ParseError) -> Self {
        let message = format!(
            "The response of {} at {} is not an answer of a model: {error}. {}",
            about.provider(),
            about.display_url(),
            about.wrong_url_hint()
        );
        Self::new(FailureKind::Unreadable, about.mask_secrets(&message))
    }

    /// Creates the failure for an answer that ended before it was complete.
    pub(super) fn interrupted(about: &ErrorContext<'_>) -> Self {
        let message = format!("The answer of {} ended before it was whole.", about.provider());
        Self::new(FailureKind::Connection, message)
    }

    /// Creates the failure for an answer over the size limit.
    pub(super) fn too_large(about: &ErrorContext<'_>) -> Self {
        let size = MAX_ANSWER / 1_000_000;
        let message = format!(
            "The answer of {} is larger than {size} MB and was given up.",
            about.provider()
        );
        Self::new(FailureKind::Unreadable, message)
    }
}
