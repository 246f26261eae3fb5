//! HTTP tools against a real server on loopback.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use toolcrib_core::{Effect, ErrorType, Handler, Risk, Trust};
use toolcrib_net::{AddressPolicy, HttpClient, StaticResolver};

use crate::Builtins;
use crate::test_support::{CallResult, call, context};

/// A server that responds by path, and the tools that may reach it.
struct Web {
    addr: SocketAddr,
    tools: Vec<Arc<dyn Handler>>,
}

impl Web {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("port");
        let addr = listener.local_addr().expect("address");
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
        let policy = AddressPolicy::with_allowed([addr.to_string()]).expect("policy");
        let client = HttpClient::new(policy).with_resolver(Arc::new(StaticResolver::default()));
        Self { addr, tools: Builtins::new().with_client(client).handlers() }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    fn tool(&self, name: &str) -> &Arc<dyn Handler> {
        self.tools.iter().find(|tool| tool.spec().name.as_str() == name).expect(name)
    }

    async fn call(&self, name: &str, path: &str, mut args: Value) -> CallResult {
        args["url"] = json!(self.url(path));
        call(self.tool(name), args).await
    }
}

/// Reads one request and responds: `/echo` describes the request, other paths are fixed.
async fn serve(mut stream: TcpStream) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    let end = loop {
        let n = stream.read(&mut buffer).await.unwrap_or(0);
        if n == 0 {
            return;
        }
        request.extend_from_slice(&buffer[..n]);
        if let Some(at) = request.windows(4).position(|w| w == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let head = String::from_utf8_lossy(&request[..end]).into_owned();
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok())
        .unwrap_or(0_usize);
    while request.len() < end + length {
        let n = stream.read(&mut buffer).await.unwrap_or(0);
        if n == 0 {
            return;
        }
        request.extend_from_slice(&buffer[..n]);
    }
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let answer = match path.as_str() {
        "/echo" => answer("200 OK", "text/plain", &request),
        "/json" => answer("200 OK", "application/json; charset=utf-8", br#"{"ok":true}"#),
        "/page" => answer(
            "200 OK",
            "text/html; charset=windows-1252",
            b"<title>T</title><h1>Caf\xe9</h1><p>See <a href='/next'>here</a><script>x()</script>",
        ),
        "/teapot" => answer("418 I'm a teapot", "text/plain", b"short and stout"),
        "/image" => answer("200 OK", "image/png", b"\x89PNG\0\0"),
        "/large" => answer("200 OK", "text/plain", "é".repeat(512 * 1024).as_bytes()),
        "/moved" => b"HTTP/1.1 302 Found\r\nLocation: /json\r\nContent-Length: 0\r\n\r\n".to_vec(),
        "/inward" => {
            b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"
                .to_vec()
        }
        "/loop" => b"HTTP/1.1 302 Found\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n".to_vec(),
        "/garbage" => b"not http at all\r\n\r\n".to_vec(),
        "/hang" => return std::future::pending().await,
        _ => answer("404 Not Found", "text/plain", b"nothing here"),
    };
    let _ = stream.write_all(&answer).await;
    let _ = stream.shutdown().await;
}

fn answer(status: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nSet-Cookie: sid=secret\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

#[tokio::test]
async fn http_request_sends_what_it_is_told() {
    let web = Web::new().await;
    let said = web.call("http_request", "/json", json!({})).await.expect("get");
    let parts = said.parts();
    assert!(parts[0].starts_with("HTTP 200 OK\ncontent-type: application/json"), "{}", parts[0]);
    assert!(parts[0].contains("set-cookie: sid=***"), "{}", parts[0]);
    assert_eq!(parts[1], r#"{"ok":true}"#);
    assert_eq!((said.0.trust, said.0.source), (Some(Trust::External), Some(web.url("/json"))));
    for (args, line, header) in [
        (
            json!({"method": "POST", "body": "{\"a\": 1}"}),
            "POST /echo",
            "content-type: application/json\r",
        ),
        (
            json!({"method": "PUT", "body": "a=1"}),
            "PUT /echo",
            "content-type: text/plain; charset=utf-8\r",
        ),
        (
            json!({"method": "PATCH", "body": "{}", "headers": {"Content-Type": "application/x"}}),
            "PATCH /echo",
            "content-type: application/x\r",
        ),
        (json!({"method": "DELETE", "headers": {"X-Own": "1"}}), "DELETE /echo", "x-own: 1\r"),
    ] {
        let said = web.call("http_request", "/echo", args.clone()).await.expect("sent");
        let echo = said.parts()[1].clone();
        assert!(echo.starts_with(line) && echo.contains(header), "{args}: {echo}");
        let body = args["body"].as_str().unwrap_or_default();
        assert!(echo.ends_with(&format!("\r\n\r\n{body}")), "{echo}");
    }
    let said = web.call("http_request", "/json", json!({"method": "HEAD"})).await.expect("head");
    assert_eq!(said.0.structured.expect("data")["body"], "");
}

#[tokio::test]
async fn statuses_large_and_binary_bodies_are_results() {
    let web = Web::new().await;
    let said = web.call("http_request", "/teapot", json!({})).await.expect("418");
    assert!(said.text().starts_with("HTTP 418 I'm a teapot"));
    let said = web.call("http_request", "/none", json!({})).await.expect("404");
    assert!(said.text().starts_with("HTTP 404 Not Found") && said.text().contains("nothing here"));
    let said = web.call("http_request", "/large", json!({})).await.expect("large");
    let parts = said.parts();
    assert_eq!(parts[2], "(Response truncated. Showing first 512KB of 1024KB total.)");
    assert!(parts[1].len() <= 512 * 1024 && parts[1].chars().all(|c| c == 'é'));
    let said = web.call("http_request", "/image", json!({})).await.expect("image");
    assert_eq!(said.parts()[1], "(The body is binary: 6 bytes of image/png, not shown.)");
}

#[tokio::test]
async fn fetch_url_reads_pages() {
    let web = Web::new().await;
    let said = web.call("fetch_url", "/page", json!({})).await.expect("page");
    let page = format!("T\n\n# Café\n\nSee [here]({})", web.url("/next"));
    assert_eq!(said.parts()[0], format!("HTTP 200 OK from {}", web.url("/page")));
    assert_eq!(said.parts()[1].trim(), page);
    let data = said.0.structured.expect("data");
    assert_eq!(data["success"], true);
    assert_eq!(data["content_type"], "text/html; charset=windows-1252");
    assert_eq!(data["body"].as_str().expect("body").trim(), page);
    let said = web.call("fetch_url", "/moved", json!({})).await.expect("redirect");
    let data = said.0.structured.expect("data");
    assert_eq!(
        (&data["final_url"], &data["body"]),
        (&json!(web.url("/json")), &json!(r#"{"ok":true}"#))
    );
    let said = web.call("fetch_url", "/none", json!({})).await.expect("404");
    assert_eq!(said.0.structured.expect("data")["success"], false);
    let args = json!({"method": "POST", "body": "q=1"});
    let echo = web.call("fetch_url", "/echo", args).await.expect("post").text();
    assert!(echo.contains("content-type: application/x-www-form-urlencoded"), "{echo}");
}

#[tokio::test]
async fn failures_are_told_apart() {
    let web = Web::new().await;
    use ErrorType::{NetworkError, PolicyDenied, ValidationError};
    let closed =
        TcpListener::bind("127.0.0.1:0").await.expect("port").local_addr().expect("address");
    let policy = AddressPolicy::with_allowed([closed.to_string()]).expect("policy");
    let tools = Builtins::new().with_client(HttpClient::new(policy)).handlers();
    for name in ["http_request", "fetch_url"] {
        for (url, kind, part) in [
            ("http://127.0.0.1:1/".to_owned(), PolicyDenied, "may not be reached"),
            ("http://169.254.169.254/latest".to_owned(), PolicyDenied, "may not be reached"),
            ("http://2130706433/".to_owned(), PolicyDenied, "may not be reached"),
            ("file:///etc/passwd".to_owned(), PolicyDenied, "may not be reached"),
            (web.url("/inward"), PolicyDenied, "redirected from"),
            ("http://unknown.example.com/".to_owned(), NetworkError, "could not be resolved"),
            (web.url("/loop"), NetworkError, "more than 5 redirects"),
            (web.url("/garbage"), NetworkError, "did not answer in HTTP"),
        ] {
            let error = call(web.tool(name), json!({"url": url})).await.expect_err(&url);
            assert_eq!(error.error_type, kind, "{name} {url}: {}", error.message);
            assert!(error.message.contains(part), "{name} {url}: {}", error.message);
        }
        let tool = tools.iter().find(|t| t.spec().name.as_str() == name).expect(name);
        let error =
            call(tool, json!({"url": format!("http://{closed}/")})).await.expect_err("closed");
        assert_eq!(error.error_type, NetworkError);
        assert!(error.message.starts_with("Could not connect to"), "{}", error.message);
    }
    let host = json!({"headers": {"Host": "internal"}});
    let error = web.call("http_request", "/json", host).await.expect_err("own header");
    assert_eq!(error.error_type, ValidationError);
    let body = json!({"body": "x"});
    let error = web.call("fetch_url", "/json", body).await.expect_err("body");
    assert_eq!(error.error_type, ValidationError);
}

#[tokio::test]
async fn time_and_cancellation_end_a_request() {
    let web = Web::new().await;
    let args = json!({"url": web.url("/hang")});
    let mut ctx = context();
    ctx.deadline = std::time::Instant::now() + std::time::Duration::from_millis(400);
    let error = web.tool("http_request").call(&ctx, &args).await.expect_err("timeout");
    assert_eq!(error.error_type, ErrorType::Timeout);
    assert!(error.message.contains("while waiting for the response"), "{}", error.message);
    let ctx = context();
    let (result, ()) = tokio::join!(web.tool("http_request").call(&ctx, &args), async {
        tokio::task::yield_now().await;
        ctx.cancel.cancel();
    });
    assert_eq!(result.expect_err("cancelled").error_type, ErrorType::Cancelled);
}

#[tokio::test]
async fn methods_decide_risk_and_effect() {
    let web = Web::new().await;
    for (tool, method, risk, effect) in [
        ("http_request", "GET", Risk::Safe, Effect::Read),
        ("http_request", "HEAD", Risk::Safe, Effect::Read),
        ("http_request", "POST", Risk::High, Effect::SideEffect),
        ("http_request", "PUT", Risk::High, Effect::Idempotent),
        ("http_request", "PATCH", Risk::High, Effect::SideEffect),
        ("http_request", "DELETE", Risk::High, Effect::Destructive),
        ("fetch_url", "GET", Risk::Safe, Effect::Read),
        ("fetch_url", "HEAD", Risk::Safe, Effect::Read),
        ("fetch_url", "POST", Risk::High, Effect::SideEffect),
    ] {
        let args = json!({"url": "http://ann:pw@example.com/", "method": method});
        let assessed = web.tool(tool).assess(&args).expect(tool);
        assert_eq!((assessed.risk, assessed.effect), (risk, effect), "{tool} {method}");
        assert!(assessed.reach.outbound);
        let summary = assessed.summary.expect("summary");
        assert!(summary.ends_with("http://example.com/"), "{summary}");
        let default = web.tool(tool).assess(&json!({"url": "http://example.com/"})).expect(tool);
        assert_eq!(default.risk, Risk::Safe);
    }
}
