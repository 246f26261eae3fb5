//! One attempt: sends a request and reads its answer to the end.
#![deny(clippy::indexing_slicing)]

use std::time::Duration;

use toolcrib_net::{BodyStream, Bytes, Head, HttpError, Limits, Method, StreamingResponse};
use url::Url;

use super::attempt_failure::AttemptFailure;
use super::endpoint::EndpointState;
use super::error_body::ErrorBody;
use super::error_message::ErrorContext;
use super::retry::retry_after;
use super::urls::display_url;
use crate::model::DeltaSink;
use crate::model_turn::{Stop, Turn};
use crate::parse_error::ParseError;
use crate::stream_preview::{MAX_ANSWER, StreamPreview};
use crate::wire_format::Format;

/// How long to wait for the end of the response after the provider's last event, so that the
/// connection can be reused.
const TRAILING_WAIT: Duration = Duration::from_millis(250);
/// Connect timeout, the same for all HTTP clients of the project.
const CONNECT: Duration = toolcrib_net::CONNECT_TIMEOUT;
/// Maximum bytes of an error response that are read.
const MAX_REFUSAL: usize = 64 * 1024;
/// Bytes at the end of an answer that are searched for an error event.
const TAIL: usize = 32 * 1024;

/// The request of one attempt.
pub(super) struct Attempt<'a> {
    pub(super) shared: &'a EndpointState,
    pub(super) about: ErrorContext<'a>,
    pub(super) url: &'a str,
    pub(super) body: Bytes,
    pub(super) stream: bool,
    pub(super) format: Format,
    pub(super) text_tools: bool,
    /// Time left of the whole request.
    pub(super) left: Duration,
}

impl Attempt<'_> {
    /// Sends the request and reads the answer.
    pub(super) async fn run(&self, deltas: DeltaSink<'_>) -> Result<Turn, AttemptFailure> {
        let settings = &self.shared.settings;
        let mut request = self.shared.request(Method::POST, self.url.to_owned());
        if !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept")) {
            request.headers.push(("accept".to_owned(), self.accept().to_owned()));
        }
        request.body = self.body.clone();
        let limits = Limits {
            total: self.left,
            idle: self.stream.then_some(settings.idle),
            connect: CONNECT,
            max_wire_bytes: MAX_ANSWER,
            max_inflated_bytes: MAX_ANSWER,
            max_headers: 256,
            max_header_bytes: 64 * 1024,
            max_redirects: 0,
        };
        let sent = self.shared.client.send(&request, &limits).await;
        let StreamingResponse { head, body } =
            sent.map_err(|error| AttemptFailure::http(&self.about, &error))?;
        match head.status {
            200..300 => self.read(body, deltas).await,
            300..400 => Err(AttemptFailure::redirected(&self.about, head.status, &target(&head))),
            _ => Err(self.error_response(&head, body).await),
        }
    }

    fn accept(&self) -> &'static str {
        match self.stream {
            true if self.shared.settings.kind.streams_lines() => "application/x-ndjson",
            true => "text/event-stream",
            false => "application/json",
        }
    }

    async fn error_response(&self, head: &Head, mut body: BodyStream) -> AttemptFailure {
        let mut bytes = Vec::new();
        // The part of an error response that arrived is enough.
        while let Ok(Some(piece)) = body.chunk().await {
            bytes.extend_from_slice(&piece);
            if bytes.len() >= MAX_REFUSAL {
                break;
            }
        }
        let mut failure = AttemptFailure::from_error_body(
            &self.about,
            Some(head.status),
            &ErrorBody::parse(&bytes),
        );
        let wall = self.shared.settings.clock.wall();
        failure.retry_after = retry_after(head, wall).or(failure.retry_after);
        failure
    }

    async fn read(
        &self,
        mut body: BodyStream,
        deltas: DeltaSink<'_>,
    ) -> Result<Turn, AttemptFailure> {
        let mut watcher = StreamPreview::new(self.format, self.text_tools);
        let broke = loop {
            match next_piece(&mut body, watcher.is_complete_hint()).await {
                Ok(Some(piece)) => watcher.feed(&piece, &mut *deltas),
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
            if watcher.is_full() {
                return Err(AttemptFailure::too_large(&self.about));
            }
        };
        if body.truncation().is_some() {
            return Err(AttemptFailure::too_large(&self.about));
        }
        self.finish(watcher, broke.as_ref())
    }

    /// Returns the turn, if it is complete: then the way the connection ended does not matter.
    fn finish(
        &self,
        watcher: StreamPreview,
        broke: Option<&HttpError>,
    ) -> Result<Turn, AttemptFailure> {
        let bytes = watcher.bytes();
        let tail = bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default().to_vec();
        let begins = begins_as_stream(bytes);
        let ends_early = !self.stream && ends_early(bytes);
        let about = &self.about;
        let incomplete = || {
            broke.map_or_else(
                || AttemptFailure::interrupted(about),
                |error| AttemptFailure::http(about, error),
            )
        };
        match watcher.finish() {
            Ok(turn) if turn.complete => Ok(turn),
            Ok(turn) => {
                let said = last_error(&tail).or_else(|| match &turn.stop {
                    Stop::Failed(words) => Some(ErrorBody::from_parts("", words)),
                    _ => None,
                });
                Err(said.map_or_else(incomplete, |said| {
                    AttemptFailure::from_error_body(about, None, &said)
                }))
            }
            Err(ParseError::Provider { kind, message }) => {
                let said =
                    last_error(&tail).unwrap_or_else(|| ErrorBody::from_parts(&kind, &message));
                Err(AttemptFailure::from_error_body(about, None, &said))
            }
            Err(_) if broke.is_some() => Err(incomplete()),
            Err(ParseError::Empty) => Err(incomplete()),
            Err(_) if ends_early => Err(incomplete()),
            // Events without an answer, or an incomplete line.
            Err(ParseError::Invalid { .. } | ParseError::Unrecognised { .. })
                if self.stream && begins == Some(StreamStart::Events) =>
            {
                Err(incomplete())
            }
            Err(ParseError::Invalid { .. })
                if self.stream && begins == Some(StreamStart::Lines) =>
            {
                Err(incomplete())
            }
            Err(error) => Err(AttemptFailure::unreadable(about, &error)),
        }
    }
}

/// Returns the next piece; after the provider's last event only one that arrives within a short
/// wait.
async fn next_piece(body: &mut BodyStream, complete: bool) -> Result<Option<Bytes>, HttpError> {
    if !complete {
        return body.chunk().await;
    }
    tokio::time::timeout(TRAILING_WAIT, body.chunk()).await.unwrap_or(Ok(None))
}

/// Returns the target of a redirect, for messages.
fn target(head: &Head) -> String {
    let location = head.header("location").unwrap_or_default();
    let url = Url::parse(&head.final_url).and_then(|from| from.join(location));
    url.map_or_else(|_| "an invalid URL".to_owned(), |url| display_url(&url))
}

/// Returns the last error object among the events or lines of an answer, or the answer itself if it
/// is one.
fn last_error(tail: &[u8]) -> Option<ErrorBody> {
    let text = String::from_utf8_lossy(tail);
    let whole = std::iter::once(text.trim());
    let lines = text.lines().rev().map(|line| {
        let line = line.trim();
        line.strip_prefix("data:").map_or(line, str::trim)
    });
    whole.chain(lines).find_map(|json| {
        let value = serde_json::from_str(json).ok()?;
        let is_error = crate::parse_error::provider_error(&value).is_some()
            || ["/response/error", "/choices/0/error"]
                .iter()
                .any(|at| value.pointer(at).is_some_and(serde_json::Value::is_object));
        is_error.then(|| ErrorBody::from_json(&value))
    })
}

/// Framing of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamStart {
    /// Server-sent events.
    Events,
    /// Lines of JSON.
    Lines,
}

/// Returns whether this is an incomplete JSON text.
fn ends_early(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    bytes.starts_with(b"{")
        && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_err_and(|error| error.is_eof())
}

fn begins_as_stream(bytes: &[u8]) -> Option<StreamStart> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let events: [&[u8]; 5] = [b"data:", b"event:", b":", b"id:", b"retry:"];
    if events.iter().any(|begin| bytes.starts_with(begin)) {
        Some(StreamStart::Events)
    } else {
        bytes.starts_with(b"{").then_some(StreamStart::Lines)
    }
}
