//! Server-sent events: frames, ids, and the response with its headers.

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::{Stream, StreamExt as _};

/// The header with the id of the last event that the client has.
pub(crate) const LAST_EVENT_ID: &str = "last-event-id";
/// Milliseconds after which a browser reconnects when the connection fails.
const RETRY_MS: u32 = 1_000;

/// Formats one event. Serialized JSON has no line breaks, so one line of data is enough.
pub(crate) fn frame(id: &str, name: &str, data: &str) -> String {
    format!("id: {id}\nevent: {name}\ndata: {data}\n\n")
}

/// Returns a comment that keeps the connection alive.
pub(crate) fn ping() -> String {
    ": ping\n\n".to_owned()
}

/// Builds a response that streams frames.
pub(crate) fn response(frames: impl Stream<Item = String> + Send + 'static) -> Response {
    let begin = futures_util::stream::iter([format!("retry: {RETRY_MS}\n\n")]);
    let frames =
        begin.chain(frames).map(|frame| Ok::<_, std::convert::Infallible>(Bytes::from(frame)));
    let mut response = Response::new(Body::from_stream(frames));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies must not buffer the frames.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Returns the sequence number in a `Last-Event-ID`, if it belongs to this series.
pub(crate) fn last_event_seq(header: Option<&HeaderValue>, series: &str) -> Option<u64> {
    let (of, seq) = header?.to_str().ok()?.rsplit_once('-')?;
    if of == series { seq.parse().ok() } else { None }
}

/// Returns the id of an event.
pub(crate) fn event_id(series: &str, seq: u64) -> String {
    format!("{series}-{seq}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_valid_for_its_own_series_only() {
        let check = |header: &str, last: Option<u64>| {
            let header = HeaderValue::from_str(header).unwrap();
            assert_eq!(last_event_seq(Some(&header), "00ab"), last, "{header:?}");
        };
        check(&event_id("00ab", 7), Some(7));
        check("00ac-7", None);
        check("7", None);
        check("00ab--7", None);
        check("00ab-x", None);
        check("", None);
        assert_eq!(last_event_seq(None, "00ab"), None);
    }
}
