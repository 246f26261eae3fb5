//! As much of HTTP as is needed to ask a daemon: one request for each connection, as from clients
//! that come and go.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A daemon that does not answer for so long is paused or gone.
const LIMIT: Duration = Duration::from_secs(8);

/// Where a daemon can be asked, or could be before it died.
#[derive(Debug, Clone)]
pub(super) struct DaemonAddress {
    pub(super) address: SocketAddr,
    pub(super) token: String,
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub(super) struct HttpRequest<'a> {
    pub(super) method: &'a str,
    /// The path below `/api/v1`, with its query.
    pub(super) path: &'a str,
    /// The idempotency key.
    pub(super) key: Option<&'a str>,
    pub(super) body: Option<&'a Value>,
}

impl<'a> HttpRequest<'a> {
    pub(super) fn get(path: &'a str) -> Self {
        Self { method: "GET", path, key: None, body: None }
    }

    pub(super) fn post(path: &'a str, body: &'a Value) -> Self {
        Self { method: "POST", path, key: None, body: Some(body) }
    }

    fn text(&self, daemon: &DaemonAddress) -> String {
        let Self { method, path, .. } = self;
        let key = self.key.map(|key| format!("idempotency-key: {key}\r\n")).unwrap_or_default();
        let body = self.body.map(Value::to_string).unwrap_or_default();
        let kind = if self.body.is_some() { "content-type: application/json\r\n" } else { "" };
        format!(
            "{method} /api/v1{path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nconnection: close\r\n{key}{kind}content-length: {}\r\n\r\n{body}",
            daemon.address,
            daemon.token,
            body.len()
        )
    }
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HttpReply {
    pub(super) status: u16,
    /// Whether it says to come back later.
    pub(super) later: bool,
    pub(super) json: Value,
}

impl HttpReply {
    /// A member that is text.
    pub(super) fn word(&self, name: &str) -> Option<&str> {
        self.json.get(name).and_then(Value::as_str)
    }
}

/// Asks a daemon; after an error its outcome is unknown.
pub(super) async fn send(daemon: &DaemonAddress, ask: HttpRequest<'_>) -> io::Result<HttpReply> {
    let exchange = async {
        let mut stream = TcpStream::connect(daemon.address).await?;
        stream.write_all(ask.text(daemon).as_bytes()).await?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await?;
        io::Result::Ok(bytes)
    };
    let bytes = tokio::time::timeout(LIMIT, exchange).await??;
    read(&bytes).ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "half an answer"))
}

/// `None` = it is not whole.
fn read(bytes: &[u8]) -> Option<HttpReply> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let (mut later, mut length) = (false, None);
    for line in lines {
        let (name, value) = line.split_once(':')?;
        match name.to_ascii_lowercase().as_str() {
            "retry-after" => later = true,
            "content-length" => length = value.trim().parse::<usize>().ok(),
            _ => {}
        }
    }
    if body.len() != length? {
        return None;
    }
    Some(HttpReply { status, later, json: serde_json::from_str(body).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_answers_are_read() {
        let whole =
            "HTTP/1.1 409 Conflict\r\nRetry-After: 1\r\ncontent-length: 11\r\n\r\n{\"a\": \"bc\"}";
        let reply = read(whole.as_bytes()).unwrap();
        assert_eq!((reply.status, reply.later, reply.word("a")), (409, true, Some("bc")));
        for cut in 0..whole.len() {
            assert_eq!(read(&whole.as_bytes()[..cut]), None, "{cut}");
        }
    }
}
