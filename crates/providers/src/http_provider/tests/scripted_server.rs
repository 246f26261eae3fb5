//! Test server: a provider on a free loopback port with scripted answers.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// How an answer ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Completely; the connection stays open.
    Whole,
    /// The connection is closed in the middle.
    Cut,
    /// No more data is sent.
    Silence,
}

/// One answer of the script.
#[derive(Clone)]
pub(super) struct Answer {
    status: u16,
    headers: String,
    body: String,
    end: End,
}

impl Answer {
    /// A whole body.
    pub(super) fn new(status: u16, body: impl Into<String>) -> Self {
        Self { status, headers: String::new(), body: body.into(), end: End::Whole }
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers += &format!("{name}: {value}\r\n");
        self
    }

    /// Closes the connection after the body, which announced more.
    pub(super) fn cut(self) -> Self {
        Self { end: End::Cut, ..self }
    }

    /// Sends nothing after the body, which announced more.
    pub(super) fn silent(self) -> Self {
        Self { end: End::Silence, ..self }
    }
}

/// A request as received.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) head: String,
    pub(super) body: String,
}

impl Seen {
    /// Method and target.
    pub(super) fn target(&self) -> String {
        let mut parts = self.head.split(' ');
        format!("{} {}", parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (own, value) = line.split_once(':')?;
            own.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).expect("a JSON body")
    }
}

#[derive(Default)]
struct State {
    script: Mutex<VecDeque<Answer>>,
    seen: Mutex<Vec<Seen>>,
    connections: AtomicUsize,
}

/// A running server; stops when dropped.
pub(super) struct Server {
    addr: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Starts a server that sends these answers in order, repeating the last one.
    pub(super) async fn start(script: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let addr = listener.local_addr().expect("address");
        let state = Arc::new(State::default());
        state.script.lock().expect("script").extend(script);
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Self { addr, state, task }
    }

    /// Its URL without a path.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().expect("seen").clone()
    }

    pub(super) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Replaces the rest of the script.
    pub(super) fn now(&self, script: impl IntoIterator<Item = Answer>) {
        *self.state.script.lock().expect("script") = script.into_iter().collect();
    }
}

async fn serve(mut stream: TcpStream, state: Arc<State>) {
    let mut bytes = Vec::new();
    while let Some(seen) = read_request(&mut stream, &mut bytes).await {
        state.seen.lock().expect("seen").push(seen);
        let answer = {
            let mut script = state.script.lock().expect("script");
            if script.len() > 1 { script.pop_front() } else { script.front().cloned() }
        };
        let answer = answer.expect("an answer in the script");
        let missing = if answer.end == End::Whole { 0 } else { 10 };
        let head = format!(
            "HTTP/1.1 {} X\r\n{}Content-Length: {}\r\n\r\n",
            answer.status,
            answer.headers,
            answer.body.len() + missing
        );
        let _ = stream.write_all(head.as_bytes()).await;
        // In pieces of a few bytes, like a slow stream.
        for piece in answer.body.as_bytes().chunks(23) {
            let _ = stream.write_all(piece).await;
            tokio::task::yield_now().await;
        }
        match answer.end {
            End::Whole => {}
            End::Cut => return,
            End::Silence => {
                let _ = stream.read(&mut [0; 1]).await;
                return;
            }
        }
    }
}

async fn read_request(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<Seen> {
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let mut seen = Seen { head, body: String::new() };
            let length: usize =
                seen.header("content-length").map_or(0, |value| value.parse().expect("length"));
            if bytes.len() >= end + 4 + length {
                let rest = bytes.split_off(end + 4 + length);
                seen.body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
                *bytes = rest;
                return Some(seen);
            }
        }
        let mut piece = [0; 8192];
        match stream.read(&mut piece).await {
            Ok(read @ 1..) => bytes.extend_from_slice(&piece[..read]),
            _ => return None,
        }
    }
}
