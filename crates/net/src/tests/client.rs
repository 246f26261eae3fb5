//! Tests of the client against a real server: hops, redirects, bounds, timeouts and error types.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::io::AsyncWriteExt;

use super::server::{Reply, Server};
use crate::{
    AddressPolicy, BoxFuture, Follow, HttpClient, HttpError, Limits, Method, Phase, Request,
    Resolve, Response, Rule, StaticResolver, Truncation,
};

/// Two public-looking names that both resolve to loopback, where only the given servers are
/// allowed.
fn client(servers: &[&Server]) -> HttpClient {
    let policy =
        AddressPolicy::with_allowed(servers.iter().map(|server| server.entry())).expect("policy");
    let table = StaticResolver::parse([
        "a.example.com=127.0.0.1,b.example.com=127.0.0.1,inward.example.com=10.0.0.7",
    ]);
    HttpClient::new(policy).with_resolver(Arc::new(table.expect("table")))
}

fn url(host: &str, server: &Server, path: &str) -> String {
    format!("http://{host}:{}{path}", server.addr.port())
}

async fn get(server: &Server, limits: &Limits) -> Result<Response, HttpError> {
    client(&[server]).fetch(&Request::get(url("a.example.com", server, "/")), limits).await
}

fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn redirect(status: u16, location: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
        .into_bytes()
}

fn path_of(request: &str) -> &str {
    request.split(' ').nth(1).expect("request line")
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).expect("gzip");
    encoder.finish().expect("gzip")
}

#[tokio::test]
async fn a_request_arrives_as_it_was_checked() {
    let answer = "HTTP/1.1 418 Short and stout\r\nX-B: 1\r\nSet-Cookie: sid=secret; Path=/\r\nX-A: 2\r\n\
                  Set-Cookie: t=secret\r\nContent-Length: 3\r\n\r\ntea";
    let server = Server::fixed(answer).await;
    let mut request =
        Request::new(Method::POST, url("A.example.com.", &server, "/p|a^th`/ü?q=`{}[]|\"#f"));
    request.headers =
        vec![("X-One".into(), "1".into()), ("Content-Type".into(), "text/plain".into())];
    request.body = "body".into();
    let response = client(&[&server]).fetch(&request, &Limits::default()).await.expect("response");

    let seen = server.seen();
    let (head, body) = seen[0].split_once("\r\n\r\n").expect("head");
    let head = head.to_ascii_lowercase();
    assert!(head.starts_with("post /p|a^th%60/%c3%bc?q=`{}[]|%22 http/1.1\r\n"), "{head}");
    for line in [
        &format!("host: a.example.com:{}", server.addr.port()),
        "x-one: 1",
        "content-type: text/plain",
        "content-length: 4",
        "connection: close",
        "accept: */*",
        "accept-encoding: gzip, deflate, br",
        &format!("user-agent: toolcrib/{}", env!("CARGO_PKG_VERSION")),
    ] {
        assert_eq!(head.lines().filter(|own| own == &line).count(), 1, "{line} in {head}");
    }
    assert_eq!(body, "body");

    assert_eq!((response.head.status, response.head.reason.as_str()), (418, "Short and stout"));
    let pairs: Vec<_> =
        response.head.headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let expected = [
        ("x-b", "1"),
        ("set-cookie", "sid=***; Path=/"),
        ("set-cookie", "t=***"),
        ("x-a", "2"),
        ("content-length", "3"),
    ];
    assert_eq!(pairs, expected);
    assert_eq!(response.head.header("X-A"), Some("2"));
    assert_eq!(response.body, b"tea");
    assert!(!response.truncated());
    assert_eq!(response.head.content_length, Some(3));
    assert_eq!(response.head.peer, server.addr);
    assert!(response.head.final_url.starts_with("http://a.example.com:"));
}

#[tokio::test]
async fn empty_posts_declare_their_length_and_heads_have_no_body() {
    let server = Server::start(|request| {
        let body = if request.starts_with("HEAD") { "" } else { "hello" };
        Reply::Bytes(
            format!(
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Encoding: identity\r\n\r\n{body}"
            )
            .into(),
        )
    })
    .await;
    for method in [Method::POST, Method::HEAD] {
        let request = Request::new(method.clone(), url("a.example.com", &server, "/"));
        let response =
            client(&[&server]).fetch(&request, &Limits::default()).await.expect("response");
        assert_eq!(response.body.is_empty(), method == Method::HEAD);
        assert_eq!(
            (response.head.content_length, response.truncated()),
            (Some(5), false),
            "{method}"
        );
    }
    let seen = server.seen();
    assert!(seen[0].to_ascii_lowercase().contains("content-length: 0\r\n"), "{}", seen[0]);
    assert!(!seen[1].to_ascii_lowercase().contains("content-length"), "{}", seen[1]);
}

#[tokio::test]
async fn redirects_are_joined_and_recorded() {
    let server = Server::start(|request| {
        Reply::Bytes(match path_of(request) {
            "/dir/start" => redirect(302, "next?x=1"),
            "/dir/next?x=1" => redirect(301, "../end"),
            _ => ok("there"),
        })
    })
    .await;
    let request = Request::get(url("a.example.com", &server, "/dir/start#frag"));
    let response = client(&[&server]).fetch(&request, &Limits::default()).await.expect("response");
    assert_eq!(response.body, b"there");
    assert_eq!(response.head.final_url, url("a.example.com", &server, "/end"));
    let hops: Vec<_> =
        response.head.redirects.iter().map(|hop| (hop.status, hop.url.clone())).collect();
    let expected = [
        (302, url("a.example.com", &server, "/dir/start")),
        (301, url("a.example.com", &server, "/dir/next?x=1")),
    ];
    assert_eq!(hops, expected);
}

#[tokio::test]
async fn redirects_inward_are_refused_before_connecting() {
    let rows = [
        ("http://10.0.0.1/", "address.private"),
        ("http://127.0.0.1:9/", "url.port"),
        ("http://127.0.0.1/", "address.loopback"),
        ("http://2130706433/", "address.loopback"),
        ("http://[::ffff:169.254.169.254]/latest/", "address.metadata"),
        ("http://inward.example.com/", "address.private"),
        ("http://localhost/", "host.special_use"),
        ("http://10.0.0.1.nip.io/", "host.rebinding"),
        ("//0/", "address.unspecified"),
        ("file:///etc/passwd", "url.scheme"),
        ("http://user:pw@a.example.com/", "url.userinfo"),
    ];
    for (location, rule) in rows {
        let server = Server::fixed(redirect(302, location)).await;
        let error = get(&server, &Limits::default()).await.expect_err(location);
        let HttpError::Denied(denied) = &error else { panic!("{location}: {error}") };
        assert_eq!(denied.rule.id(), rule, "{location}");
        let origin = format!("http://a.example.com:{}", server.addr.port());
        assert_eq!(denied.redirected_from.as_deref(), Some(origin.as_str()), "{location}");
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn credentials_and_bodies_stay_at_their_origin() {
    let last = Server::fixed(ok("last")).await;
    let location = url("b.example.com", &last, "/");
    let first = Server::start(move |request| {
        Reply::Bytes(match path_of(request) {
            "/same" => redirect(302, "/again"),
            "/again" => redirect(307, &location),
            _ => ok("same"),
        })
    })
    .await;
    let client = client(&[&first, &last]);
    let mut request = Request::get(url("a.example.com", &first, "/same"));
    for name in ["Authorization", "Cookie", "X-Api-Key", "X-Anything", "Accept-Language"] {
        request.headers.push((name.into(), "secret".into()));
    }
    request.body = "private body".into();
    let response = client.fetch(&request, &Limits::default()).await.expect("response");
    assert_eq!(response.body, b"last");
    let same = first.seen()[1].to_ascii_lowercase();
    assert!(same.contains("authorization: secret") && same.ends_with("private body"), "{same}");
    let other = last.seen()[0].to_ascii_lowercase();
    for gone in
        ["authorization", "cookie", "x-api-key", "x-anything", "private body", "content-length"]
    {
        assert!(!other.contains(gone), "{gone} in {other}");
    }
    assert!(other.contains("accept-language: secret"), "{other}");
    assert!(other.contains(&format!("host: b.example.com:{}", last.addr.port())), "{other}");
}

#[tokio::test]
async fn posts_follow_only_when_asked_to() {
    let server = Server::start(|request| {
        Reply::Bytes(match path_of(request) {
            "/see-other" => redirect(303, "/end"),
            "/repeat" => redirect(308, "/end"),
            _ => ok(request.split(' ').next().expect("method")),
        })
    })
    .await;
    let client = client(&[&server]);
    for (path, follow, status, body) in [
        ("/see-other", Follow::Safe, 303, ""),
        ("/repeat", Follow::Never, 308, ""),
        ("/see-other", Follow::Every, 200, "GET"),
        ("/repeat", Follow::Every, 200, "POST"),
    ] {
        let mut request = Request::new(Method::POST, url("a.example.com", &server, path));
        request.follow = follow;
        request.body = "x".into();
        let response = client.fetch(&request, &Limits::default()).await.expect("response");
        assert_eq!(
            (response.head.status, response.body.as_slice()),
            (status, body.as_bytes()),
            "{path} {follow:?}"
        );
    }
}

#[tokio::test]
async fn loops_are_bounded() {
    let server = Server::fixed(redirect(302, "/again")).await;
    for (asked, max) in [(0, 0), (5, 5), (1000, 10)] {
        let before = server.seen().len();
        let limits = Limits { max_redirects: asked, ..Limits::default() };
        let error = get(&server, &limits).await.expect_err("loop");
        assert!(
            matches!(error, HttpError::TooManyRedirects { max: found, .. } if found == max),
            "{error}"
        );
        assert_eq!(server.seen().len() - before, max + 1);
    }
}

#[tokio::test]
async fn a_redirect_without_location_is_the_answer() {
    let server = Server::fixed("HTTP/1.1 302 Found\r\nContent-Length: 2\r\n\r\nhm").await;
    let response = get(&server, &Limits::default()).await.expect("response");
    assert_eq!((response.head.status, response.body.as_slice()), (302, b"hm".as_slice()));
}

#[tokio::test]
async fn compressed_bodies_are_inflated_and_bombs_bounded() {
    let zeros = vec![0; 4 << 20];
    for (data, cut, length) in
        [(b"hello".as_slice(), None, 5), (&zeros, Some(Truncation::Inflated), 100_000)]
    {
        let body = gzip(data);
        let mut answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        answer.extend(&body);
        let server = Server::fixed(answer).await;
        let limits = Limits { max_inflated_bytes: 100_000, ..Limits::default() };
        let response = get(&server, &limits).await.expect("response");
        assert_eq!((response.cut, response.body.len()), (cut, length));
        assert_eq!(response.head.content_length, Some(body.len() as u64));
    }
    let server = Server::fixed("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nnot gzip").await;
    let error = get(&server, &Limits::default()).await.expect_err("not gzip");
    assert!(matches!(error, HttpError::Decode { encoding: "gzip", .. }), "{error}");
    let server = Server::fixed("HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\nraw").await;
    let response = get(&server, &Limits::default()).await.expect("response");
    assert_eq!(
        (response.body.as_slice(), response.head.undecoded.as_deref()),
        (b"raw".as_slice(), Some("zstd"))
    );
}

#[tokio::test]
async fn huge_bodies_are_cut_at_the_wire_bound() {
    let limits = Limits { max_wire_bytes: 10_000, ..Limits::default() };
    let piece = vec![b'x'; 4096];
    let heads = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n", Some(10_000_000_000)),
        ("HTTP/1.1 200 OK\r\n\r\n", None),
    ];
    for (head, declared) in heads {
        let piece = piece.clone();
        let server = Server::start(move |_| Reply::Endless(head.into(), piece.clone())).await;
        let response = get(&server, &limits).await.expect("response");
        assert_eq!(
            (response.body.len(), response.cut, response.wire_bytes),
            (10_000, Some(Truncation::Wire), 10_000)
        );
        assert_eq!(response.head.content_length, declared);
    }
    let server = Server::start(|_| {
        Reply::Endless(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".into(),
            b"5\r\nhello\r\n".to_vec(),
        )
    })
    .await;
    assert_eq!(get(&server, &limits).await.expect("response").body.len(), 10_000);
    // A body of exactly the bound is complete; a longer declared body is truncated without waiting
    // for a byte beyond the bound.
    let server = Server::fixed(ok(&"y".repeat(10_000))).await;
    assert_eq!(get(&server, &limits).await.expect("response").cut, None);
    let start = format!("HTTP/1.1 200 OK\r\nContent-Length: 10001\r\n\r\n{}", "y".repeat(10_000));
    let server = Server::start(move |_| Reply::ThenSilence(start.clone().into())).await;
    assert_eq!(get(&server, &limits).await.expect("response").cut, Some(Truncation::Wire));
}

#[tokio::test]
async fn bodies_arrive_in_pieces_while_the_server_waits() {
    let server = Server::start(|_| {
        Reply::ThenSilence(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n".into(),
        )
    })
    .await;
    let request = Request::get(url("a.example.com", &server, "/"));
    let mut streaming = client(&[&server]).send(&request, &Limits::default()).await.expect("head");
    assert_eq!(streaming.head.header("content-type"), Some("text/event-stream"));
    let chunk = streaming.body.chunk().await.expect("chunk").expect("data");
    assert_eq!(chunk.as_ref(), b"data: 1\n\n");
    assert_eq!(streaming.body.truncation(), None);
}

#[tokio::test]
async fn every_phase_has_its_time() {
    struct Never;
    impl Resolve for Never {
        fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
            Box::pin(std::future::pending())
        }
    }
    let limits = Limits { total: Duration::from_millis(50), ..Limits::default() };
    let silent = Server::start(|_| Reply::ThenSilence(Vec::new())).await;
    let halfway = Server::start(|_| {
        Reply::ThenSilence("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".into())
    })
    .await;
    let deaf = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let deaf_at = deaf.local_addr().expect("address");
    let tls = HttpClient::new(AddressPolicy::with_allowed([deaf_at.to_string()]).expect("policy"));
    let unresolved = HttpClient::new(AddressPolicy::default()).with_resolver(Arc::new(Never));
    let rows = [
        (client(&[&silent]), url("a.example.com", &silent, "/"), Phase::Response),
        (client(&[&halfway]), url("a.example.com", &halfway, "/"), Phase::Body),
        (unresolved, "http://a.example.com/".to_owned(), Phase::Dns),
        (tls, format!("https://{deaf_at}/"), Phase::Tls),
    ];
    for (client, url, expected) in rows {
        let error = client.fetch(&Request::get(url), &limits).await.expect_err("late");
        let HttpError::Timeout { phase, after, .. } = &error else { panic!("{expected}: {error}") };
        assert_eq!((*phase, *after), (expected, limits.total), "{error}");
    }
}

#[tokio::test]
async fn header_bounds_keep_the_first_ones() {
    let head = |count: usize, size: usize| {
        let lines: String =
            (0..count).map(|n| format!("X-{n}: {}\r\n", "v".repeat(size))).collect();
        format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{lines}\r\nok")
    };
    for (count, size, kept, omitted) in [(10, 10, 11, 0), (100, 10, 64, 37), (20, 1000, 9, 12)] {
        let server = Server::fixed(head(count, size)).await;
        let response = get(&server, &Limits::default()).await.expect("response");
        assert_eq!(
            (response.head.headers.len(), response.head.headers_omitted),
            (kept, omitted),
            "{count} {size}"
        );
        assert_eq!(response.body, b"ok");
    }
    for (count, size) in [(300, 1), (100, 1000), (1, 1_000_000)] {
        let server = Server::fixed(head(count, size)).await;
        let error = get(&server, &Limits::default()).await.expect_err("too large");
        assert!(matches!(error, HttpError::HeadTooLarge { .. }), "{count} {size}: {error}");
    }
}

#[tokio::test]
async fn failures_are_told_apart() {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("bind")
        .local_addr()
        .expect("address");
    let client_to = |addr: SocketAddr| {
        HttpClient::new(AddressPolicy::with_allowed([addr.to_string()]).expect("policy"))
    };
    let error = client_to(closed)
        .fetch(&Request::get(format!("http://{closed}/")), &Limits::default())
        .await;
    let error = error.expect_err("refused");
    assert!(matches!(error, HttpError::Connect { addr, .. } if addr == closed), "{error}");

    let unknown = Request::get("http://unknown.example.com/");
    let table = Arc::new(StaticResolver::default());
    let error = HttpClient::new(AddressPolicy::default())
        .with_resolver(table)
        .fetch(&unknown, &Limits::default())
        .await;
    assert!(
        matches!(error.expect_err("dns"), HttpError::Dns(denied) if denied.rule == Rule::DnsUnresolvable)
    );

    let plain = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let plain_at = plain.local_addr().expect("address");
    let greet = tokio::spawn(async move {
        let (mut stream, _) = plain.accept().await.expect("accept");
        stream.write_all(b"220 not TLS at all\r\n").await.expect("write");
        stream
    });
    let request = Request::get(format!("https://{plain_at}/"));
    let error = client_to(plain_at).fetch(&request, &Limits::default()).await.expect_err("tls");
    drop(greet.await);
    assert!(matches!(error, HttpError::Tls { .. }), "{error}");

    for answer in [
        "",
        "SSH-2.0-OpenSSH\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        "HTTP/2 200\r\n\r\n",
    ] {
        let server = Server::fixed(answer).await;
        let error = get(&server, &Limits::default()).await.expect_err(answer);
        assert!(matches!(error, HttpError::Protocol { .. }), "{answer:?}: {error}");
    }
}

#[tokio::test]
async fn the_next_address_is_tried_when_one_refuses() {
    let server = Server::fixed(ok("second")).await;
    let port = server.addr.port();
    // No server listens on 127.0.0.2 at this port.
    let policy = AddressPolicy::with_allowed([format!("127.0.0.0/8:{port}")]).expect("policy");
    let table = StaticResolver::parse(["a.example.com=127.0.0.2,127.0.0.1"]).expect("table");
    let client = HttpClient::new(policy).with_resolver(Arc::new(table));
    let response =
        client.fetch(&Request::get(url("a.example.com", &server, "/")), &Limits::default()).await;
    assert_eq!(response.expect("response").head.peer, server.addr);
}

/// Returns the next list for each lookup, and the last one forever.
struct Rebinding {
    answers: Vec<IpAddr>,
    asked: AtomicUsize,
}

impl Resolve for Rebinding {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        let turn = self.asked.fetch_add(1, Ordering::SeqCst).min(self.answers.len() - 1);
        Box::pin(std::future::ready(Ok(vec![self.answers[turn]])))
    }
}

#[tokio::test]
async fn a_rebinding_name_is_looked_up_once_per_hop() {
    let server = Server::start(|request| {
        Reply::Bytes(if path_of(request) == "/" { ok("first") } else { redirect(302, "/") })
    })
    .await;
    let policy = AddressPolicy::with_allowed([server.entry()]).expect("policy");
    let answers = ["127.0.0.1", "169.254.169.254"].map(|ip| ip.parse().expect(ip)).to_vec();
    let resolver = Arc::new(Rebinding { answers, asked: AtomicUsize::new(0) });
    let client = HttpClient::new(policy).with_resolver(Arc::clone(&resolver) as Arc<dyn Resolve>);

    // One hop looks up once: the second answer is never used, and the connection goes to the first.
    let request = Request::get(url("a.example.com", &server, "/"));
    assert_eq!(client.fetch(&request, &Limits::default()).await.expect("first").body, b"first");
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 1);

    // A second hop looks up again and is checked again.
    resolver.asked.store(0, Ordering::SeqCst);
    let request = Request::get(url("a.example.com", &server, "/moved"));
    let error = client.fetch(&request, &Limits::default()).await.expect_err("rebound");
    let HttpError::Denied(denied) = &error else { panic!("{error}") };
    assert_eq!(denied.rule, Rule::Metadata);
    assert!(denied.redirected_from.is_some());
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 2);
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn works_on_every_runtime() {
    let current =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    let multi = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("runtime");
    for runtime in [current, multi] {
        let body = runtime.block_on(async {
            let server = Server::fixed(ok("both")).await;
            get(&server, &Limits::default()).await.expect("response").body
        });
        assert_eq!(body, b"both");
    }
}

#[test]
fn a_request_can_move_between_threads() {
    fn sendable<T: Send>(_: &T) {}
    let client = HttpClient::new(AddressPolicy::default());
    let (request, limits) = (Request::get("https://example.com/"), Limits::default());
    sendable(&client.fetch(&request, &limits));
}
