//! A server on loopback that answers Chat Completions from a list, over kept connections, on a
//! thread of its own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

/// The server; its thread ends with the process.
pub(crate) struct FakeProvider {
    pub(crate) addr: SocketAddr,
    seen: Arc<Mutex<ReceivedRequests>>,
}

#[derive(Default)]
struct ReceivedRequests {
    served: usize,
    bodies: Vec<Vec<u8>>,
    /// When the first byte of the newest request came.
    first_byte: Option<Instant>,
}

impl FakeProvider {
    /// Serves conversations of this many calls, one a round, and then an answer; over and over.
    pub(crate) fn start(calls: usize) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let addr = listener.local_addr().expect("an address");
        let seen = Arc::new(Mutex::new(ReceivedRequests::default()));
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            let answers: Vec<[Vec<u8>; 2]> =
                (0..=calls).map(|n| answer((n < calls).then_some(n))).collect();
            let answers = Arc::new(answers);
            for stream in listener.incoming().flatten() {
                let (answers, seen) = (Arc::clone(&answers), Arc::clone(&shared));
                std::thread::spawn(move || serve(stream, &answers, &seen));
            }
        });
        Self { addr, seen }
    }

    /// The base URL as providers take it.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.addr)
    }

    /// The bodies that came since the last time.
    pub(crate) fn take_bodies(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut lock(&self.seen).bodies)
    }

    /// When the first byte of the newest request came.
    pub(crate) fn first_byte(&self) -> Option<Instant> {
        lock(&self.seen).first_byte.take()
    }
}

fn lock(seen: &Mutex<ReceivedRequests>) -> std::sync::MutexGuard<'_, ReceivedRequests> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(stream: TcpStream, answers: &[[Vec<u8>; 2]], seen: &Mutex<ReceivedRequests>) {
    let _ = stream.set_nodelay(true);
    let Ok(mut writer) = stream.try_clone() else { return };
    let mut reader = BufReader::new(stream);
    loop {
        if !reader.fill_buf().is_ok_and(|bytes| !bytes.is_empty()) {
            return;
        }
        let first_byte = Instant::now();
        let Some(body) = request(&mut reader) else { return };
        let streams = body.windows(13).any(|part| part == b"\"stream\":true");
        let answer = {
            let mut seen = lock(seen);
            seen.first_byte = Some(first_byte);
            seen.bodies.push(body);
            seen.served += 1;
            &answers[(seen.served - 1) % answers.len()]
        };
        if writer.write_all(&answer[usize::from(streams)]).is_err() {
            return;
        }
    }
}

/// The body of the next request; `None` = the client went away.
fn request(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}

/// A whole answer, and the same as a stream: one call, or the words that end the run.
fn answer(call: Option<usize>) -> [Vec<u8>; 2] {
    let args = |n: usize| json!({"query": "open invoices", "page": n}).to_string();
    let (message, deltas, finish): (Value, Vec<Value>, &str) = match call {
        Some(n) => {
            let function = json!({"name": "look", "arguments": args(n)});
            let whole =
                json!([{"id": format!("call_{n}"), "type": "function", "function": function}]);
            let begin = json!({"tool_calls": [{"index": 0, "id": format!("call_{n}"), "type": "function", "function": {"name": "look", "arguments": ""}}]});
            let text = args(n);
            let (left, right) = text.split_at(text.len() / 2);
            let piece =
                |part: &str| json!({"tool_calls": [{"index": 0, "function": {"arguments": part}}]});
            let deltas = vec![begin, piece(left), piece(right)];
            (
                json!({"role": "assistant", "content": null, "tool_calls": whole}),
                deltas,
                "tool_calls",
            )
        }
        None => {
            let deltas = ["There ", "are ", "none."].map(|word| json!({"content": word})).to_vec();
            (json!({"role": "assistant", "content": "There are none."}), deltas, "stop")
        }
    };
    let usage = json!({"prompt_tokens": 900, "completion_tokens": 30, "total_tokens": 930});
    let whole = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "bench",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage,
    });
    let event = |choices: Value, usage: &Value| {
        let event = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "bench", "choices": choices, "usage": usage});
        format!("data: {event}\n\n")
    };
    let delta = |delta: Value, finish: Value| json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
    let mut stream =
        event(delta(json!({"role": "assistant", "content": null}), Value::Null), &Value::Null);
    for piece in deltas {
        stream += &event(delta(piece, Value::Null), &Value::Null);
    }
    stream += &event(delta(json!({}), finish.into()), &Value::Null);
    stream += &event(json!([]), &usage);
    stream += "data: [DONE]\n\n";
    let head = |kind: &str, length: usize| {
        format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n")
    };
    let whole = whole.to_string();
    [
        [head("application/json", whole.len()), whole].concat().into_bytes(),
        [head("text/event-stream", stream.len()), stream].concat().into_bytes(),
    ]
}
