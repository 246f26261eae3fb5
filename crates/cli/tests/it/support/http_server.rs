//! A small HTTP server on a free port of this machine, for services that tests imitate.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// A request.
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) path: String,
    /// The header `Authorization`.
    pub(crate) authorization: String,
    pub(crate) body: Vec<u8>,
}

/// The running server, which ends when this is dropped.
pub(crate) struct HttpServer {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl HttpServer {
    /// Starts a server that answers each request with a status and a text; without one, it closes
    /// the connection.
    pub(crate) fn start(
        answer: impl Fn(&HttpRequest) -> Option<(u16, String)> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, answer) = (Arc::clone(&stop), Arc::new(answer));
        let thread = thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let answer = Arc::clone(&answer);
                thread::spawn(move || {
                    // A client that disconnects in the middle is not a failure.
                    let _ = serve(&stream, &*answer);
                });
            }
        });
        Self { address, stop, thread: Some(thread) }
    }
}

impl Drop for HttpServer {
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
    answer: &dyn Fn(&HttpRequest) -> Option<(u16, String)>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let (mut length, mut authorization) = (0, String::new());
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? <= 2 {
            break;
        }
        let Some((name, value)) = header.split_once(':') else { continue };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "authorization" => value.trim().clone_into(&mut authorization),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let request = HttpRequest { method, path, authorization, body };
    let Some((status, text)) = answer(&request) else { return Ok(()) };
    write!(
        stream,
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    )
}
