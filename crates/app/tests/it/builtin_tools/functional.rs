//! Built-in tools: functional tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::{
    Batch, Call, Decision, Origin, Permission, PermissionState, ReasonKind, ViewRequest,
};
use toolcrib_providers::Format;
use toolcrib_testkit::{ScriptedApprover, ScriptedTool};

use crate::fixture::FixtureBuilder;
use crate::response_bodies::{anthropic, chat};
use crate::test_case::{TestCase, case};

pub(super) fn rows() -> Vec<TestCase> {
    [times(), files_and_http(), endings(), permissions(), several()].into_iter().flatten().collect()
}

/// Returns the time in a result, compared with the clock and with the offset of the zone.
async fn time(start: FixtureBuilder, args: Value, offset: &str) -> Value {
    let before = jiff::Timestamp::now().as_second();
    let said = start.call("get_current_time", args).await;
    let after = jiff::Timestamp::now().as_second();
    let text = said["result"].as_str().unwrap();
    let second = text.parse::<jiff::Timestamp>().unwrap().as_second();
    json!({"is now": (before..=after).contains(&second), "in the zone": text.ends_with(offset), "text": text})
}

fn times() -> Vec<TestCase> {
    let right = || json!({"is now": true, "in the zone": true});
    vec![
        case(
            "get_current_time returns correct time in the default timezone",
            async |s| {
                let offset = jiff::Zoned::now().strftime("%:z").to_string();
                time(s, json!({}), &offset).await
            },
            right(),
        ),
        case(
            "get_current_time … and specified timezones: an IANA name",
            async |s| time(s, json!({"timezone": "Asia/Kathmandu"}), "+05:45").await,
            right(),
        ),
        case(
            "get_current_time … ISO8601 by name",
            async |s| time(s, json!({"timezone": "UTC", "format": "ISO8601"}), "+00:00").await,
            right(),
        ),
        case(
            "get_current_time … human_readable",
            async |s| {
                let args = json!({"timezone": "UTC", "format": "human_readable"});
                s.call("get_current_time", args).await
            },
            json!({"result": "…day, … …, 20… at …:…:… …M UTC"}),
        ),
        case(
            "get_current_time: a timezone that does not exist is named",
            async |s| s.call("get_current_time", json!({"timezone": "Mars/Olympus"})).await,
            json!({"status": "error", "error_type": "validation_error", "message": "…\"Mars/Olympus\"…"}),
        ),
    ]
}

async fn requests(start: FixtureBuilder, args: &[Value]) -> Value {
    let world = start.approving(args.len()).open().await;
    let mut said = Vec::new();
    for args in args {
        let mut args = args.clone();
        args["url"] = json!(world.web.url(args["url"].as_str().unwrap()));
        said.push(world.call("http_request", args).await["result"].clone());
    }
    json!({"said": said, "seen": world.web.requests()})
}

fn files_and_http() -> Vec<TestCase> {
    vec![
        case(
            "read_file reads file contents correctly",
            async |s| {
                s.file("notes.md", "# Notes\nGrüße 🦀\n")
                    .call("read_file", json!({"path": "notes.md"}))
                    .await
            },
            json!({
                "status": "success",
                "result": "# Notes\nGrüße 🦀\n",
                "trust": "workspace",
                "source": "notes.md",
            }),
        ),
        case(
            "read_file returns error for non-existent file",
            async |s| s.call("read_file", json!({"path": "gone.txt"})).await,
            json!({"status": "error", "error_type": "file_not_found", "message": "File not found: gone.txt"}),
        ),
        case(
            "write_file writes content correctly (overwrite …",
            async |s| {
                let w = s.file("a.txt", "old and longer").open().await;
                let said = w.call("write_file", json!({"path": "a.txt", "content": "neu ü"})).await;
                json!({"said": said, "file": w.text("a.txt")})
            },
            json!({
                "said": {"result": "Successfully wrote 6 bytes to a.txt (mode: overwrite)"},
                "file": "neu ü",
            }),
        ),
        case(
            "… and append modes)",
            async |s| {
                let w = s.file("a.txt", "one\n").open().await;
                let args = json!({"path": "a.txt", "content": "two\n", "mode": "append"});
                let said = w.call("write_file", args).await;
                json!({"said": said, "file": w.text("a.txt")})
            },
            json!({
                "said": {"result": "Successfully wrote 4 bytes to a.txt (mode: append)"},
                "file": "one\ntwo\n",
            }),
        ),
        case(
            "http_request makes GET/POST requests correctly (and PUT, DELETE)",
            async |s| {
                let sent = [
                    json!({"url": "/json"}),
                    json!({"url": "/echo", "method": "POST", "body": "{\"a\":1}", "headers": {"X-Own": "7"}}),
                    json!({"url": "/echo", "method": "PUT", "body": "plain"}),
                    json!({"url": "/echo", "method": "DELETE"}),
                ];
                requests(s, &sent).await
            },
            json!({
                "said": [
                    "HTTP 200 OK…content-type: application/json…{\"price\":67123.5}",
                    "HTTP 200 OK…POST /echo HTTP/1.1…x-own: 7…{\"a\":1}",
                    "HTTP 200 OK…PUT /echo HTTP/1.1…plain",
                    "HTTP 200 OK…DELETE /echo HTTP/1.1…",
                ],
                "seen": ["GET /json", "POST /echo", "PUT /echo", "DELETE /echo"],
            }),
        ),
        case(
            "http_request: a JSON body is sent as application/json",
            async |s| {
                requests(s, &[json!({"url": "/echo", "method": "POST", "body": "[1]"})]).await
            },
            json!({"said": ["…content-type: application/json\r…[1]"]}),
        ),
        case(
            "http_request handles various HTTP status codes, each as a result and asked once",
            async |s| {
                let codes = [
                    "201-Created",
                    "204-No-Content",
                    "404-Not-Found",
                    "418-I'm-a-teapot",
                    "500-Internal-Server-Error",
                    "503-Service-Unavailable",
                ];
                requests(s, &codes.map(|code| json!({"url": format!("/status/{code}")}))).await
            },
            json!({
                "said": [
                    "HTTP 201 Created…a body", "HTTP 204 No Content…", "HTTP 404 Not Found…a body",
                    "HTTP 418 I'm a teapot…a body", "HTTP 500 Internal Server Error…a body",
                    "HTTP 503 Service Unavailable…a body",
                ],
                "seen": ["…", "…", "…", "…", "…", "…"],
            }),
        ),
    ]
}

fn endings() -> Vec<TestCase> {
    vec![
        case(
            "tool timeout aborts execution and returns error",
            async |s| {
                let token = Arc::new(Mutex::new(None));
                let kept = Arc::clone(&token);
                let slow = ScriptedTool::new("slow").does(move |ctx, _| {
                    *kept.lock().unwrap() = Some(ctx.cancel.clone());
                    Box::pin(std::future::pending())
                });
                let slow = Arc::new(
                    slow.spec(|spec| (spec.timeout, spec.attempts) = (Duration::from_secs(7), 1)),
                );
                let w = s.tool(&slow).open().await;
                tokio::time::pause();
                let begun = tokio::time::Instant::now();
                let said = w.call("slow", json!({})).await;
                let told = token.lock().unwrap().as_ref().is_some_and(|token| token.is_cancelled());
                json!({"said": said, "seconds": begun.elapsed().as_secs(), "told to stop": told})
            },
            json!({
                "said": {
                    "status": "error", "error_type": "timeout", "outcome": "timed_out",
                    "message": "Tool execution timed out after 7s",
                },
                "seconds": 7, "told to stop": true,
            }),
        ),
        case(
            "tool crash is caught and returns error (app stays alive)",
            async |s| {
                let broken = ScriptedTool::new("broken").does(|_, _| {
                    Box::pin(async {
                        tokio::task::yield_now().await;
                        panic!("index out of range")
                    })
                });
                let w = s.tool(&Arc::new(broken)).file("a.txt", "alive").open().await;
                let crashed = w.call("broken", json!({})).await;
                json!([crashed, w.call("read_file", json!({"path": "a.txt"})).await])
            },
            json!([
                {
                    "status": "error",
                    "error_type": "crashed",
                    "message": "Tool broken crashed: index out of range…",
                },
                {"status": "success", "result": "alive"},
            ]),
        ),
        case(
            "unavailable tool returns \"not available\" error",
            async |s| s.call("send_rocket", json!({})).await,
            json!({
                "status": "error",
                "error_type": "tool_not_found",
                "message": "Tool send_rocket is not available…",
            }),
        ),
        case(
            "… also a tool that this agent does not have",
            async |s| {
                let w = s.file("a.txt", "x").open().await;
                let view = ViewRequest {
                    agent: Some(vec!["get_current_time".to_owned()]),
                    ..ViewRequest::default()
                };
                let call = Call::new("read_file", json!({"path": "a.txt"}));
                let batch = Batch { view: Arc::new(view), ..Batch::new(Origin::Model, vec![call]) };
                json!(w.all(batch).await)
            },
            json!([
                {
                    "error_type": "tool_not_available",
                    "message": "Tool read_file is not available: …agent's tool list…",
                },
            ]),
        ),
        case(
            "invalid parameters return validation error",
            async |s| {
                let w = s.open().await;
                json!([
                    w.call("read_file", json!({"path": ["a.txt"]})).await,
                    w.call("write_file", json!({"path": "a.txt"})).await,
                    w.call(
                        "write_file",
                        json!({"path": "a.txt", "content": "x", "mode": "prepend"})
                    )
                    .await,
                    w.text("a.txt"),
                ])
            },
            json!([
                {"error_type": "validation_error", "message": "…path…string…"},
                {"error_type": "validation_error", "message": "…content…"},
                {"error_type": "validation_error", "message": "…mode…overwrite…append…"},
                null,
            ]),
        ),
    ]
}

fn permissions() -> Vec<TestCase> {
    vec![
        case(
            "permission dialog appears when needed, and the call proceeds when it is granted",
            async |s| {
                let person = Arc::new(ScriptedApprover::approving(1));
                let s =
                    s.permission(Permission::FsWrite, PermissionState::Undecided).asking(&person);
                let w = s.open().await;
                let read = w.call("list_dir", json!({})).await;
                let said = w.call("write_file", json!({"path": "a.txt", "content": "x"})).await;
                let asked: Vec<Value> = person
                    .asked()
                    .iter()
                    .map(|a| {
                        json!([
                            a.operation,
                            a.reasons[0].kind == ReasonKind::Permission,
                            a.reasons[0].text
                        ])
                    })
                    .collect();
                json!({"read": read["status"], "said": said["status"], "asked": asked, "file": w.text("a.txt")})
            },
            json!({
                "read": "success", "said": "success", "file": "x",
                "asked": [["write_file", true, "Permission fs_write"]],
            }),
        ),
        case(
            "permission denial returns error to model",
            async |s| {
                let w = s.permission(Permission::Network, PermissionState::Denied).open().await;
                let said = w.call("http_request", json!({"url": w.web.url("/json")})).await;
                json!({"said": said, "seen": w.web.requests()})
            },
            json!({
                "said": {
                    "status": "error",
                    "error_type": "permission_denied",
                    "message": "Permission network was denied by the user…",
                },
                "seen": [],
            }),
        ),
        case(
            "previously denied with \"Don't ask again\": an error that points to the settings",
            async |s| {
                let s = s
                    .permission(
                        Permission::FsRead,
                        PermissionState::DeniedForGood { change: "a switch".into() },
                    )
                    .file("a.txt", "x");
                s.call("read_file", json!({"path": "a.txt"})).await
            },
            json!({
                "error_type": "permission_denied",
                "message": "Permission fs_read was denied by the user…settings…",
            }),
        ),
        case(
            "a person who says no in the dialog is heard: the call is not run",
            async |s| {
                let no = Arc::new(ScriptedApprover::deciding([Decision::Deny { note: None }]));
                let s = s.permission(Permission::FsWrite, PermissionState::Undecided).asking(&no);
                let w = s.open().await;
                let said = w.call("write_file", json!({"path": "a.txt", "content": "x"})).await;
                json!({"said": said, "file": w.text("a.txt")})
            },
            json!({
                "said": {"status": "error", "outcome": "denied", "message": "…denied by the user…"},
                "file": null,
            }),
        ),
    ]
}

/// Follows a chain of files, each of which names the next, with one round of the model per file.
async fn trail(start: FixtureBuilder, rounds: usize) -> Value {
    let mut start = start;
    for n in 0..rounds {
        let next = if n + 1 == rounds { "the end".to_owned() } else { format!("f{}.txt", n + 1) };
        start = start.file(&format!("f{n}.txt"), next);
    }
    let w = start.open().await;
    let (mut next, mut read) = ("f0.txt".to_owned(), Vec::new());
    for round in 0..rounds {
        let id = format!("call_{round}");
        let body = chat(&[(&id, "read_file", json!({"path": next}))]);
        let message = w.exec(Format::OpenAiChat, body).await["messages"][0].clone();
        assert_eq!(message["tool_call_id"], json!(id));
        next = message["content"]["json"]["result"].as_str().unwrap().to_owned();
        read.push(next.clone());
    }
    json!({"rounds": read.len(), "last": next})
}

fn several() -> Vec<TestCase> {
    let definition = |format| {
        move |s: FixtureBuilder| async move {
            let declared = s.open().await.toolcrib.declare(format, &Arc::default(), false).value;
            let tools = declared[0]
                .get("functionDeclarations")
                .unwrap_or(&declared)
                .as_array()
                .unwrap()
                .clone();
            tools.into_iter().find(|tool| tool.to_string().contains("\"read_file\"")).unwrap()
        }
    };
    let schema = json!({
        "type": "object", "required": ["path"],
        "properties": {
            "path": {"type": "string", "description": "…"},
            "encoding": {"type": "…", "description": "…"},
        },
    });
    vec![
        case(
            "multi-tool calls execute correctly",
            async |s| {
                let w = s.file("a.txt", "A").open().await;
                let calls = [
                    ("toolu_1", "read_file", json!({"path": "a.txt"})),
                    ("toolu_2", "write_file", json!({"path": "b.txt", "content": "B"})),
                    ("toolu_3", "get_current_time", json!({"timezone": "UTC"})),
                ];
                let reply = w.exec(Format::Anthropic, anthropic(&calls)).await;
                json!({"messages": reply["messages"], "b": w.text("b.txt")})
            },
            json!({
                "messages": [{"role": "user", "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "is_error": null,
                        "content": [{"text": {"json": {"result": "A"}}}],
                    },
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_2",
                        "content": [{"text": {"json": {"status": "success"}}}],
                    },
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_3",
                        "content": [{"text": {"json": {"result": "…+00:00"}}}],
                    },
                ]}],
                "b": "B",
            }),
        ),
        case(
            "chained tool calls work (result of tool A triggers tool B)",
            async |s| trail(s, 2).await,
            json!({"rounds": 2, "last": "the end"}),
        ),
        case(
            "tool call chain with 10+ rounds",
            async |s| trail(s, 12).await,
            json!({"rounds": 12, "last": "the end"}),
        ),
        case(
            "tool definitions convert correctly for OpenAI",
            definition(Format::OpenAiChat),
            json!({
                "type": "function",
                "function": {"name": "read_file", "description": "…", "parameters": schema},
            }),
        ),
        case(
            "… OpenAI Responses",
            definition(Format::OpenAiResponses),
            json!({"type": "function", "name": "read_file", "description": "…", "parameters": schema}),
        ),
        case(
            "… Anthropic",
            definition(Format::Anthropic),
            json!({"name": "read_file", "description": "…", "input_schema": schema}),
        ),
        case(
            "… Gemini",
            definition(Format::Gemini),
            json!({
                "name": "read_file", "description": "…",
                "parameters": {
                    "type": "OBJECT",
                    "required": ["path"],
                    "properties": {"path": {"type": "STRING"}},
                },
            }),
        ),
    ]
}
