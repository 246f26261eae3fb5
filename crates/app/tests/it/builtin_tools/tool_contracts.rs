//! Built-in tools: parameters, permissions, timeouts and results, definition format, and timeout
//! handling.

use serde_json::{Value, json};

use crate::fixture::FixtureBuilder;
use crate::test_case::{TestCase, case};

/// Returns the definition for a settings page or a provider.
async fn definition(start: FixtureBuilder, name: &str) -> Value {
    let w = start.open().await;
    let spec = w.toolcrib.spec(name).unwrap();
    json!({
        "description": spec.description,
        "required": spec.input_schema.get("required").cloned().unwrap_or_else(|| json!([])),
        "properties": spec.input_schema["properties"],
        "permissions": spec.permissions.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "timeout": spec.timeout.as_secs(),
    })
}

pub(super) fn rows() -> Vec<TestCase> {
    [definitions(), returns()].into_iter().flatten().collect()
}

fn definitions() -> Vec<TestCase> {
    vec![
        case(
            "1. get_current_time: timezone and format optional, no permissions, 5 seconds",
            async |s| definition(s, "get_current_time").await,
            json!({
                "description": "Get the current date and time…", "required": [], "permissions": [], "timeout": 5,
                "properties": {"timezone": {"description": "…"}, "format": {"description": "…"}},
            }),
        ),
        case(
            "2. read_file: path required, encoding optional, 10 seconds",
            async |s| definition(s, "read_file").await,
            json!({
                "description": "…", "required": ["path"], "permissions": ["fs_read"], "timeout": 10,
                "properties": {"path": {"type": "string"}, "encoding": {"description": "…utf-8 (default)…"}},
            }),
        ),
        case(
            "3. write_file: path and content required, mode optional, 10 seconds",
            async |s| definition(s, "write_file").await,
            json!({
                "description": "…", "required": ["path", "content"], "permissions": ["fs_read", "fs_write"], "timeout": 10,
                "properties": {
                    "path": {"type": "string"}, "content": {"type": "string"},
                    "mode": {"description": "overwrite (default)…append…"},
                },
            }),
        ),
        case(
            "4. http_request: url required, method, headers and body optional, INTERNET, 30 seconds",
            async |s| definition(s, "http_request").await,
            json!({
                "description": "…", "required": ["url"], "permissions": ["network"], "timeout": 30,
                "properties": {
                    "url": {"type": "string"}, "method": {"description": "…Default: GET…"},
                    "headers": {"description": "…"}, "body": {"description": "…"},
                },
            }),
        ),
        case(
            "recommended defaults by tool type: simple queries 5 s, local files 10 s, network 30 s",
            async |s| {
                let w = s.open().await;
                let seconds = |name: &str| w.toolcrib.spec(name).unwrap().timeout.as_secs();
                json!(
                    ["get_current_time", "list_dir", "delete_file", "find_files", "http_request"]
                        .map(seconds)
                )
            },
            json!([5, 10, 10, 10, 30]),
        ),
    ]
}

fn returns() -> Vec<TestCase> {
    vec![
        case(
            "read_file: encoding",
            async |s| {
                let s = s.file("old.txt", b"Gr\xfc\xdfe");
                s.call("read_file", json!({"path": "old.txt", "encoding": "windows-1252"})).await
            },
            json!({"status": "success", "result": "Grüße"}),
        ),
        case(
            "read_file: an encoding that does not exist is a distinct error",
            async |s| {
                s.file("a.txt", "x")
                    .call("read_file", json!({"path": "a.txt", "encoding": "klingon"}))
                    .await
            },
            json!({"error_type": "validation_error", "message": "There is no encoding \"klingon\"…"}),
        ),
        case(
            "read_file: for binary files, an error suggesting a different approach",
            async |s| {
                s.file("a.png", b"\x89PNG\r\n\x1a\n\0\0\0")
                    .call("read_file", json!({"path": "a.png"}))
                    .await
            },
            json!({"error_type": "execution_error", "message": "a.png is a binary file…file_info…"}),
        ),
        case(
            "read_file: a folder is a distinct error",
            async |s| s.file("notes/a.txt", "x").call("read_file", json!({"path": "notes"})).await,
            json!({
                "error_type": "validation_error",
                "message": "notes is a folder, not a file. Use list_dir…",
            }),
        ),
        case(
            "write_file: confirmation with file path and bytes written; missing folders are made",
            async |s| {
                let w = s.open().await;
                let args = json!({"path": "new/deep/a.txt", "content": "äöü"});
                json!([w.call("write_file", args).await, w.text("new/deep/a.txt")])
            },
            json!([
                {
                    "status": "success",
                    "result": "Successfully wrote 6 bytes to new/deep/a.txt (mode: overwrite)",
                    "trust": null,
                },
                "äöü",
            ]),
        ),
        case(
            "write_file: append to a file that is missing makes it",
            async |s| {
                let w = s.open().await;
                w.call(
                    "write_file",
                    json!({"path": "log.txt", "content": "1\n", "mode": "append"}),
                )
                .await;
                w.text("log.txt")
            },
            json!("1\n"),
        ),
        case(
            "http_request returns status code, headers, and body",
            async |s| {
                let w = s.open().await;
                w.call("http_request", json!({"url": w.web.url("/json")})).await
            },
            json!({
                "status": "success", "trust": "external", "source": "http://127.0.0.1:…/json",
                "result": "HTTP 200 OK\ncontent-type: application/json\ncontent-length: 17\n…{\"price\":67123.5}",
            }),
        ),
        case(
            "http_request: no restriction on HTTP, and other schemes are refused",
            async |s| {
                let w = s.open().await;
                json!([
                    w.call("http_request", json!({"url": w.web.url("/json")})).await["status"],
                    w.call("http_request", json!({"url": "ftp://127.0.0.1/a"})).await,
                    w.call("http_request", json!({"url": "file:///etc/passwd"})).await,
                ])
            },
            json!([
                "success",
                {"error_type": "policy_denied", "message": "…may not be reached…"},
                {"error_type": "policy_denied", "message": "…may not be reached…"},
            ]),
        ),
        case(
            "http_request: methods that change something are asked for, and with nobody to ask they are not sent",
            async |s| {
                let w = s.open().await;
                let mut ended = Vec::new();
                for method in ["POST", "PUT", "DELETE"] {
                    let args = json!({"url": w.web.url("/echo"), "method": method});
                    ended.push(w.call("http_request", args).await["error_type"].clone());
                }
                json!({"ended": ended, "seen": w.web.requests()})
            },
            json!({"ended": ["approval_denied", "approval_denied", "approval_denied"], "seen": []}),
        ),
    ]
}
