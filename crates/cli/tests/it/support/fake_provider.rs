//! A provider's server on a free port of this machine: it sends the given responses in order, and
//! records its requests.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

/// A response.
pub(crate) struct Reply {
    status: u16,
    media_type: &'static str,
    body: String,
}

impl Reply {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self { status, media_type: "application/json", body: body.to_string() }
    }

    /// Returns a complete response of Chat Completions with this text.
    pub(crate) fn says(text: &str) -> Self {
        Self::chat(&json!({"role": "assistant", "content": text}), "stop")
    }

    /// Returns a complete response of Chat Completions that calls a tool.
    pub(crate) fn calls(tool: &str, args: &Value) -> Self {
        let function = json!({"name": tool, "arguments": args.to_string()});
        let calls = json!([{"id": "call_1", "type": "function", "function": function}]);
        let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
        Self::chat(&message, "tool_calls")
    }

    fn chat(message: &Value, reason: &str) -> Self {
        let choice = json!({"index": 0, "message": message, "finish_reason": reason});
        let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
        Self::json(
            200,
            &json!({"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage}),
        )
    }

    /// Returns a recorded stream.
    pub(crate) fn stream(text: String) -> Self {
        Self { status: 200, media_type: "text/event-stream", body: text }
    }
}

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) authorization: String,
    pub(crate) body: Value,
}

/// The running server, which ends when this is dropped.
pub(crate) struct Provider {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    asked: Arc<Mutex<Vec<Asked>>>,
    thread: Option<JoinHandle<()>>,
}

impl Provider {
    /// Starts a server; `replies` answer `POST` requests, and `models` answers `GET`.
    pub(crate) fn start(replies: Vec<Reply>, models: Value) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (stopped, log) = (Arc::clone(&stop), Arc::clone(&asked));
        let models = Reply::json(200, &models);
        let thread = thread::spawn(move || {
            let mut replies = replies.into_iter();
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                // A client that disconnects in the middle is not a failure.
                let _ = serve(&stream, &mut replies, &models, &log);
            }
        });
        Self { address, stop, asked, thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the posted requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for the next client.
        let woken = TcpStream::connect(self.address).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

fn serve(
    mut stream: &TcpStream,
    replies: &mut impl Iterator<Item = Reply>,
    models: &Reply,
    log: &Mutex<Vec<Asked>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let (mut length, mut authorization) = (0, String::new());
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? <= 2 {
            break;
        }
        let (name, value) = header.split_once(':').unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "authorization" => authorization = value.trim().to_owned(),
            _ => {}
        }
    }
    let mut sent = vec![0; length];
    reader.read_exact(&mut sent)?;
    let mut words = request.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let over = Reply::json(400, &json!({"error": {"message": "the test has no more answers"}}));
    let reply = if method == "GET" {
        models
    } else {
        let body = serde_json::from_slice(&sent).unwrap_or_default();
        log.lock().unwrap().push(Asked { path: path.to_owned(), authorization, body });
        &replies.next().unwrap_or(over)
    };
    write!(
        stream,
        "HTTP/1.1 {} X\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{}",
        reply.status,
        reply.media_type,
        reply.body.len(),
        reply.body
    )?;
    stream.flush()
}
