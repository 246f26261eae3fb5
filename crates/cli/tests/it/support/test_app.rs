//! A small real app on a free port of this machine: it speaks the protocol of apps with an HMAC
//! key, and misbehaves where a test wants it to.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac};
use serde_json::{Value, json};

use super::DaemonProcess;

/// How the app answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Manner {
    Good,
    /// Redirects every request to this address.
    Redirect(String),
    /// Sends no signature, as a program that took the port over.
    Unsigned,
    /// Signs with another key.
    WrongKey,
    /// Signs for the first nonce it ever saw, as a recorded answer would be.
    Recorded,
    /// Waits this long.
    Slow(Duration),
    /// Answers with this many bytes.
    Oversize(usize),
    /// Announces a longer body than it sends.
    LyingLength,
    /// Closes the connection after the request to `/execute`.
    Disappears,
    /// Answers `/execute` with a text that is not JSON.
    NotJson,
}

/// A request that the app has seen.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> String {
        let found = self.headers.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    }
}

struct State {
    manner: Manner,
    tools: Value,
    answer: Value,
    seen: Vec<Seen>,
    first_nonce: Option<String>,
}

/// A running app.
#[derive(Clone)]
pub(crate) struct TestApp {
    pub(crate) port: u16,
    /// Its secret, in base64.
    pub(crate) key: String,
    state: Arc<Mutex<State>>,
}

impl TestApp {
    /// Starts an app with one tool, `look`.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let tools = json!([{"name": "look", "description": "Look at it.", "risk": "safe"}]);
        let state = State {
            manner: Manner::Good,
            tools,
            answer: json!({"text": "seen"}),
            seen: Vec::new(),
            first_nonce: None,
        };
        let key = STANDARD.encode(digest::digest(&digest::SHA256, &unique().to_be_bytes()));
        let app = Self { port, key, state: Arc::new(Mutex::new(state)) };
        let me = app.clone();
        // The thread ends with the process of the tests.
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let me = me.clone();
                thread::spawn(move || me.serve(stream));
            }
        });
        app
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn behave(&self, manner: Manner) {
        self.state.lock().unwrap().manner = manner;
    }

    pub(crate) fn offer(&self, tools: Value) {
        self.state.lock().unwrap().tools = tools;
    }

    pub(crate) fn answer_with(&self, answer: Value) {
        self.state.lock().unwrap().answer = answer;
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.lock().unwrap().seen.clone()
    }

    /// Returns the body of its claim.
    pub(crate) fn claim(&self, code: &str, name: &str) -> Value {
        let tools = self.state.lock().unwrap().tools.clone();
        json!({
            "code": code, "name": name, "address": self.address(), "key": {"hmac": self.key},
            "capabilities": tools, "signals": ["moved"],
        })
    }

    /// Sends a signed request to the daemon.
    pub(crate) fn post(&self, daemon: &DaemonProcess, path: &str, body: &Value) -> (u16, Value) {
        Signed::new(&self.key, path, body).send(daemon)
    }

    fn serve(&self, mut stream: TcpStream) {
        let Some(seen) = read_request(&stream) else { return };
        let nonce = seen.header("x-toolcrib-nonce");
        let (manner, body) = {
            let mut state = self.state.lock().unwrap();
            state.first_nonce.get_or_insert_with(|| nonce.clone());
            state.seen.push(seen.clone());
            let body = match seen.path.as_str() {
                "/health" => json!({"status": "ok", "name": "test", "version": "1"}),
                "/capabilities" => state.tools.clone(),
                _ => state.answer.clone(),
            };
            (state.manner.clone(), body.to_string())
        };
        let is_call = seen.path == "/execute";
        let mut body = body;
        let mut signed_nonce = nonce;
        let mut key = self.key.clone();
        let mut length = None;
        match manner {
            Manner::Redirect(to) => {
                let head = format!(
                    "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
                let _ = stream.write_all(head.as_bytes());
                return;
            }
            Manner::WrongKey => key = STANDARD.encode([9_u8; 32]),
            Manner::Recorded => {
                signed_nonce = self.state.lock().unwrap().first_nonce.clone().unwrap_or_default();
            }
            Manner::Slow(time) => thread::sleep(time),
            Manner::Oversize(bytes) => body = format!("\"{}\"", "x".repeat(bytes)),
            Manner::LyingLength => length = Some(body.len() + 1_000),
            Manner::Disappears if is_call => return,
            Manner::NotJson if is_call => body = "<html>".to_owned(),
            Manner::Good | Manner::Unsigned | Manner::Disappears | Manner::NotJson => {}
        }
        let text = format!("toolcrib-response-v1\n200\n{signed_nonce}\n{}", sha(&body));
        let signature = match self.state.lock().unwrap().manner {
            Manner::Unsigned => String::new(),
            _ => format!("X-Toolcrib-Signature: {}\r\n", sign(&key, &text)),
        };
        let length = length.unwrap_or(body.len());
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{signature}Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(body.as_bytes());
    }
}

/// A signed request to the daemon, which a test may damage before it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Signed {
    pub(crate) path: String,
    pub(crate) body: String,
    pub(crate) timestamp: String,
    pub(crate) nonce: String,
    pub(crate) signature: String,
    pub(crate) more: String,
}

impl Signed {
    pub(crate) fn new(key: &str, path: &str, body: &Value) -> Self {
        Self::at(key, path, body, 0)
    }

    /// Signs with a clock that is wrong by some seconds.
    pub(crate) fn at(key: &str, path: &str, body: &Value, skew: i64) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let timestamp = (i64::try_from(now).unwrap() + skew).to_string();
        let nonce = format!("nonce-{:032x}", unique());
        let (path, body) = (format!("/api/v1/{path}"), body.to_string());
        let text =
            format!("toolcrib-request-v1\nPOST\n{path}\n{timestamp}\n{nonce}\n{}", sha(&body));
        let signature = sign(key, &text);
        Self { path, body, timestamp, nonce, signature, more: String::new() }
    }

    /// Sends it; the status and the JSON of the answer.
    pub(crate) fn send(&self, daemon: &DaemonProcess) -> (u16, Value) {
        let Self { path, body, timestamp, nonce, signature, more } = self;
        let answer = daemon.raw(&format!(
            "POST {path} HTTP/1.1\r\nHost: {{host}}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\nX-Toolcrib-Timestamp: {timestamp}\r\nX-Toolcrib-Nonce: {nonce}\r\nX-Toolcrib-Signature: {signature}\r\n{more}\r\n{body}",
            body.len()
        ));
        parse_answer(&answer)
    }
}

/// Returns status and JSON of a raw answer.
pub(crate) fn parse_answer(answer: &str) -> (u16, Value) {
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let text = answer.split_once("\r\n\r\n").map_or("", |(_, text)| text);
    let text = text.find(['{', '[']).map_or("", |start| &text[start..]);
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    (status, values.next().and_then(Result::ok).unwrap_or_default())
}

fn read_request(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Seen { method, path, headers, body: String::from_utf8(body).ok()? })
}

/// Signs a text with a secret in base64.
pub(crate) fn sign(key: &str, text: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &STANDARD.decode(key).unwrap());
    STANDARD.encode(hmac::sign(&key, text.as_bytes()))
}

fn sha(body: &str) -> String {
    let hash = digest::digest(&digest::SHA256, body.as_bytes());
    hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unique() -> u128 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    (nanos << 20) + u128::from(COUNT.fetch_add(1, Ordering::Relaxed))
}
