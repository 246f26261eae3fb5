//! Built-in tools: result format and exact error texts, as in a provider's message.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::{Permission, PermissionState};
use toolcrib_providers::Format;
use toolcrib_testkit::ScriptedTool;

use crate::fixture::FixtureBuilder;
use crate::response_bodies::anthropic;
use crate::test_case::{TestCase, case};
use crate::web_server::closed_port;

/// Returns the `tool_result` block of one call.
async fn block(start: FixtureBuilder, name: &str, args: Value) -> Value {
    let body = anthropic(&[("toolu_1", name, args)]);
    start.open().await.exec(Format::Anthropic, body).await["messages"][0]["content"][0].clone()
}

/// Returns a failed block with this result.
fn failed(result: Value) -> Value {
    json!({
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "is_error": true,
        "content": [{"type": "text", "text": {"json": result}}],
    })
}

pub(super) fn rows() -> Vec<TestCase> {
    [forms(), scenarios()].into_iter().flatten().collect()
}

fn forms() -> Vec<TestCase> {
    vec![
        case(
            "Success: {\"status\": \"success\", \"result\": …}",
            async |s| {
                let tool = Arc::new(ScriptedTool::new("echo"));
                json!(
                    s.tool(&tool)
                        .open()
                        .await
                        .toolcrib
                        .call("echo", json!({}).into(), toolcrib_core::Origin::Model)
                        .await
                        .unwrap()
                        .outcome()
                        .unwrap()
                        .to_wire()
                        .to_string()
                )
            },
            json!(r#"{"status":"success","result":"done"}"#),
        ),
        case(
            "Error: {\"status\": \"error\", \"error_type\": …, \"message\": …}",
            async |s| {
                let w = s.open().await;
                let answer = w
                    .toolcrib
                    .call(
                        "read_file",
                        json!({"path": "no.md"}).into(),
                        toolcrib_core::Origin::Model,
                    )
                    .await;
                json!(answer.unwrap().outcome().unwrap().to_wire().to_string())
            },
            json!(
                r#"{"status":"error","error_type":"file_not_found","message":"File not found: no.md"}"#
            ),
        ),
    ]
}

fn scenarios() -> Vec<TestCase> {
    vec![
        case(
            "1. Tool not found: \"Tool [name] is not available\"",
            async |s| block(s, "make_coffee", json!({})).await,
            failed(json!({
                "status": "error",
                "error_type": "tool_not_found",
                "message": "Tool make_coffee is not available…",
            })),
        ),
        case(
            "1. … and the model can try a different approach: near names",
            async |s| block(s, "raed_file", json!({})).await,
            failed(json!({"message": "Tool raed_file is not available. Did you mean read_file…"})),
        ),
        case(
            "2. Parameter validation failure: details, so that the model can correct and retry",
            async |s| block(s, "write_file", json!({"path": 7})).await,
            failed(
                json!({"status": "error", "error_type": "validation_error", "message": "…content…"}),
            ),
        ),
        case(
            "3. Permission denied: \"Permission [X] was denied by the user\"",
            async |s| {
                block(
                    s.permission(Permission::FsRead, PermissionState::Denied),
                    "read_file",
                    json!({"path": "a"}),
                )
                .await
            },
            failed(json!({
                "status": "error",
                "error_type": "permission_denied",
                "message": "Permission fs_read was denied by the user…",
            })),
        ),
        case(
            "4. Execution timeout: \"Tool execution timed out after Ns\"",
            async |s| {
                let slow = ScriptedTool::new("slow").hangs();
                let slow = Arc::new(slow.spec(|spec| {
                    (spec.timeout, spec.attempts) = (Duration::from_millis(30), 1);
                }));
                block(s.tool(&slow), "slow", json!({})).await
            },
            failed(json!({
                "status": "error",
                "error_type": "timeout",
                "message": "Tool execution timed out after 0.03s",
            })),
        ),
        case(
            "4. … of a built-in: a server that never answers, with the owner's timeout",
            async |s| {
                let s = s.settings(|settings| {
                    settings.engine.tools.entry("http_request".to_owned()).or_default().timeout =
                        Some(Duration::from_millis(400));
                });
                // A call that only reads would be retried, with increasing delays.
                let w = s.approving(1).open().await;
                w.call("http_request", json!({"url": w.web.url("/hang"), "method": "POST"})).await
            },
            json!({
                "status": "error",
                "error_type": "timeout",
                "outcome": "timed_out",
                "message": "The request to 127.0.0.1:… timed out after 1 s while waiting…",
            }),
        ),
        case(
            "5. Tool crash: execution error to the model with the error message",
            async |s| {
                block(
                    s.tool(&Arc::new(ScriptedTool::new("bad").does(|_, _| panic!("null pointer")))),
                    "bad",
                    json!({}),
                )
                .await
            },
            failed(json!({"status": "error", "message": "Tool bad crashed: null pointer…"})),
        ),
        case(
            "6. File not found: \"File not found: [path]\"",
            async |s| block(s, "read_file", json!({"path": "deep/in/notes.md"})).await,
            failed(json!({
                "status": "error",
                "error_type": "file_not_found",
                "message": "File not found: deep/in/notes.md",
            })),
        ),
        case(
            "6. … with the name that was probably meant",
            async |s| block(s.file("notes.md", "x"), "read_file", json!({"path": "note.md"})).await,
            failed(json!({"message": "File not found: note.md\nDid you mean notes.md?"})),
        ),
        case(
            "7. Network error in HTTP tool: DNS failure",
            async |s| {
                let args = json!({"url": "http://no-such-host.example.com/", "method": "PATCH"});
                s.approving(1).call("http_request", args).await
            },
            json!({
                "status": "error",
                "error_type": "network_error",
                "message": "The host name could not be resolved…",
            }),
        ),
        case(
            "7. … connection refused",
            async |s| {
                let closed = closed_port().await;
                let s =
                    s.settings(|settings| settings.allow_net.push(closed.to_string())).approving(1);
                s.call(
                    "http_request",
                    json!({"url": format!("http://{closed}/"), "method": "POST"}),
                )
                .await
            },
            json!({
                "status": "error",
                "error_type": "network_error",
                "message": "Could not connect to 127.0.0.1…",
            }),
        ),
        case(
            "7. … server error: the HTTP status code",
            async |s| {
                let w = s.open().await;
                w.call("http_request", json!({"url": w.web.url("/status/502-Bad-Gateway")})).await
            },
            json!({"status": "success", "result": "HTTP 502 Bad Gateway…"}),
        ),
        case(
            "7. … an answer that is not HTTP",
            async |s| {
                let w = s.approving(1).open().await;
                w.call("http_request", json!({"url": w.web.url("/garbage"), "method": "POST"}))
                    .await
            },
            json!({"status": "error", "error_type": "network_error", "message": "…did not answer in HTTP…"}),
        ),
    ]
}
