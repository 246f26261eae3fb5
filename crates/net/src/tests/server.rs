//! A real HTTP server on a free loopback port, scripted by each test.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The server's reaction to a request.
pub(super) enum Reply {
    /// Writes these bytes and closes.
    Bytes(Vec<u8>),
    /// Writes these bytes and then stays silent until the client disconnects.
    ThenSilence(Vec<u8>),
    /// Writes the first part, then the second one repeatedly until the client disconnects.
    Endless(Vec<u8>, Vec<u8>),
}

/// A running server; stops when dropped.
pub(super) struct Server {
    pub(super) addr: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Answers every request with `reply(request text)`.
    pub(super) async fn start(reply: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let addr = listener.local_addr().expect("address");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let reply = Arc::new(reply);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&reply), Arc::clone(&log)));
            }
        });
        Self { addr, seen, task }
    }

    /// A server with one fixed response.
    pub(super) async fn fixed(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |_| Reply::Bytes(answer.clone())).await
    }

    /// The allow-list entry that opens this server.
    pub(super) fn entry(&self) -> String {
        self.addr.to_string()
    }

    /// The received requests, head and body.
    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("log").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves one connection.
pub(super) async fn serve<S>(
    mut stream: S,
    reply: Arc<impl Fn(&str) -> Reply + Send + Sync>,
    log: Arc<Mutex<Vec<String>>>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Some(request) = read_request(&mut stream).await else { return };
    log.lock().expect("log").push(request.clone());
    let answer = reply(&request);
    let (first, repeated) = match &answer {
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(bytes).await;
            let _ = stream.shutdown().await;
            return;
        }
        Reply::ThenSilence(bytes) => (bytes, None),
        Reply::Endless(first, repeated) => (first, Some(repeated)),
    };
    let mut alive = stream.write_all(first).await.is_ok();
    while let Some(bytes) = repeated.filter(|_| alive) {
        alive = stream.write_all(bytes).await.is_ok();
    }
    let _ = stream.read(&mut [0; 1]).await;
}

async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(text.into_owned());
            }
        }
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
        }
    }
}
