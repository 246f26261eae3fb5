//! One attempt: a request, and its answer read to the end.
#![deny(clippy::indexing_slicing)]

use std::time::Duration;

use toolcrib_net::{BodyStream, Bytes, Head, HttpError, Limits, Method, Streaming};
use url::Url;

use super::address::shown;
use super::endpoint::Shared;
use super::explain::About;
use super::failure::Failure;
use super::retry::retry_after;
use super::said::Said;
use crate::error::ParseError;
use crate::format::Format;
use crate::model::DeltaSink;
use crate::turn::{Stop, Turn};
use crate::watch::{MAX_ANSWER, Watcher};

/// How long the connection's end is awaited after the provider's last word, so that the connection can be used again.
const LINGER: Duration = Duration::from_millis(250);
/// Longest time to connect (the same for every client of the project, SPEC 1.9).
const CONNECT: Duration = toolcrib_net::CONNECT_TIMEOUT;
/// Bytes of a refusal that are read.
const MAX_REFUSAL: usize = 64 * 1024;
/// Bytes at the end of an answer in which an error event is looked for.
const TAIL: usize = 32 * 1024;

/// What one attempt sends.
pub(super) struct Attempt<'a> {
    pub(super) shared: &'a Shared,
    pub(super) about: About<'a>,
    pub(super) url: &'a str,
    pub(super) body: Bytes,
    pub(super) stream: bool,
    pub(super) format: Format,
    pub(super) text_tools: bool,
    /// Time that is left of the whole request.
    pub(super) left: Duration,
}

impl Attempt<'_> {
    /// Sends the request and reads the answer.
    pub(super) async fn run(&self, deltas: DeltaSink<'_>) -> Result<Turn, Failure> {
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
        let Streaming { head, body } = sent.map_err(|error| Failure::http(&self.about, &error))?;
        match head.status {
            200..300 => self.read(body, deltas).await,
            300..400 => Err(Failure::redirected(&self.about, head.status, &target(&head))),
            _ => Err(self.refused(&head, body).await),
        }
    }

    fn accept(&self) -> &'static str {
        match self.stream {
            true if self.shared.settings.kind.streams_lines() => "application/x-ndjson",
            true => "text/event-stream",
            false => "application/json",
        }
    }

    async fn refused(&self, head: &Head, mut body: BodyStream) -> Failure {
        let mut bytes = Vec::new();
        // What has come of a refusal is enough; that it broke off is no news.
        while let Ok(Some(piece)) = body.chunk().await {
            bytes.extend_from_slice(&piece);
            if bytes.len() >= MAX_REFUSAL {
                break;
            }
        }
        let mut failure = Failure::said(&self.about, Some(head.status), &Said::read(&bytes));
        let wall = self.shared.settings.clock.wall();
        failure.retry_after = retry_after(head, wall).or(failure.retry_after);
        failure
    }

    async fn read(&self, mut body: BodyStream, deltas: DeltaSink<'_>) -> Result<Turn, Failure> {
        let mut watcher = Watcher::new(self.format, self.text_tools);
        let broke = loop {
            match next_piece(&mut body, watcher.is_complete_hint()).await {
                Ok(Some(piece)) => watcher.feed(&piece, &mut *deltas),
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
            if watcher.is_full() {
                return Err(Failure::too_large(&self.about));
            }
        };
        if body.cut().is_some() {
            return Err(Failure::too_large(&self.about));
        }
        self.judge(watcher, broke.as_ref())
    }

    /// The turn, if it came whole: then it does not matter how the connection ended.
    fn judge(&self, watcher: Watcher, broke: Option<&HttpError>) -> Result<Turn, Failure> {
        let bytes = watcher.bytes();
        let tail = bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default().to_vec();
        let begins = begins_as_stream(bytes);
        let ends_early = !self.stream && ends_early(bytes);
        let about = &self.about;
        let incomplete =
            || broke.map_or_else(|| Failure::cut(about), |error| Failure::http(about, error));
        match watcher.finish() {
            Ok(turn) if turn.complete => Ok(turn),
            Ok(turn) => {
                let said = last_error(&tail).or_else(|| match &turn.stop {
                    Stop::Failed(words) => Some(Said::parsed("", words)),
                    _ => None,
                });
                Err(said.map_or_else(incomplete, |said| Failure::said(about, None, &said)))
            }
            Err(ParseError::Provider { kind, message }) => {
                let said = last_error(&tail).unwrap_or_else(|| Said::parsed(&kind, &message));
                Err(Failure::said(about, None, &said))
            }
            Err(_) if broke.is_some() => Err(incomplete()),
            Err(ParseError::Empty) => Err(incomplete()),
            Err(_) if ends_early => Err(incomplete()),
            // Events without an answer, or half a line of one.
            Err(ParseError::Invalid { .. } | ParseError::Unrecognised { .. })
                if self.stream && begins == Some(Begin::Events) =>
            {
                Err(incomplete())
            }
            Err(ParseError::Invalid { .. }) if self.stream && begins == Some(Begin::Lines) => {
                Err(incomplete())
            }
            Err(error) => Err(Failure::unreadable(about, &error)),
        }
    }
}

/// The next piece; after the provider's last word only what comes at once.
async fn next_piece(body: &mut BodyStream, complete: bool) -> Result<Option<Bytes>, HttpError> {
    if !complete {
        return body.chunk().await;
    }
    tokio::time::timeout(LINGER, body.chunk()).await.unwrap_or(Ok(None))
}

/// Where a redirect leads, for people.
fn target(head: &Head) -> String {
    let location = head.header("location").unwrap_or_default();
    let url = Url::parse(&head.final_url).and_then(|from| from.join(location));
    url.map_or_else(|_| "a place that is no URL".to_owned(), |url| shown(&url))
}

/// The last error object among the events or lines of an answer, or the answer itself where it is one.
fn last_error(tail: &[u8]) -> Option<Said> {
    let text = String::from_utf8_lossy(tail);
    let whole = std::iter::once(text.trim());
    let lines = text.lines().rev().map(|line| {
        let line = line.trim();
        line.strip_prefix("data:").map_or(line, str::trim)
    });
    whole.chain(lines).find_map(|json| {
        let value = serde_json::from_str(json).ok()?;
        let is_error = crate::error::provider_error(&value).is_some()
            || ["/response/error", "/choices/0/error"]
                .iter()
                .any(|at| value.pointer(at).is_some_and(serde_json::Value::is_object));
        is_error.then(|| Said::of(&value))
    })
}

/// How a stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begin {
    /// As server-sent events.
    Events,
    /// As lines of JSON.
    Lines,
}

/// Whether this is the beginning of a JSON text, and no more.
fn ends_early(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    bytes.starts_with(b"{")
        && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_err_and(|error| error.is_eof())
}

fn begins_as_stream(bytes: &[u8]) -> Option<Begin> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let events: [&[u8]; 5] = [b"data:", b"event:", b":", b"id:", b"retry:"];
    if events.iter().any(|begin| bytes.starts_with(begin)) {
        Some(Begin::Events)
    } else {
        bytes.starts_with(b"{").then_some(Begin::Lines)
    }
}
