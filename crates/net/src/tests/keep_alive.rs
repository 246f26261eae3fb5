//! Tests of kept connections: when one is reused, when it is not, and the behavior after the peer
//! has closed it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::{AddressPolicy, HttpClient, HttpError, Limits, Method, Phase, Request, StaticResolver};

/// The server's action for one request: write these bytes, then keep or close the connection.
#[derive(Clone)]
struct Answer {
    bytes: Vec<u8>,
    close: bool,
}

fn stay(body: &str) -> Answer {
    let bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    Answer { bytes: bytes.into_bytes(), close: false }
}

/// A server that counts connections and requests. The answer depends on both numbers, which start
/// at 1; requests are numbered within their connection.
struct Server {
    addr: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn server(answer: impl Fn(usize, usize) -> Option<Answer> + Send + Sync + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let addr = listener.local_addr().expect("address");
    let (connections, requests) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counters = (Arc::clone(&connections), Arc::clone(&requests));
    let answer = Arc::new(answer);
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let number = counters.0.fetch_add(1, Ordering::SeqCst) + 1;
            let (answer, requests) = (Arc::clone(&answer), Arc::clone(&counters.1));
            tokio::spawn(async move {
                serve(stream, &requests, |request| answer(number, request)).await;
            });
        }
    });
    Server { addr, connections, requests, task }
}

async fn serve(
    mut stream: TcpStream,
    requests: &AtomicUsize,
    answer: impl Fn(usize) -> Option<Answer>,
) {
    let mut bytes = Vec::new();
    for number in 1.. {
        while !take_request(&mut bytes) {
            let mut piece = [0; 8192];
            match stream.read(&mut piece).await {
                Ok(read @ 1..) => bytes.extend_from_slice(&piece[..read]),
                _ => return,
            }
        }
        requests.fetch_add(1, Ordering::SeqCst);
        let Some(answer) = answer(number) else { return };
        // In two writes without TCP_NODELAY, like real servers.
        let (head, body) = answer.bytes.split_at(answer.bytes.len() / 2);
        let _ = stream.write_all(head).await;
        let _ = stream.write_all(body).await;
        if answer.close {
            return;
        }
    }
}

/// Removes one complete request from the bytes, if there is one.
fn take_request(bytes: &mut Vec<u8>) -> bool {
    let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let length = text.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let end = head + 4 + length.map_or(0, |length| length.parse().expect("length"));
    if bytes.len() < end {
        return false;
    }
    bytes.drain(..end);
    true
}

fn client(server: &Server) -> HttpClient {
    let policy = AddressPolicy::with_allowed([server.addr.to_string()]).expect("policy");
    HttpClient::new(policy).with_keep_alive()
}

fn post(server: &Server) -> Request {
    let mut request = Request::new(Method::POST, format!("http://{}/", server.addr));
    request.body = "{}".into();
    request
}

async fn body(client: &HttpClient, server: &Server) -> String {
    let response = client.fetch(&post(server), &Limits::default()).await.expect("response");
    String::from_utf8(response.body).expect("text")
}

/// Sends `times` requests in sequence and asserts the number of connections.
async fn check(
    answer: impl Fn(usize, usize) -> Option<Answer> + Send + Sync + 'static,
    times: usize,
    connections: usize,
) {
    let server = server(answer).await;
    let client = client(&server);
    for _ in 0..times {
        assert_eq!(body(&client, &server).await, "hi");
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), connections);
}

#[tokio::test]
async fn a_connection_is_used_again() {
    check(|_, _| Some(stay("hi")), 5, 1).await;
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    check(move |_, _| Some(Answer { bytes: chunked.into(), close: false }), 5, 1).await;
}

/// Regression: a head and a body in two writes took 40 ms on a kept connection, because the server
/// waited for a delayed acknowledgment.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn responses_in_two_pieces_do_not_wait_for_acknowledgements() {
    let server = server(|_, _| Some(stay("hi"))).await;
    let client = client(&server);
    let start = Instant::now();
    for _ in 0..50 {
        assert_eq!(body(&client, &server).await, "hi");
    }
    let took = start.elapsed();
    assert!(took < Duration::from_secs(1), "50 exchanges took {took:?}, 2 s are 50 delays");
}

#[tokio::test]
async fn a_connection_that_the_peer_ends_is_not_used_again() {
    let bytes = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi";
    check(move |_, _| Some(Answer { bytes: bytes.into(), close: false }), 3, 3).await;
    let until_close = "HTTP/1.1 200 OK\r\n\r\nhi";
    check(move |_, _| Some(Answer { bytes: until_close.into(), close: true }), 3, 3).await;
}

/// The server reads the second request of each connection and drops it without a response.
#[tokio::test]
async fn a_post_that_may_have_been_processed_was_sent_again() {
    let server = server(|_, request| (request == 1).then(|| stay("hi"))).await;
    let client = client(&server);
    assert_eq!(body(&client, &server).await, "hi");
    let error = client.fetch(&post(&server), &Limits::default()).await;
    assert!(matches!(error, Err(HttpError::Protocol { .. })), "{error:?}");
    assert_eq!(server.requests.load(Ordering::SeqCst), 2);
    // An idempotent request is sent again.
    assert_eq!(body(&client, &server).await, "hi");
    let get = Request::get(format!("http://{}/", server.addr));
    assert_eq!(client.fetch(&get, &Limits::default()).await.expect("response").body, b"hi");
    assert_eq!(server.requests.load(Ordering::SeqCst), 5);
}

/// The peer closes after each response without announcing it.
#[tokio::test]
async fn a_post_is_sent_on_a_fresh_connection_when_the_kept_one_is_closed() {
    check(|_, _| Some(Answer { close: true, ..stay("hi") }), 4, 4).await;
}

#[tokio::test]
async fn a_fresh_connection_is_not_tried_twice() {
    let server = server(|_, _| None).await;
    let error = client(&server).fetch(&post(&server), &Limits::default()).await;
    assert!(matches!(error, Err(HttpError::Protocol { .. })), "{error:?}");
    assert_eq!(server.requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_response_that_began_is_not_asked_for_again() {
    let half = Answer { bytes: b"HTTP/1.1 200 OK\r\nCont".to_vec(), close: true };
    let server =
        server(move |_, request| Some(if request == 1 { stay("hi") } else { half.clone() })).await;
    let client = client(&server);
    assert_eq!(body(&client, &server).await, "hi");
    let error = client.fetch(&post(&server), &Limits::default()).await;
    assert!(matches!(error, Err(HttpError::Protocol { .. })), "{error:?}");
    assert_eq!(server.requests.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_body_that_was_not_read_to_its_end_closes_the_connection() {
    let server = server(|_, _| Some(stay("hi"))).await;
    let client = client(&server);
    drop(client.send(&post(&server), &Limits::default()).await.expect("response"));
    let cut = Limits { max_wire_bytes: 1, ..Limits::default() };
    assert_eq!(client.fetch(&post(&server), &cut).await.expect("response").body, b"h");
    assert_eq!(body(&client, &server).await, "hi");
    assert_eq!(server.connections.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn idle_connections_are_few_and_parallel_requests_have_their_own() {
    let server = server(|_, _| Some(stay("hi"))).await;
    let client = client(&server);
    let mut open = Vec::new();
    for _ in 0..6 {
        open.push(client.send(&post(&server), &Limits::default()).await.expect("response").body);
    }
    for body in &mut open {
        while body.chunk().await.expect("chunk").is_some() {}
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 6);
    let mut again = Vec::new();
    for _ in 0..6 {
        again.push(client.send(&post(&server), &Limits::default()).await.expect("response"));
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 8, "four were kept");
}

#[tokio::test]
async fn a_client_with_another_resolver_shares_no_connection() {
    let server = server(|_, _| Some(stay("hi"))).await;
    let client = client(&server);
    assert_eq!(body(&client, &server).await, "hi");
    let other = client.clone().with_resolver(Arc::new(StaticResolver::default()));
    assert_eq!(body(&other, &server).await, "hi");
    assert_eq!(body(&client.clone(), &server).await, "hi");
    assert_eq!(server.connections.load(Ordering::SeqCst), 2);
}

/// A connection of a runtime that is not running would never respond.
#[test]
fn each_runtime_has_its_own_connections() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    let mut serving = tokio::runtime::Builder::new_multi_thread();
    let serving = serving.worker_threads(1).enable_all().build().expect("runtime");
    let server = serving.block_on(server(|_, _| Some(stay("hi"))));
    let client = client(&server);
    let (one, two) = (runtime().expect("runtime"), runtime().expect("runtime"));
    for runtime in [&one, &two, &one] {
        assert_eq!(runtime.block_on(body(&client, &server)), "hi");
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 2);
    drop(one);
    let three = runtime().expect("runtime");
    assert_eq!(three.block_on(body(&client, &server)), "hi");
}

#[tokio::test]
async fn silence_ends_a_stream_and_its_pieces_do_not() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let addr = listener.local_addr().expect("address");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("accept");
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await.expect("write");
        for _ in 0..6 {
            stream.write_all(b"1\r\nx\r\n").await.expect("write");
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        let _ = stream.read(&mut [0; 4096]).await;
        let _ = stream.read(&mut [0; 1]).await;
    });
    let policy = AddressPolicy::with_allowed([addr.to_string()]).expect("policy");
    let limits = Limits { idle: Some(Duration::from_millis(150)), ..Limits::default() };
    let request = Request::get(format!("http://{addr}/"));
    let mut body = HttpClient::new(policy).send(&request, &limits).await.expect("head").body;
    let mut seen = 0;
    let error = loop {
        match body.chunk().await {
            Ok(Some(piece)) => seen += piece.len(),
            Ok(None) => panic!("the stream has no end"),
            Err(error) => break error,
        }
    };
    assert_eq!(seen, 6);
    assert!(matches!(error, HttpError::Idle { phase: Phase::Body, .. }), "{error}");
}
