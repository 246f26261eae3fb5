//! Everything that can become of an attempt instead of an answer, brought into one form.

use std::time::Duration;

use toolcrib_net::{HttpError, Phase};

use super::classify::classify;
use super::explain::{About, Cause};
use super::said::Said;
use crate::error::ParseError;
use crate::model::FailureKind;
use crate::watch::MAX_ANSWER;

/// A failed attempt, in words for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    pub(super) status: Option<u16>,
    pub(super) message: String,
    pub(super) retry_after: Option<Duration>,
}

impl Failure {
    pub(super) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, status: None, message: message.into(), retry_after: None }
    }

    /// The provider says so, in a response or inside an answer.
    pub(super) fn said(about: &About<'_>, status: Option<u16>, said: &Said) -> Self {
        let kind = classify(status, said);
        let cause = Cause { kind, status, said };
        Self { status, retry_after: said.retry_after, ..Self::new(kind, about.say(&cause)) }
    }

    /// The provider sends us elsewhere. The key stays here.
    pub(super) fn redirected(about: &About<'_>, status: u16, target: &str) -> Self {
        let message = format!(
            "{} redirects to {target} ({status}). The request and its key were not sent there. If that is where it moved, \
             set its base URL.",
            about.provider()
        );
        let message = about.without_secrets(&message);
        Self { status: Some(status), ..Self::new(FailureKind::BadRequest, message) }
    }

    /// There is no response, or it broke.
    pub(super) fn http(about: &About<'_>, error: &HttpError) -> Self {
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
        let (provider, place) = (about.provider(), about.place());
        let message = match error {
            HttpError::Dns(_) => {
                format!(
                    "The host of {provider} ({place}) is not found. Check the base URL and the network."
                )
            }
            HttpError::Connect { source, .. } => {
                format!("{provider} cannot be reached at {place} ({source}). {}", about.unreached())
            }
            HttpError::Timeout { phase: Phase::Response | Phase::Body, .. } => {
                format!("The answer of {provider} was not whole within {}.", about.limit())
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
        Self::new(kind, about.without_secrets(&message))
    }

    /// A body that is no answer: something else than this kind of provider answers there.
    pub(super) fn unreadable(about: &About<'_>, error: &ParseError) -> Self {
        let message = format!(
            "What {} answers at {} is no answer of a model: {error}. {}",
            about.provider(),
            about.place(),
            about.wrong_place()
        );
        Self::new(FailureKind::Unreadable, about.without_secrets(&message))
    }

    /// The answer ended before it was whole.
    pub(super) fn cut(about: &About<'_>) -> Self {
        let message = format!("The answer of {} ended before it was whole.", about.provider());
        Self::new(FailureKind::Connection, message)
    }

    /// The answer is larger than any answer.
    pub(super) fn too_large(about: &About<'_>) -> Self {
        let size = MAX_ANSWER / 1_000_000;
        let message = format!(
            "The answer of {} is larger than {size} MB and was given up.",
            about.provider()
        );
        Self::new(FailureKind::Unreadable, message)
    }
}
