//! Requests that programs interpret differently (request smuggling), requests that never end, and
//! connections that stay open: none of them becomes another request, and none of them blocks the
//! daemon.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::raw_http::{PATIENCE, exchange, request, rest, until};
use crate::support::{Plan, TestDaemon};

/// A body that would be a separate request if a server found the end of the first one elsewhere.
const HIDDEN: &str = "GET /api/v1/nowhere HTTP/1.1\r\nHost: x\r\n\r\n";

/// Checks that a request of this shape gets one answer with one of these statuses, and that no
/// hidden request is answered.
async fn check(daemon: &TestDaemon, sent: &str, statuses: &[u16]) {
    let came = tokio::time::timeout(PATIENCE / 2, exchange(daemon.address, sent)).await;
    let Ok(came) = came else { panic!("{sent:?}: the connection was not closed") };
    let found = came.statuses();
    assert!(found.len() == 1 && statuses.contains(&found[0]), "{sent:?}: {}", came.text);
}

fn post(daemon: &TestDaemon, headers: &str, body: &str) -> String {
    let address = daemon.address;
    let token = daemon.token();
    format!(
        "POST /api/v1/calls HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n{headers}\r\n{body}"
    )
}

#[tokio::test]
async fn a_body_ends_where_both_of_its_lengths_say() {
    let daemon = TestDaemon::start().await;
    let chunked = format!("0\r\n\r\n{HIDDEN}");
    let length = chunked.len();
    let whole_chunk = format!("{:x}\r\n{HIDDEN}\r\n0\r\n\r\n{HIDDEN}", HIDDEN.len());
    for (headers, body, statuses) in [
        // Two lengths: another server may use the other one.
        (
            format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"),
            chunked.clone(),
            &[400][..],
        ),
        (
            format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"),
            chunked.clone(),
            &[400],
        ),
        ("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n".into(), whole_chunk.clone(), &[400]),
        (
            "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n".into(),
            "2\r\n{}\r\n0\r\n\r\n".into(),
            &[400],
        ),
        ("Transfer-Encoding: chunked\r\n".into(), chunked.clone(), &[400, 422]),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n".into(),
            chunked.clone(),
            &[400],
        ),
        ("Transfer-Encoding: chunked, identity\r\n".into(), chunked.clone(), &[400]),
        ("Transfer-Encoding: identity\r\n".into(), HIDDEN.into(), &[400]),
        ("Transfer-Encoding: xchunked\r\n".into(), chunked.clone(), &[400]),
        ("Transfer-Encoding : chunked\r\n".into(), chunked.clone(), &[400]),
        (" Transfer-Encoding: chunked\r\n".into(), chunked.clone(), &[400]),
        ("X: y\r\n Transfer-Encoding: chunked\r\n".into(), chunked.clone(), &[400]),
        ("Transfer-Encoding:\x0bchunked\r\n".into(), chunked.clone(), &[400]),
        (
            format!("Content-Length: 2\r\nContent-Length: {length}\r\n"),
            format!("{{}}{HIDDEN}"),
            &[400],
        ),
        ("Content-Length: 2, 2\r\n".into(), format!("{{}}{HIDDEN}"), &[400]),
        ("Content-Length: +2\r\n".into(), format!("{{}}{HIDDEN}"), &[400]),
        ("Content-Length: -2\r\n".into(), format!("{{}}{HIDDEN}"), &[400]),
        ("Content-Length: 0x2\r\n".into(), format!("{{}}{HIDDEN}"), &[400]),
        ("Content-Length: 2 \u{0}\r\n".into(), format!("{{}}{HIDDEN}"), &[400]),
        ("Content-Length: 99999999999999999999\r\n".into(), "{}".into(), &[400]),
        ("Transfer-Encoding: chunked\r\n".into(), format!("fffffffffffffffff\r\n{HIDDEN}"), &[400]),
        ("Transfer-Encoding: chunked\r\n".into(), format!("-1\r\n{HIDDEN}"), &[400]),
        ("Transfer-Encoding: chunked\r\n".into(), format!("2\n{{}}\n0\n\n{HIDDEN}"), &[400, 422]),
        (
            "Transfer-Encoding: chunked\r\n".into(),
            format!("2\r\n{{}}XX0\r\n\r\n{HIDDEN}"),
            &[400, 422],
        ),
        ("Bad Name: x\r\n".into(), HIDDEN.into(), &[400]),
        ("Bad\u{0}Name: x\r\n".into(), HIDDEN.into(), &[400]),
        ("X: a\u{0}b\r\n".into(), HIDDEN.into(), &[400]),
        ("X: a\rGET / HTTP/1.1\r\n".into(), HIDDEN.into(), &[400]),
    ] {
        check(&daemon, &post(&daemon, &headers, &body), statuses).await;
    }
    assert_eq!(daemon.client().get("/healthz").await.status, 200);
    daemon.stop().await;
}

#[tokio::test]
async fn what_is_no_request_is_no_request() {
    let daemon = TestDaemon::start().await;
    let address = daemon.address;
    for sent in [
        "GET /healthz\r\n\r\n".to_owned(),
        "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\r\n\r\n".to_owned(),
        format!("GET  /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n"),
        format!("GET /healthz HTTP/1.2\r\nHost: {address}\r\n\r\n"),
        format!("GET /heal\u{0}thz HTTP/1.1\r\nHost: {address}\r\n\r\n"),
        format!("G\u{7f}T /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n"),
        format!("GET /healthz HTTP/1.1\r\nHost {address}\r\n\r\n"),
    ] {
        check(&daemon, &sent, &[400]).await;
    }
    // A request for HTTP/2 gets no answer, not even in HTTP/1.
    let preface = exchange(address, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert!(!preface.text.contains("HTTP/1.1 2"), "{}", preface.text);
    let long = format!("GET /{} HTTP/1.1\r\nHost: {address}\r\n\r\n", "x".repeat(100_000));
    check(&daemon, &long, &[400, 414, 431]).await;
    let many = "X: y\r\n".repeat(100);
    check(&daemon, &request(address, "GET /healthz", &many), &[431]).await;
    let large = format!("X: {}\r\n", "y".repeat(60_000));
    check(&daemon, &request(address, "GET /healthz", &large), &[431]).await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_before_it_is_there() {
    let daemon = TestDaemon::start().await;
    let sent = post(&daemon, "Content-Length: 90000000\r\nConnection: close\r\n", "{");
    let came = exchange(daemon.address, sent).await;
    assert_eq!((came.statuses(), &*came.problem()), (vec![413], "too_large"));
    let part = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let sent = post(&daemon, "Transfer-Encoding: chunked\r\n", &part.repeat(40));
    let came = exchange(daemon.address, sent).await;
    assert_eq!(came.statuses(), [413], "{}", came.text);
    daemon.stop().await;
}

/// Starts a daemon with short timeouts.
async fn impatient() -> TestDaemon {
    let change = |settings: &mut toolcrib_server::DaemonSettings| {
        settings.head_timeout = Duration::from_millis(300);
        settings.body_idle_timeout = Duration::from_millis(300);
    };
    TestDaemon::with(Plan { daemon: Box::new(change), ..Plan::default() }).await
}

#[tokio::test]
async fn heads_and_bodies_that_do_not_come_end_the_connection() {
    let daemon = impatient().await;
    let (address, token) = (daemon.address, daemon.token());
    for begun in [
        "",
        "G",
        "GET /healthz HTTP/1.1\r\nHost: ",
        &request(address, "GET /healthz", "X: y")[..40],
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(begun.as_bytes()).await.unwrap();
        rest(&mut stream).await;
    }
    // Single bytes arrive faster than the idle timeout: the total timeout applies.
    let mut stream = TcpStream::connect(address).await.unwrap();
    let headers = format!(
        "Authorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n"
    );
    stream.write_all(request(address, "POST /api/v1/calls", &headers).as_bytes()).await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    let dripping = tokio::spawn(async move {
        while writer.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let text = rest(&mut reader).await;
    assert!(text.starts_with("HTTP/1.1 400"), "{text}");
    dripping.abort();
    // And a body that stops.
    let came = exchange(address, request(address, "POST /api/v1/calls", &headers) + "{").await;
    assert_eq!((came.statuses(), &*came.problem()), (vec![400], "bad_request"));
    assert_eq!(daemon.client().get("/healthz").await.status, 200);
    daemon.stop().await;
}

/// A client that closes one half of its connection counts as disconnected; the daemon continues.
#[tokio::test]
async fn half_a_connection_is_none() {
    let daemon = TestDaemon::start().await;
    let (address, token) = (daemon.address, daemon.token());
    let headers = format!(
        "Authorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n"
    );
    for sent in ["", "GET /hea", &request(address, "POST /api/v1/calls", &headers)] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let text = rest(&mut stream).await;
        assert!(!text.contains("HTTP/1.1 2"), "{sent} {text}");
    }
    assert_eq!(daemon.client().get("/healthz").await.status, 200);
    daemon.stop().await;
}

#[tokio::test]
async fn connections_that_come_and_go_leave_nothing_behind() {
    let daemon = TestDaemon::start().await;
    let address = daemon.address;
    let files = || std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let client = daemon.client();
    assert_eq!(client.get("/healthz").await.status, 200);
    let before = files();
    for n in 0..300 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let whole = request(address, "GET /openapi.json", "");
        // Cut the request at some position, and leave without reading.
        stream.write_all(&whole.as_bytes()[..n % (whole.len() + 1)]).await.unwrap();
    }
    let settled = async {
        while files() > before + 4 {
            assert_eq!(client.get("/healthz").await.status, 200);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(
        tokio::time::timeout(PATIENCE, settled).await.is_ok(),
        "{before} files before, {} after",
        files()
    );
    daemon.stop().await;
}

/// Keep-alive connections, silent connections and those in the middle of a head do not delay a
/// stop.
#[tokio::test]
async fn a_stop_does_not_wait_for_idle_connections() {
    let daemon = TestDaemon::start().await;
    let address = daemon.address;
    let mut idle = TcpStream::connect(address).await.unwrap();
    let kept = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n");
    idle.write_all(kept.as_bytes()).await.unwrap();
    until(&mut idle, "\"ok\"").await;
    let mut silent = TcpStream::connect(address).await.unwrap();
    let mut begun = TcpStream::connect(address).await.unwrap();
    begun.write_all(b"GET /healthz HT").await.unwrap();
    // Less than the drain time of 30 seconds.
    let stopped = tokio::time::timeout(Duration::from_secs(20), daemon.stop()).await;
    assert!(stopped.is_ok());
    for stream in [&mut idle, &mut silent, &mut begun] {
        rest(stream).await;
    }
    assert!(TcpStream::connect(address).await.is_err());
}
