//! A loopback server for unit tests that answers like a service and records its requests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use toolcrib_net::{AddressPolicy, HttpClient, StaticResolver};

/// A response of the server.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn new(status: &'static str, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("Content-Type", kind.to_owned())];
        Self { status, headers, body: body.into() }
    }

    pub(crate) fn json(body: impl Into<Vec<u8>>) -> Self {
        Self::new("200 OK", "application/json", body)
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

/// The server; it ends with the runtime of the test.
pub(crate) struct ServiceServer {
    pub(crate) addr: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl ServiceServer {
    /// Starts a server that computes each response from the text of the request: head and body.
    pub(crate) async fn start(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("port");
        let addr = listener.local_addr().expect("address");
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let (log, answer) = (Arc::clone(&seen), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                tokio::spawn(async move { serve(stream, &log, &*answer).await });
            }
        });
        Self { addr, seen }
    }

    /// Starts a server that always sends the same response.
    pub(crate) async fn with_reply(reply: Reply) -> Self {
        Self::start(move |_| reply.clone()).await
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Returns every request so far, head and body.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("log").clone()
    }
}

/// Creates a client that connects to public addresses only and resolves no name.
pub(crate) fn client() -> HttpClient {
    HttpClient::new(AddressPolicy::public_only()).with_resolver(Arc::new(StaticResolver::default()))
}

/// Answers the requests of one connection, which clients may reuse.
async fn serve(
    mut stream: TcpStream,
    log: &Mutex<Vec<String>>,
    answer: &(dyn Fn(&str) -> Reply + Sync),
) {
    let mut rest = Vec::new();
    while let Some(request) = next_request(&mut stream, &mut rest).await {
        log.lock().expect("log").push(request.clone());
        let Reply { status, headers, body } = answer(&request);
        let mut head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let answer = [head.as_bytes(), b"\r\n", &body].concat();
        if stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}

async fn next_request(stream: &mut TcpStream, rest: &mut Vec<u8>) -> Option<String> {
    let mut buffer = [0; 8192];
    loop {
        let text = String::from_utf8_lossy(rest).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
                })
                .unwrap_or(0_usize);
            if body.len() >= length {
                rest.clear();
                return Some(text);
            }
        }
        match stream.read(&mut buffer).await {
            Ok(n) if n > 0 => rest.extend_from_slice(buffer.get(..n)?),
            _ => return None,
        }
    }
}
