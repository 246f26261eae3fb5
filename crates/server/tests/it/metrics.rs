//! Metrics and request ids of the daemon.

use serde_json::json;

use crate::support::{Plan, TestDaemon};

/// Returns the value of a metric.
fn value(text: &str, line: &str) -> Option<f64> {
    text.lines().find_map(|found| found.strip_prefix(line)?.trim().parse().ok())
}

#[tokio::test]
async fn every_call_is_counted_once() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    for _ in 0..3 {
        let call = json!({"tool": "get_current_time", "arguments": {}});
        client.post("/api/v1/calls", &call).await.expect(200);
    }
    client
        .post("/api/v1/calls", &json!({"tool": "read_file", "arguments": {"path": "none"}}))
        .await;
    client.post("/api/v1/calls", &json!({"tool": "x\"y\n{", "arguments": {}})).await;
    let figures = client.get("/metrics").await;
    let kind = figures.headers["content-type"].to_str().unwrap();
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
    for (line, expected) in [
        (
            "toolcrib_calls_total{tool=\"get_current_time\",outcome=\"succeeded\",error=\"none\"}",
            3.0,
        ),
        ("toolcrib_call_seconds_count{tool=\"get_current_time\"}", 3.0),
        (
            "toolcrib_calls_total{tool=\"read_file\",outcome=\"failed\",error=\"file_not_found\"}",
            1.0,
        ),
        ("toolcrib_calls_total{tool=\"none\",outcome=\"failed\",error=\"tool_not_found\"}", 1.0),
        ("toolcrib_calls_open", 0.0),
        ("toolcrib_tools_enabled", 1.0),
        ("toolcrib_approvals_pending", 0.0),
        (
            "toolcrib_http_requests_total{method=\"POST\",route=\"/api/v1/calls\",status=\"200\"}",
            3.0,
        ),
    ] {
        assert_eq!(value(&figures.text, line), Some(expected), "{line} in {}", figures.text);
    }
    assert!(figures.text.ends_with("# EOF\n"));
    daemon.stop().await;
}

/// Unknown paths, names and methods do not become labels: the number of metrics stays bounded.
#[tokio::test]
async fn strangers_make_no_figures() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    for number in 0..20 {
        client.get(&format!("/api/v1/none/{number}")).await;
        client
            .send(
                hyper::Method::from_bytes(format!("M{number}").as_bytes()).unwrap(),
                "/healthz",
                None,
            )
            .await;
        let call = json!({"tool": format!("none_{number}"), "arguments": {}});
        client.post("/api/v1/calls", &call).await;
    }
    let text = client.get("/metrics").await.text;
    let requests = text.lines().filter(|line| line.starts_with("toolcrib_http_requests_total{"));
    assert!(requests.clone().count() <= 4, "{text}");
    let calls = text.lines().filter(|line| line.starts_with("toolcrib_calls_total{"));
    assert_eq!(calls.count(), 1, "{text}");
    daemon.stop().await;
}

#[tokio::test]
async fn runs_and_tokens_are_counted() {
    let script = "turns:\n  - say: Hello.\n    usage: {input: 7, output: 3}\n";
    let daemon = TestDaemon::with(Plan { script: script.to_owned(), ..Plan::default() }).await;
    let client = daemon.client();
    client.post("/api/v1/runs", &json!({"text": "Hi.", "wait": true})).await.expect(200);
    let text = client.get("/metrics").await.text;
    assert_eq!(value(&text, "toolcrib_runs_active"), Some(0.0), "{text}");
    let runs = text.lines().filter(|line| line.starts_with("toolcrib_runs_total{"));
    assert_eq!(runs.count(), 1, "{text}");
    assert!(text.contains("toolcrib_model_requests_total{provider="), "{text}");
    daemon.stop().await;
}

#[tokio::test]
async fn every_answer_has_the_id_of_its_request() {
    let daemon = TestDaemon::start().await;
    for path in ["/healthz", "/api/v1/none", "/api/v1/tools"] {
        let answer = daemon.anybody().get(path).await;
        let id = answer.headers["x-request-id"].to_str().unwrap();
        assert!(id.starts_with("req_"), "{path} {id}");
    }
    let answer = daemon.client().with("x-request-id", "mine.1").get("/api/v1/tools").await;
    assert_eq!(answer.headers["x-request-id"], "mine.1");
    daemon.stop().await;
}
