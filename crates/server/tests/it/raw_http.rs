//! Raw bytes on a socket, without an HTTP library: the tests send exactly these bytes.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

/// Timeout of expected events, sufficient for slow machines.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for an expected event, with the timeout.
pub(crate) async fn within<T>(what: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, what).await {
        Ok(came) => came,
        Err(_) => panic!("it did not come"),
    }
}

/// The received bytes until the other side closed.
#[derive(Debug)]
pub(crate) struct Came {
    pub(crate) text: String,
}

impl Came {
    /// Returns the statuses of all responses.
    pub(crate) fn statuses(&self) -> Vec<u16> {
        let heads = self.text.match_indices("HTTP/1.1 ").map(|(at, head)| at + head.len());
        heads.filter_map(|at| self.text.get(at..at + 3)?.parse().ok()).collect()
    }

    /// Returns the code of the only response's problem.
    pub(crate) fn problem(&self) -> String {
        let body = self.text.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        let start = body.find('{').unwrap_or(0);
        let end = body.rfind('}').map_or(body.len(), |at| at + 1);
        let problem: serde_json::Value = serde_json::from_str(&body[start..end])
            .unwrap_or_else(|error| panic!("{error} in {:?}", self.text));
        problem["code"].as_str().unwrap().to_owned()
    }
}

/// Sends these bytes and reads until the other side closes.
pub(crate) async fn exchange(address: SocketAddr, bytes: impl AsRef<[u8]>) -> Came {
    over(TcpStream::connect(address).await.unwrap(), bytes).await
}

/// Like [`exchange`], on a unix socket.
pub(crate) async fn exchange_on(socket: &Path, bytes: impl AsRef<[u8]>) -> Came {
    over(UnixStream::connect(socket).await.unwrap(), bytes).await
}

/// Like [`exchange`], over any stream.
pub(crate) async fn over(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    bytes: impl AsRef<[u8]>,
) -> Came {
    // A daemon that refuses a request early closes early.
    let _ = stream.write_all(bytes.as_ref()).await;
    Came { text: rest(&mut stream).await }
}

/// Reads until the other side closes.
pub(crate) async fn rest(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut all = Vec::new();
    // A reset after the answer counts as an end.
    let ended = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut all)).await;
    let text = String::from_utf8_lossy(&all).into_owned();
    assert!(ended.is_ok(), "the connection was not closed; so far: {text:?}");
    text
}

/// Reads until the received text contains these words.
pub(crate) async fn until(stream: &mut (impl AsyncRead + Unpin), words: &str) -> String {
    let mut all = Vec::new();
    let reading = async {
        let mut buffer = [0; 4096];
        while !String::from_utf8_lossy(&all).contains(words) {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(n) => all.extend_from_slice(&buffer[..n]),
            }
        }
    };
    let _ = tokio::time::timeout(PATIENCE, reading).await;
    let text = String::from_utf8_lossy(&all).into_owned();
    assert!(text.contains(words), "{words:?} did not come: {text:?}");
    text
}

/// Builds a request with these headers and the correct Host, after which the connection closes.
pub(crate) fn request(address: SocketAddr, line: &str, headers: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n")
}
