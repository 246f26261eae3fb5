//! `fetch_url`, and hosts that no tool can reach.

use serde_json::{Value, json};
use toolcrib_core::Origin;

use crate::fixture::{Fixture, FixtureBuilder};
use crate::test_case::{TestCase, case};

async fn fetch(start: FixtureBuilder, path: &str, args: Value) -> Value {
    let w = start.open().await;
    fetch_in(&w, path, args).await
}

async fn fetch_in(w: &Fixture, path: &str, mut args: Value) -> Value {
    args["url"] = json!(w.web.url(path));
    let said = w.call("fetch_url", args).await;
    json!({"said": said, "seen": w.web.requests()})
}

pub(super) fn fetching() -> Vec<TestCase> {
    vec![
        case(
            "fetch_url: GET, and the body goes to the agent, HTML as readable text",
            async |s| fetch(s, "/page", json!({})).await,
            json!({
                "said": {
                    "status": "success",
                    "trust": "external",
                    "result": "HTTP 200 OK from http://127.0.0.1:…/page\nNews\n\n# Rust 1.95\n\nIt is **out**.",
                },
                "seen": ["GET /page"],
            }),
        ),
        case(
            "fetch_url: HEAD",
            async |s| fetch(s, "/json", json!({"method": "HEAD"})).await,
            json!({
                "said": {"status": "success", "result": "HTTP 200 OK from …/json\n"},
                "seen": ["HEAD /json"],
            }),
        ),
        case(
            "fetch_url: POST as RFC 8058 one-click unsubscribe",
            async |s| {
                fetch(
                    s.approving(1),
                    "/echo",
                    json!({"method": "POST", "body": "List-Unsubscribe=One-Click"}),
                )
                .await
            },
            json!({
                "said": {
                    "result": "…content-type: application/x-www-form-urlencoded…List-Unsubscribe=One-Click",
                },
                "seen": ["POST /echo"],
            }),
        ),
        case(
            "fetch_url: a POST is sent to nobody without approval",
            async |s| {
                fetch(s, "/echo", json!({"method": "POST", "body": "List-Unsubscribe=One-Click"}))
                    .await
            },
            json!({"said": {"error_type": "approval_denied"}, "seen": []}),
        ),
        case(
            "fetch_url: {success, status, final_url, content_type, body} for programs",
            async |s| {
                let w = s.open().await;
                let args = json!({"url": w.web.url("/moved")});
                let answer =
                    w.toolcrib.call("fetch_url", args.into(), Origin::Model).await.unwrap();
                json!(answer.outcome().unwrap().result.as_ref().unwrap().structured)
            },
            json!({
                "success": true,
                "status": 200,
                "final_url": "http://…/json",
                "content_type": "application/json",
                "body": "{\"price\":67123.5}",
            }),
        ),
        case(
            "fetch_url: redirects are followed for GET",
            async |s| fetch(s, "/moved", json!({})).await,
            json!({
                "said": {"result": "HTTP 200 OK from http://…/json…67123.5…"},
                "seen": ["GET /moved", "GET /json"],
            }),
        ),
        case(
            "… and not for POST",
            async |s| fetch(s.approving(1), "/moved", json!({"method": "POST"})).await,
            json!({"said": {"status": "success", "result": "HTTP 302 Found…"}, "seen": ["POST /moved"]}),
        ),
        case(
            "… and 5 times at most",
            async |s| fetch(s, "/loop", json!({})).await,
            json!({"said": {"error_type": "network_error", "message": "There were more than 5 redirects…"}, "seen": vec!["GET /loop"; 6]}),
        ),
        case(
            "fetch_url: other methods and schemes",
            async |s| {
                let w = s.open().await;
                json!([
                    fetch_in(&w, "/json", json!({"method": "DELETE"})).await,
                    w.call("fetch_url", json!({"url": "file:///etc/passwd"})).await,
                    w.call("fetch_url", json!({"url": "no address"})).await["status"],
                ])
            },
            json!([
                {"said": {"error_type": "validation_error"}, "seen": []},
                {"error_type": "policy_denied"},
                "error",
            ]),
        ),
        case(
            "fetch_url: response is subject to the global 20K tool-result truncation",
            async |s| {
                let said = fetch(s, "/long", json!({})).await["said"]["result"].clone();
                json!([said, said.as_str().unwrap().chars().count() <= 20_000])
            },
            json!(["[Showing … of 30…0… characters…begin…omitted…end", true]),
        ),
        case(
            "fetch_url: 15 s in total",
            async |s| json!(s.open().await.toolcrib.spec("fetch_url").unwrap().timeout.as_secs()),
            json!(15),
        ),
    ]
}

/// Private and loopback hosts in every spelling.
const BLOCKED: [&str; 21] = [
    "http://127.0.0.1:PORT/json",
    "http://localhost:PORT/json",
    "http://127.1:PORT/json",
    "http://2130706433:PORT/json",
    "http://0x7f000001:PORT/json",
    "http://0177.0.0.1:PORT/json",
    "http://[::1]:PORT/json",
    "http://[::ffff:127.0.0.1]:PORT/json",
    "http://0.0.0.0:PORT/json",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/",
    "http://100.64.0.1/",
    "http://[fd00::1]/",
    "http://[fe80::1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[::ffff:a00:1]/",
    "http://inward.example.com/",
    "http://both.example.com/",
    "http://ann:pw@127.0.0.1:PORT/json",
];

/// Returns the addresses that are not blocked; the port belongs to a server that was not opened, so
/// a request would be detected.
async fn through(start: FixtureBuilder, tool: &str) -> Value {
    let w = start.open().await;
    let shut = crate::web_server::WebServer::open().await;
    let mut through = Vec::new();
    for url in BLOCKED {
        let url = url.replace("PORT", &shut.addr.port().to_string());
        let said = w.call(tool, json!({"url": url})).await;
        // A plain private address asks for approval, which no approver can give in this test.
        let error = said["error_type"].as_str();
        if !matches!(error, Some("policy_denied" | "approval_denied")) {
            through.push(json!([url, said]));
        }
    }
    json!({"through": through, "seen": shut.requests()})
}

pub(super) fn blocking() -> Vec<TestCase> {
    let none = || json!({"through": [], "seen": []});
    let redirected = || json!({"error_type": "policy_denied", "message": "…redirected from…"});
    vec![
        case(
            "fetch_url blocks private/loopback hosts",
            async |s| through(s, "fetch_url").await,
            none(),
        ),
        case("http_request too", async |s| through(s, "http_request").await, none()),
        case(
            "each hop is checked: a redirect to the metadata address",
            async |s| fetch(s, "/inward", json!({})).await["said"].clone(),
            redirected(),
        ),
        case(
            "… and to a name that resolves to a private address",
            async |s| fetch(s, "/inward-name", json!({})).await["said"].clone(),
            redirected(),
        ),
    ]
}
