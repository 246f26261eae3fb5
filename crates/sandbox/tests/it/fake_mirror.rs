//! Fake mirror on loopback: serves files under the paths of a real mirror, correctly or with
//! failures.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Behavior for an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Serves it, including ranges.
    Good,
    /// Responds 404.
    Missing,
    /// Serves other content of the same length.
    Wrong,
    /// Declares the length, and breaks off after this many bytes of the requested range.
    Cut(usize),
    /// The same without range support: it always begins at the start.
    CutAndForgetful(usize),
    /// Serves it with a content encoding.
    Encoded,
    /// Closes the connection.
    Silent,
}

type Files = HashMap<String, Vec<u8>>;

/// A mirror; stops when dropped.
pub(crate) struct Mirror {
    addr: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    files: Mutex<Files>,
    way: Mutex<Option<Way>>,
    seen: Mutex<Vec<String>>,
}

impl Mirror {
    pub(crate) async fn start(way: Way) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        *shared.way.lock().unwrap() = Some(way);
        let serving = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&serving)));
            }
        });
        Self { addr, shared, task }
    }

    /// Returns the URL as in a list of mirrors.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/alpine", self.addr)
    }

    /// Returns the entry for the allow list of private addresses.
    pub(crate) fn entry(&self) -> String {
        self.addr.to_string()
    }

    pub(crate) fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.shared.files.lock().unwrap().insert(format!("/alpine/{path}"), bytes.into());
    }

    pub(crate) fn behave(&self, way: Way) {
        *self.shared.way.lock().unwrap() = Some(way);
    }

    /// Returns the received requests: the path, and the range if any.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.shared.seen.lock().unwrap().clone()
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(count) => head.extend_from_slice(&buffer[..count]),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let range = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("range").then(|| value.to_owned())
    });
    let line = range.as_ref().map_or(path.clone(), |range| format!("{path} {range}"));
    shared.seen.lock().unwrap().push(line);
    let way = shared.way.lock().unwrap().unwrap_or(Way::Good);
    let file = shared.files.lock().unwrap().get(&path).cloned();
    let _ = stream.write_all(&answer(way, file, range.as_deref())).await;
    let _ = stream.shutdown().await;
}

fn answer(way: Way, file: Option<Vec<u8>>, range: Option<&str>) -> Vec<u8> {
    let from =
        range.and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
    let from: usize = from.filter(|_| !matches!(way, Way::CutAndForgetful(_))).unwrap_or(0);
    let Some(mut file) = file.filter(|_| way != Way::Missing) else {
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            .to_vec();
    };
    if way == Way::Silent {
        return Vec::new();
    }
    if way == Way::Wrong {
        file.iter_mut().for_each(|byte| *byte ^= 0x55);
    }
    let whole = file.len();
    if from >= whole {
        return b"HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            .to_vec();
    }
    let body = &file[from..];
    let (status, more) = if from > 0 {
        ("206 Partial Content", format!("Content-Range: bytes {from}-{}/{whole}\r\n", whole - 1))
    } else if way == Way::Encoded {
        ("200 OK", "Content-Encoding: gzip\r\n".to_owned())
    } else {
        ("200 OK", String::new())
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n{more}Connection: close\r\n\r\n",
        body.len()
    );
    let sent = match way {
        Way::Cut(most) | Way::CutAndForgetful(most) => &body[..most.min(body.len())],
        _ => body,
    };
    [head.as_bytes(), sent].concat()
}
