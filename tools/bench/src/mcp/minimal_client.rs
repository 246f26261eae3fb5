//! A client that does as little as can be: it writes a message, and waits for the one that answers
//! it. Nothing else is asked at the same time.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The revision of clients that shake hands.
const LEGACY: &str = "2025-11-25";
/// Today's.
const MODERN: &str = "2026-07-28";

/// A server and the way to it. Dropped, the server ends.
pub(super) struct Server {
    child: Child,
    way: Transport,
    number: u64,
}

enum Transport {
    Pipes { input: ChildStdin, output: BufReader<ChildStdout>, line: Vec<u8> },
    Http { stream: TcpStream, head: String, buffer: Vec<u8>, _output: BufReader<ChildStdout> },
}

/// A program of ours: where its files are, and what it keeps in memory alone.
pub(super) fn program(path: &Path, words: &[&str], home: &Path, in_memory: bool) -> Command {
    let mut command = Command::new(path);
    command.args(words).current_dir(home.join("work"));
    command.env("TOOLCRIB_HOME", home.join("home")).env("TZ", "UTC").stderr(Stdio::null());
    if in_memory {
        command.env("TOOLCRIB_DATABASE_URL", "memory:");
    }
    command
}

impl Server {
    /// One that speaks over its input and output.
    pub(super) fn over_pipes(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a program");
        let input = child.stdin.take().expect("its input");
        let output = BufReader::with_capacity(1 << 20, child.stdout.take().expect("its output"));
        let way = Transport::Pipes { input, output, line: Vec::new() };
        let mut server = Self { child, way, number: 0 };
        let hello = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}});
        server.request("initialize", hello);
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        if let Transport::Pipes { input, .. } = &mut server.way {
            writeln!(input, "{done}").expect("a message that is sent");
        }
        server
    }

    /// One that says its address in its first line, and the file of its token if there is one.
    pub(super) fn over_http(mut command: Command, path: &str) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("a program");
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        let told: Value = serde_json::from_str(&line).expect("where it is");
        let address = told["url"].as_str().unwrap_or_default().trim_start_matches("http://");
        let token =
            told["token_file"].as_str().map(|file| std::fs::read_to_string(file).expect("a token"));
        let token = token.map_or_else(String::new, |token| {
            format!("Authorization: Bearer {}\r\n", token.trim())
        });
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\n{token}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: {MODERN}\r\n"
        );
        let way = Transport::Http { stream, head, buffer: Vec::new(), _output: output };
        Self { child, way, number: 0 }
    }

    /// Asks, and waits for the answer: how many bytes it has, with what is around it.
    pub(super) fn request(&mut self, method: &str, params: Value) -> usize {
        self.number += 1;
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let mut params = params;
        if matches!(self.way, Transport::Http { .. }) {
            params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"}});
        }
        let number = self.number;
        let message = json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params});
        match &mut self.way {
            Transport::Pipes { input, output, line } => {
                writeln!(input, "{message}").expect("a message that is sent");
                line.clear();
                output.read_until(b'\n', line).expect("an answer")
            }
            Transport::Http { stream, head, buffer, .. } => {
                let body = message.to_string();
                let name = if name.is_empty() { name } else { format!("Mcp-Name: {name}\r\n") };
                let request = format!(
                    "{head}Mcp-Method: {method}\r\n{name}Content-Length: {}\r\n\r\n{body}",
                    body.len()
                );
                stream.write_all(request.as_bytes()).expect("a request that is sent");
                buffer.clear();
                read_whole(stream, buffer)
            }
        }
    }

    /// Asks, and looks whether the answer is a result.
    pub(super) fn checked(&mut self, method: &str, params: Value) {
        self.request(method, params);
        let text = match &self.way {
            Transport::Pipes { line, .. } => String::from_utf8_lossy(line),
            Transport::Http { buffer, .. } => String::from_utf8_lossy(buffer),
        };
        let good = text.contains("\"result\"") && !text.contains("\"isError\":true");
        assert!(good, "{}", text.chars().take(1000).collect::<String>());
    }

    /// Its peak memory in MB.
    pub(super) fn peak_mb(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
        let kb = line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok());
        kb.unwrap_or(f64::NAN) / 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads one answer: as long as it says, or to the end of its last chunk.
fn read_whole(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> usize {
    let mut piece = [0; 1 << 16];
    let mut head = None;
    loop {
        let read = stream.read(&mut piece).expect("an answer");
        assert!(read > 0, "the server closed the connection");
        buffer.extend_from_slice(&piece[..read]);
        if head.is_none() {
            head = ends_at(buffer);
        }
        let Some((at, length)) = head else { continue };
        let is_whole = match length {
            Some(length) => buffer.len() >= at + length,
            None => buffer.ends_with(b"\r\n0\r\n\r\n"),
        };
        if is_whole {
            return buffer.len();
        }
    }
}

/// Where the body begins, and how long it is if that is said.
fn ends_at(buffer: &[u8]) -> Option<(usize, Option<usize>)> {
    let at = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&buffer[..at]).to_ascii_lowercase();
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    Some((at, length))
}
