//! The middleware in front of every route: Host, Origin and method on real sockets, headers of
//! every answer, limits.

use serde_json::json;
use toolcrib_server::{DaemonSettings, operations};

use crate::raw_http::{exchange, exchange_on, request};
use crate::support::{Events, Plan, TestDaemon};

/// Returns method and path of every operation, of an unknown path, and of a method that a path does
/// not support.
fn everywhere() -> Vec<String> {
    let mut lines: Vec<String> = operations()
        .iter()
        .map(|one| format!("{} {}", one.method, one.full_path().replace(['{', '}', '*'], "")))
        .collect();
    lines.extend(["GET /nowhere".into(), "PATCH /healthz".into(), "OPTIONS /api/v1/tools".into()]);
    lines
}

/// The owner's token does not help: Host and Origin are checked first, even for errors.
#[tokio::test]
async fn no_route_answers_to_another_host_or_to_another_page() {
    let daemon = TestDaemon::start().await;
    let (address, token) = (daemon.address, daemon.token());
    let port = address.port();
    for line in everywhere() {
        for (host, headers) in [
            ("evil.example", String::new()),
            ("localhost", String::new()),
            (&*format!("evil.example:{port}"), String::new()),
            (&*format!("localhost:{port}"), "Origin: http://evil.example\r\n".to_owned()),
            (&*format!("localhost:{port}"), "Origin: null\r\n".to_owned()),
            (&*format!("localhost:{port}"), format!("Origin: http://localhost:{}\r\n", port ^ 1)),
            (&*format!("localhost:{port}"), "Sec-Fetch-Site: cross-site\r\n".to_owned()),
            (&*format!("localhost:{port}"), "Sec-Fetch-Site: same-site\r\n".to_owned()),
        ] {
            let sent = format!(
                "{line} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n{headers}\r\n"
            );
            let came = exchange(address, sent).await;
            // The MCP protocol requires 403 for an invalid Origin.
            let (status, code) = match line.contains(" /mcp") && !headers.is_empty() {
                true => (403, "forbidden"),
                false => (421, "misdirected"),
            };
            assert_eq!(came.statuses(), [status], "{line} {host} {headers} {}", came.text);
            assert_eq!(came.problem(), code);
        }
    }
    daemon.stop().await;
}

#[tokio::test]
async fn every_way_to_name_the_host_is_looked_at() {
    let daemon = TestDaemon::start().await;
    let address = daemon.address;
    for (lines, expected) in [
        (format!("GET /healthz HTTP/1.1\r\nHost: {address}"), 200),
        (format!("GET /healthz HTTP/1.0\r\nHost: {address}"), 200),
        ("GET /healthz HTTP/1.1\r\nAccept: */*".to_owned(), 421),
        ("GET /healthz HTTP/1.0".to_owned(), 421),
        (format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nHost: {address}"), 400),
        (format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nHost: evil.example"), 400),
        (format!("GET http://{address}/healthz HTTP/1.1\r\nHost: {address}"), 200),
        (format!("GET http://evil.example/healthz HTTP/1.1\r\nHost: {address}"), 421),
        (format!("GET http://{address}/healthz HTTP/1.1\r\nHost: evil.example"), 421),
        (format!("GET http://a@{address}/healthz HTTP/1.1\r\nHost: {address}"), 421),
        (format!("CONNECT {address} HTTP/1.1\r\nHost: {address}"), 405),
        (format!("TRACE /healthz HTTP/1.1\r\nHost: {address}"), 405),
        (format!("OPTIONS * HTTP/1.1\r\nHost: {address}"), 401),
        (
            format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nX-Forwarded-Host: evil.example"),
            200,
        ),
        (
            format!("GET /healthz HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: {address}"),
            421,
        ),
        (
            format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nX-HTTP-Method-Override: DELETE"),
            400,
        ),
    ] {
        let came = exchange(address, format!("{lines}\r\nConnection: close\r\n\r\n")).await;
        let statuses: Vec<u16> = came
            .text
            .lines()
            .take(1)
            .filter_map(|line| line.split(' ').nth(1)?.parse().ok())
            .collect();
        assert_eq!(statuses, [expected], "{lines} {}", came.text);
    }
    daemon.stop().await;
}

/// A preflight request comes from a page of another origin: no answer allows it, and no header
/// grants access.
#[tokio::test]
async fn every_answer_is_closed_to_other_pages() {
    let daemon = TestDaemon::start().await;
    let address = daemon.address;
    let authorization = format!("Authorization: Bearer {}\r\n", daemon.token());
    let mut answers = vec![
        exchange(address, request(address, "GET /healthz", "Host: again\r\n")).await,
        exchange(address, request(address, "GET /healthz", "Origin: http://evil.example\r\n"))
            .await,
        exchange(
            address,
            request(
                address,
                "OPTIONS /api/v1/tools",
                "Origin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n",
            ),
        )
        .await,
        exchange(address, request(address, "POST /api/v1/calls", "Content-Length: 1\r\n")).await,
    ];
    for line in [
        "GET /healthz",
        "GET /openapi.json",
        "GET /docs",
        "GET /api/v1/tools",
        "GET /x",
        "PATCH /healthz",
    ] {
        for headers in ["", &authorization] {
            answers.push(exchange(address, request(address, line, headers)).await);
        }
    }
    for came in answers {
        let head = came.text.split("\r\n\r\n").next().unwrap().to_lowercase();
        assert!(!head.contains("access-control-"), "{head}");
        for header in [
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
            "content-security-policy: ",
            "frame-ancestors 'none'",
            "cache-control: ",
        ] {
            assert!(head.contains(header), "{header} is not in {head}");
        }
    }
    daemon.stop().await;
}

#[tokio::test]
async fn the_list_of_routes_needs_a_token() {
    let daemon = TestDaemon::start().await;
    let (anybody, owner) = (daemon.anybody(), daemon.client());
    assert_eq!(anybody.get("/api/v1/nowhere").await.problem(), "unauthorized");
    assert_eq!(anybody.delete("/api/v1/tools").await.problem(), "unauthorized");
    assert_eq!(owner.get("/api/v1/nowhere").await.problem(), "not_found");
    assert_eq!(owner.delete("/api/v1/tools").await.problem(), "method_not_allowed");
    // The body is not read before the client is authenticated.
    let unread = "Content-Type: application/json\r\nContent-Length: 9999999999\r\n";
    let sent = request(daemon.address, "POST /api/v1/calls", unread);
    assert_eq!(exchange(daemon.address, sent).await.problem(), "unauthorized");
    daemon.stop().await;
}

#[tokio::test]
async fn a_body_is_json_for_every_client() {
    let daemon = TestDaemon::start().await;
    let (address, token) = (daemon.address, daemon.token());
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
    {
        let kind =
            if kind.is_empty() { String::new() } else { format!("Content-Type: {kind}\r\n") };
        let headers = format!("Authorization: Bearer {token}\r\n{kind}Content-Length: 2\r\n");
        let came = exchange(address, request(address, "POST /api/v1/calls", &headers) + "{}").await;
        assert_eq!(came.problem(), "unsupported_media_type", "{kind}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_client_is_told_how_much_it_may_still_ask() {
    let plan =
        Plan { daemon: Box::new(|settings| settings.requests_per_minute = 4), ..Plan::default() };
    let daemon = TestDaemon::with(plan).await;
    let (owner, anybody) = (daemon.client(), daemon.anybody());
    let number = |answer: &crate::support::Answer, name: &str| -> u64 {
        answer.headers[name].to_str().unwrap().parse().unwrap()
    };
    for left in [3, 2, 1, 0] {
        let answer = owner.get("/healthz").await;
        assert_eq!(answer.status, 200);
        assert_eq!(number(&answer, "x-ratelimit-limit"), 4);
        assert_eq!(number(&answer, "x-ratelimit-remaining"), left);
        assert!(number(&answer, "x-ratelimit-reset") <= 60);
    }
    let refused = owner.get("/api/v1/tools").await;
    assert_eq!((refused.status.as_u16(), &*refused.problem()), (429, "rate_limited"));
    assert!((1..=15).contains(&number(&refused, "retry-after")));
    assert_eq!(number(&refused, "x-ratelimit-remaining"), 0);
    // Other clients are not affected.
    assert_eq!(anybody.get("/healthz").await.status, 200);
    let socket = daemon.socket();
    let came = exchange_on(&socket, "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n").await;
    assert_eq!(came.statuses(), [200]);
    daemon.stop().await;
}

/// A client of the owner has used up its request limit, but the owner can still stop the tools.
#[tokio::test]
async fn no_limit_keeps_the_owner_from_the_kill_switch() {
    let plan =
        Plan { daemon: Box::new(|settings| settings.requests_per_minute = 1), ..Plan::default() };
    let daemon = TestDaemon::with(plan).await;
    let owner = daemon.client();
    assert_eq!(owner.get("/healthz").await.status, 200);
    assert_eq!(owner.get("/api/v1/kill-switch").await.problem(), "rate_limited");
    let pulled = owner.put("/api/v1/kill-switch", &json!({"reason": "a test"})).await;
    assert_eq!(pulled.expect(200)["engaged"], true);
    // Only principals that may engage the kill switch are exempt.
    assert_eq!(daemon.anybody().get("/healthz").await.status, 200);
    let anybody = daemon.anybody().put("/api/v1/kill-switch", &json!({})).await;
    assert_eq!(anybody.problem(), "rate_limited");
    daemon.stop().await;
}

/// Security test S7: open streams cost nothing, so one token could take every connection and lock
/// the owner out.
#[tokio::test]
async fn one_client_leaves_room_for_others_and_the_socket_has_a_reserve() {
    let few = |settings: &mut DaemonSettings| settings.max_connections = 6;
    let daemon = TestDaemon::with(Plan { daemon: Box::new(few), ..Plan::default() }).await;
    let viewer = crate::tokens::made(&daemon, json!({"name": "v", "roles": ["viewer"]})).await.0;
    let viewer = daemon.anybody().with_token(&viewer);
    let mut streams = Vec::new();
    for _ in 0..3 {
        streams.push(Events::open(&viewer, "/api/v1/events", None).await);
    }
    let refused = viewer.get("/api/v1/events").await;
    assert_eq!((refused.status.as_u16(), &*refused.problem()), (429, "rate_limited"));
    assert_eq!(refused.headers["retry-after"], "1");
    let owner = daemon.client();
    for _ in 0..2 {
        streams.push(Events::open(&owner, "/api/v1/events", None).await);
    }
    // All slots are in use now, but connections without a token on TCP do not block the socket.
    let mut others = Vec::new();
    for _ in 0..3 {
        others.push(tokio::net::TcpStream::connect(daemon.address).await.unwrap());
    }
    let sent = "GET /api/v1/session HTTP/1.1\r\nConnection: close\r\n\r\n";
    assert_eq!(exchange_on(&daemon.socket(), sent).await.statuses(), [200]);
    drop((streams, others));
    daemon.stop().await;
}

/// Failed logins are delayed more and more; clients with a valid token are not affected.
#[tokio::test]
async fn failed_tries_are_slowed_and_a_token_that_holds_is_not() {
    let plan = Plan {
        daemon: Box::new(|settings| settings.failed_logins_per_minute = 3),
        ..Plan::default()
    };
    let daemon = TestDaemon::with(plan).await;
    let wrong = daemon.anybody().with_token("tcb_wrong");
    let mut seen = Vec::new();
    for _ in 0..6 {
        let answer = wrong.get("/api/v1/tools").await;
        let retry =
            answer.headers.get("retry-after").map(|value| value.to_str().unwrap().to_owned());
        seen.push((answer.status.as_u16(), retry));
        assert_eq!(daemon.client().get("/api/v1/tools").await.status, 200);
    }
    let slowed = ["1", "2", "4"].map(|seconds| (429, Some(seconds.to_owned())));
    assert_eq!(seen[..3], [(401, None), (401, None), (401, None)]);
    assert_eq!(seen[3..], slowed);
    // Nor are clients without a token, whose answer states that it is missing.
    assert_eq!(daemon.anybody().get("/api/v1/tools").await.status, 401);
    daemon.stop().await;
}

/// A token is accepted only in `Authorization`, and no answer contains it.
#[tokio::test]
async fn tokens_in_other_places_count_for_nothing() {
    let daemon = TestDaemon::start().await;
    let (address, token) = (daemon.address, daemon.token());
    for (line, headers) in [
        (format!("GET /api/v1/tools?token={token}"), String::new()),
        (format!("GET /api/v1/tools?access_token={token}"), String::new()),
        ("GET /api/v1/tools".to_owned(), format!("Cookie: token={token}\r\n")),
        (
            "GET /api/v1/tools".to_owned(),
            format!("Cookie: toolcrib_session_{}={token}\r\n", address.port()),
        ),
        ("GET /api/v1/tools".to_owned(), format!("X-Api-Key: {token}\r\n")),
        ("GET /api/v1/tools".to_owned(), format!("Authorization: Basic {token}\r\n")),
        ("GET /api/v1/tools".to_owned(), format!("Authorization: {token}\r\n")),
        (
            "GET /api/v1/tools".to_owned(),
            format!("Authorization: Bearer {}\r\n", token.to_uppercase()),
        ),
    ] {
        let came = exchange(address, request(address, &line, &headers)).await;
        assert_eq!(came.problem(), "unauthorized", "{line} {headers}");
        assert!(!came.text.contains(&token), "{}", came.text);
    }
    let twice = format!("Authorization: Bearer {token}\r\nAuthorization: Bearer {token}\r\n");
    let came = exchange(address, request(address, "GET /api/v1/tools", &twice)).await;
    assert_eq!(came.problem(), "bad_request");
    let answer = daemon.client().post("/api/v1/session", &json!({})).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    daemon.stop().await;
}
