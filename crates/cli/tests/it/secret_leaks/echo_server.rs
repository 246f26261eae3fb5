//! A web server that repeats its configured text and every request.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use serde_json::json;

/// The running server, which ends when this is dropped.
pub(super) struct Page {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Page {
    pub(super) fn start(text: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, text) = (Arc::clone(&stop), text.to_owned());
        let thread = thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                // A client that disconnects in the middle is not a failure.
                let _ = answer(&stream, &text);
            }
        });
        Self { address, stop, thread: Some(thread) }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn target(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for the next client.
        let woken = TcpStream::connect(self.address).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

fn answer(mut stream: &TcpStream, text: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let (mut length, mut headers) = (0, String::new());
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? <= 2 {
            break;
        }
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        headers += &header;
    }
    let mut sent = vec![0; length];
    reader.read_exact(&mut sent)?;
    let path = request.split(' ').nth(1).unwrap_or_default();
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    let (status, kind, body) = match path.split('?').next().unwrap_or_default() {
        "/text" => ("200 OK", "text/plain", text.to_owned()),
        "/json" => (
            "200 OK",
            "application/json",
            json!({"all": text.lines().collect::<Vec<_>>()}).to_string(),
        ),
        "/html" => (
            "200 OK",
            "text/html",
            format!("<html><body><pre>{escaped}</pre><p>{escaped}</p></body></html>"),
        ),
        "/headers" => ("200 OK", "text/plain", "see the headers".to_owned()),
        "/echo" => (
            "200 OK",
            "text/plain",
            format!("{request}{headers}{}", String::from_utf8_lossy(&sent)),
        ),
        _ => ("404 Not Found", "text/plain", format!("there is no {path}: {text}")),
    };
    let more: String = text
        .lines()
        .filter(|line| {
            path == "/headers" && line.len() < 100 && line.bytes().all(|b| b.is_ascii_graphic())
        })
        .enumerate()
        .map(|(n, line)| format!("x-secret-{n}: {line}\r\n"))
        .collect();
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{more}content-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )?;
    stream.flush()
}
