//! One kept connection that sends JSON and reads JSON: as little work as can be, so that it is the
//! daemon that is measured.

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub(super) struct Connection {
    stream: TcpStream,
    head: String,
    buffer: Vec<u8>,
}

impl Connection {
    pub(super) async fn open(address: &str, token: &str) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        let head = format!(
            "Host: {address}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        );
        Self { stream, head, buffer: Vec::new() }
    }

    /// Sends a body, and waits for the status and the body of the answer.
    pub(super) async fn post(&mut self, path: &str, body: &Value) -> (u16, Value) {
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\n{}Content-Length: {}\r\n\r\n{body}",
            self.head,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await.expect("a request that is sent");
        self.buffer.clear();
        loop {
            if let Some(answer) = self.whole() {
                return answer;
            }
            let mut piece = [0; 4096];
            let read = self.stream.read(&mut piece).await.expect("an answer");
            assert!(read > 0, "the daemon closed the connection");
            self.buffer.extend_from_slice(&piece[..read]);
        }
    }

    fn whole(&self) -> Option<(u16, Value)> {
        let text = std::str::from_utf8(&self.buffer).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.get(9..12)?.parse().ok()?;
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse::<usize>().ok())?
        })?;
        (body.len() >= length).then(|| (status, serde_json::from_str(body).unwrap_or_default()))
    }
}
