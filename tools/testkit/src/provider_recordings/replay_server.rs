//! A server on loopback that plays the exchanges of a scenario in order and compares what it is
//! sent.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::io::{BufReader, BufWriter};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use super::http1::{self, Request};
use super::json_match::differences;
use super::scenarios::{Exchange, Response, Stream};

/// One request as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedRequest {
    /// HTTP method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers; names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body; null when it is no JSON.
    pub body: Value,
}

#[derive(Debug, Default)]
struct State {
    exchanges: Vec<Exchange>,
    received: Vec<ReceivedRequest>,
    mismatches: Vec<String>,
}

/// The server; it stops when it is dropped.
#[derive(Debug)]
pub struct ReplayServer {
    addr: SocketAddr,
    state: Arc<Mutex<State>>,
    accepting: AbortHandle,
}

impl Drop for ReplayServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl ReplayServer {
    /// Listens on a free port of loopback. Exchanges are served one after the other, whatever is
    /// posted; what does not fit is noted. A `GET`, with which clients look for the names of
    /// models, is none of them: there is nothing to get.
    ///
    /// # Errors
    /// When there is no port.
    pub async fn start(exchanges: Vec<Exchange>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let addr = listener.local_addr()?;
        let state = Arc::new(Mutex::new(State { exchanges, ..State::default() }));
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state))).abort_handle();
        Ok(Self { addr, state, accepting })
    }

    /// `http://127.0.0.1:PORT`, without a slash at its end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Address and port.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The requests so far.
    #[must_use]
    pub fn received(&self) -> Vec<ReceivedRequest> {
        lock(&self.state).received.clone()
    }

    /// What did not fit: differences in requests, requests beyond the last exchange, and exchanges
    /// that no request used.
    #[must_use]
    pub fn mismatches(&self) -> Vec<String> {
        let state = lock(&self.state);
        let mut all = state.mismatches.clone();
        let (asked, known) = (state.received.len(), state.exchanges.len());
        if asked < known {
            all.push(format!("only {asked} of {known} requests came"));
        }
        all
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, state: Arc<Mutex<State>>) {
    // Dropped with this task, and with it every connection.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, Arc::clone(&state)));
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(mut stream: TcpStream, state: Arc<Mutex<State>>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (reader, writer) = stream.split();
    let (mut reader, mut writer) = (BufReader::new(reader), BufWriter::new(writer));
    while let Some(request) = http1::read(&mut reader).await? {
        let response = answer(&mut lock(&state), request);
        if !http1::write(&mut writer, &response).await? {
            break;
        }
    }
    Ok(())
}

fn answer(state: &mut State, request: Request) -> Response {
    if request.method == "GET" {
        return error(404, "there is nothing to get");
    }
    let number = state.received.len();
    let body = serde_json::from_slice(&request.body).unwrap_or_default();
    let Request { method, path, headers, .. } = request;
    let received = ReceivedRequest { method, path, headers, body };
    let response = match state.exchanges.get(number) {
        Some(exchange) => {
            let found = mismatches_of(exchange, &received);
            let lines = found.into_iter().map(|line| format!("request {}: {line}", number + 1));
            state.mismatches.extend(lines);
            exchange.respond.clone()
        }
        None => {
            let (asked, known) = (number + 1, state.exchanges.len());
            let last = received.body.to_string();
            let last: String = last.chars().take(2000).collect();
            state.mismatches.push(format!("request {asked}, but there are only {known}: {last}"));
            // One that is not worth another attempt.
            error(400, "the scenario is over")
        }
    };
    state.received.push(received);
    response
}

fn mismatches_of(exchange: &Exchange, received: &ReceivedRequest) -> Vec<String> {
    let mut found = Vec::new();
    if received.method != "POST" || received.path != exchange.path {
        let (method, path) = (&received.method, &received.path);
        found.push(format!("{method} {path}\n    expected POST {}", exchange.path));
    }
    let headers = differences(&exchange.headers, &json!(received.headers));
    found.extend(headers.into_iter().map(|line| format!("header {line}")));
    for expected in &exchange.expect {
        found.extend(differences(expected, &received.body));
    }
    found
}

fn error(status: u16, message: &str) -> Response {
    let body = json!({"error": {"message": message, "type": "invalid_request_error"}});
    Response {
        status,
        headers: [("content-type".to_owned(), "application/json".to_owned())].into(),
        body: body.to_string().into_bytes(),
        events: Vec::new(),
        stream: Stream::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    fn exchange(expect: Value, body: &str, stream: Stream) -> Exchange {
        Exchange {
            expect: vec![expect],
            path: "/p?q=1".to_owned(),
            headers: json!({"authorization": {"$contains": "key"}}),
            respond: Response {
                status: 200,
                headers: BTreeMap::new(),
                body: body.as_bytes().to_vec(),
                events: Vec::new(),
                stream,
            },
        }
    }

    async fn ask(stream: &mut TcpStream, path: &str, body: &str) {
        let request = format!(
            "POST {path} HTTP/1.1\r\nAuthorization: a key\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
    }

    async fn read_until(stream: &mut TcpStream, end: &str) -> String {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            text.push(stream.read_u8().await.unwrap());
        }
        String::from_utf8(text).unwrap()
    }

    #[tokio::test]
    async fn exchanges_are_played_in_order_over_one_connection() {
        let pieces =
            Stream { chunks: Some(2), delay: Duration::from_millis(1), ..Stream::default() };
        let server = ReplayServer::start(vec![
            exchange(json!({"a": 1}), "hello", pieces),
            exchange(json!({"a": 2}), "again", Stream::default()),
            exchange(json!({}), "cut here", Stream { cut_after: Some(3), ..pieces }),
            exchange(json!({}), "never asked for", Stream::default()),
        ])
        .await
        .unwrap();
        let mut stream = TcpStream::connect(server.addr()).await.unwrap();
        ask(&mut stream, "/p?q=1", r#"{"a":1,"b":2}"#).await;
        let first = read_until(&mut stream, "0\r\n\r\n").await;
        assert!(first.starts_with("HTTP/1.1 200"), "{first}");
        assert!(first.ends_with("2\r\nhe\r\n2\r\nll\r\n1\r\no\r\n0\r\n\r\n"), "{first}");
        assert_eq!(server.mismatches(), ["only 1 of 4 requests came"]);

        ask(&mut stream, "/other", r#"{"a":3}"#).await;
        let second = read_until(&mut stream, "again").await;
        assert!(second.contains("content-length: 5\r\n\r\n"), "{second}");
        ask(&mut stream, "/p?q=1", "{}").await;
        let mut rest = String::new();
        stream.read_to_string(&mut rest).await.unwrap();
        assert!(rest.ends_with("2\r\ncu\r\n1\r\nt\r\n"), "{rest}");
        let found = server.mismatches();
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], "request 2: POST /other\n    expected POST /p?q=1");
        assert_eq!(found[1], "request 2: /a: 3\n    expected 2");
        assert_eq!(server.received()[0].body, json!({"a": 1, "b": 2}));
    }

    #[tokio::test]
    async fn a_request_too_many_is_noted() {
        let server = ReplayServer::start(Vec::new()).await.unwrap();
        let mut stream = TcpStream::connect(server.addr()).await.unwrap();
        ask(&mut stream, "/p", "{}").await;
        let text = read_until(&mut stream, "\r\n\r\n").await;
        assert!(text.starts_with("HTTP/1.1 400"), "{text}");
        assert!(server.mismatches()[0].contains("there are only 0"));
    }
}
