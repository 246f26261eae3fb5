//! Reads a stream of server-sent events.

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::{Method, StatusCode, header};
use serde_json::Value;

use super::Client;

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// An open stream.
pub(crate) struct Events {
    body: Incoming,
    text: String,
}

impl Events {
    /// Opens a stream, after the event of this id if there is one.
    pub(crate) async fn open(client: &Client, path: &str, last: Option<&str>) -> Self {
        let client = match last {
            Some(last) => client.clone().with("last-event-id", last),
            None => client.clone(),
        };
        let response = client.open(Method::GET, path, None).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
        Self { body: response.into_body(), text: String::new() }
    }

    /// Reads the response of a request that was sent in another way.
    pub(crate) fn of(body: Incoming) -> Self {
        Self { body, text: String::new() }
    }

    /// Returns the next event; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let event = parsed(block);
                self.text = rest.to_owned();
                if let Some(event) = event {
                    return Some(event);
                }
                continue;
            }
            let frame = self.body.frame().await?.ok()?;
            if let Some(data) = frame.data_ref() {
                self.text += std::str::from_utf8(data).unwrap();
            }
        }
    }

    /// Returns the next event of this name and skips events before it.
    pub(crate) async fn until(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().await.unwrap_or_else(|| panic!("no {name} came"));
            if event.name == name {
                return event;
            }
        }
    }

    /// Returns all events until the stream ends.
    pub(crate) async fn rest(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

/// Parses a block of lines; `None` for a comment or a retry time.
fn parsed(block: &str) -> Option<Event> {
    let field = |name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.map(str::to_owned)
    };
    let data = serde_json::from_str(&field("data")?).unwrap();
    Some(Event { id: field("id").unwrap(), name: field("event").unwrap(), data })
}
