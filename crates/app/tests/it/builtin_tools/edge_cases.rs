//! Built-in tools: performance bounds that need no wall clock, security, and edge cases.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;
use std::time::Duration;

use futures_util::poll;
use serde_json::{Value, json};
use toolcrib_core::{
    Answer, ArtifactRef, Batch, Call, Context, Invoker as _, Origin, Permission, PermissionState,
    ToolOutput,
};
use toolcrib_providers::Format;
use toolcrib_testkit::ScriptedTool;

use crate::response_bodies::chat;
use crate::test_case::{TestCase, case};

pub(super) fn performance() -> Vec<TestCase> {
    vec![
        case(
            "tool registration at app startup: all built-in tools are there before the first call",
            async |s| {
                let w = s.open().await;
                json!([
                    w.toolcrib.infos().len(),
                    w.toolcrib
                        .declare(Format::OpenAiChat, &Arc::default(), false)
                        .value
                        .as_array()
                        .unwrap()
                        .len()
                ])
            },
            json!([57, 44]),
        ),
        case(
            "responsiveness during tool execution: a file tool does not hold the thread that called it",
            async |s| {
                let w = s.file("a.txt", "read").open().await;
                // All threads for blocking work are occupied, so the tool cannot run; a tool that
                // ran on this thread would finish at the first poll.
                let held: Vec<_> = (0..4)
                    .map(|_| {
                        let (release, wait) = std::sync::mpsc::channel::<()>();
                        (release, tokio::task::spawn_blocking(move || wait.recv()))
                    })
                    .collect();
                let mut call = Box::pin(w.call("read_file", json!({"path": "a.txt"})));
                let waits = poll!(call.as_mut()).is_pending();
                drop(held);
                json!([waits, call.await])
            },
            json!([true, {"result": "read"}]),
        ),
        case(
            "concurrent tool execution: 16 calls of 10 ms take 10 ms together",
            async |s| {
                let nap = Arc::new(ScriptedTool::new("nap").does(|_, args| {
                    let n = args["n"].clone();
                    Box::pin(async move {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                        Ok(ToolOutput::structured(n))
                    })
                }));
                let w = s.tool(&nap).open().await;
                tokio::time::pause();
                let begun = tokio::time::Instant::now();
                let calls = (0..16).map(|n| Call::new("nap", json!({"n": n}))).collect();
                let said = w.all(Batch::new(Origin::Model, calls)).await;
                let order: Vec<&Value> = said.iter().map(|said| &said["result"]).collect();
                json!({"together": begun.elapsed().as_millis() < 20, "order": order, "runs": nap.runs()})
            },
            json!({"together": true, "order": (0..16).collect::<Vec<_>>(), "runs": 16}),
        ),
        case(
            "… and no more than 32 of a batch run at once: 33 take twice as long",
            async |s| {
                let nap = Arc::new(ScriptedTool::new("nap").does(|_, _| {
                    Box::pin(async {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                        Ok(ToolOutput::text("up"))
                    })
                }));
                let w = s.tool(&nap).open().await;
                tokio::time::pause();
                let begun = tokio::time::Instant::now();
                let calls = (0..33).map(|n| Call::new("nap", json!({"n": n}))).collect();
                let said = w.all(Batch::new(Origin::Model, calls)).await;
                json!([said.len(), (20..30).contains(&begun.elapsed().as_millis())])
            },
            json!([33, true]),
        ),
    ]
}

pub(super) fn security() -> Vec<TestCase> {
    vec![
        case(
            "file tools cannot access app-internal storage, even inside the workspace",
            async |s| {
                let s = s
                    .settings(|settings| settings.state = settings.roots[0].join("state"))
                    .file("state/key", "k3y")
                    .file("x/a.txt", "x")
                    .file("a.txt", "x");
                let w = s.open().await;
                let mut ended = Vec::new();
                for (name, args) in [
                    ("read_file", json!({"path": "state/key"})),
                    ("read_file", json!({"path": "./x/../state/key"})),
                    ("write_file", json!({"path": "state/key", "content": "x"})),
                    ("list_dir", json!({"path": "state"})),
                    ("copy_path", json!({"from": "state/key", "to": "mine"})),
                    ("move_path", json!({"from": "a.txt", "to": "state/a.txt"})),
                ] {
                    ended.push(w.call(name, args).await["error_type"].clone());
                }
                let found = w.call("find_files", json!({"pattern": "*key*"})).await["result"]
                    .to_string()
                    .contains("state/key");
                json!({"ended": ended, "found": found, "key": w.text("state/key"), "copy": w.text("mine")})
            },
            json!({"ended": vec!["path_not_allowed"; 6], "found": false, "key": "k3y", "copy": null}),
        ),
        case(
            "… nor leave the workspace: dots, absolute paths, links",
            async |s| {
                let w = s.outside_file("secret.txt", "s3cret").file("a/b.txt", "b").open().await;
                symlink(w.outside_path("secret.txt"), w.file_path("link")).unwrap();
                symlink(w.outside_path(""), w.file_path("folder")).unwrap();
                let absolute = w.outside_path("secret.txt").to_str().unwrap().to_owned();
                let mut said = Vec::new();
                for path in [
                    "../secret.txt",
                    "a/../../secret.txt",
                    &absolute,
                    "link",
                    "folder/secret.txt",
                    "/etc/passwd",
                    "/proc/self/environ",
                ] {
                    let answer = w.call("read_file", json!({"path": path})).await;
                    said.push(answer["error_type"].clone());
                    let answer = w.call("write_file", json!({"path": path, "content": "x"})).await;
                    said.push(answer["error_type"].clone());
                }
                json!({"said": said, "secret": std::fs::read_to_string(w.outside_path("secret.txt")).unwrap()})
            },
            json!({"said": vec!["path_not_allowed"; 14], "secret": "s3cret"}),
        ),
        case(
            "… and the answer is the same whether the target exists or not",
            async |s| {
                let w = s.outside_file("secret.txt", "s3cret").open().await;
                let there = w.call("read_file", json!({"path": "../secret.txt"})).await["message"]
                    .to_string();
                let gone = w.call("read_file", json!({"path": "../nothing.tx"})).await["message"]
                    .to_string();
                json!(there.replace("secret.txt", "P") == gone.replace("nothing.tx", "P"))
            },
            json!(true),
        ),
        case(
            "a path given as a sibling with the root's name as prefix is outside",
            async |s| {
                let w = s.open().await;
                std::fs::create_dir(w.outside_path("shop-secrets")).unwrap();
                std::fs::write(w.outside_path("shop-secrets/a"), "s").unwrap();
                w.call("read_file", json!({"path": "../shop-secrets/a"})).await
            },
            json!({"error_type": "path_not_allowed"}),
        ),
        case(
            "tool results are stored for their owner alone, in a folder that only the account enters",
            async |s| {
                let w = s
                    .file("long.txt", "secret line\n".repeat(5000))
                    .settings(|settings| settings.database = Some(settings.state.join("db")))
                    .open()
                    .await;
                let context = |owner: &str| {
                    Arc::new(Context { owner: owner.to_owned(), ..Context::default() })
                };
                let by = |owner: &str, call| Batch {
                    context: context(owner),
                    ..Batch::new(Origin::Model, vec![call])
                };
                let answers = w
                    .engine()
                    .invoke(by("ann", Call::new("read_file", json!({"path": "long.txt"}))))
                    .await;
                let Answer::Done(outcome) = &answers[0] else { panic!("suspended") };
                let ArtifactRef(stored) = outcome.result.clone().unwrap().artifact.unwrap();
                let read = |owner| {
                    by(owner, Call::new("read_artifact", json!({"ref": stored, "limit": 11})))
                };
                let folder = std::fs::metadata(w.outside_path("state/db.artifacts")).unwrap();
                let mode = folder.permissions().mode();
                json!({
                    "ann": w.all(read("ann")).await,
                    "bob": w.all(read("bob")).await,
                    "open to others": mode & 0o077,
                })
            },
            json!({
                "ann": [{"status": "success", "result": "secret line…"}],
                "bob": [{"status": "error"}],
                "open to others": 0,
            }),
        ),
        case(
            "cookies in a response are masked",
            async |s| {
                let w = s.open().await;
                json!(
                    w.call("http_request", json!({"url": w.web.url("/json")})).await["result"]
                        .as_str()
                        .unwrap()
                        .contains("s3cr3t")
                )
            },
            json!(false),
        ),
        case(
            "tools respect the permission model: each tool's own, no more",
            async |s| {
                let w = s
                    .permission(Permission::Network, PermissionState::Denied)
                    .file("a.txt", "x")
                    .open()
                    .await;
                json!([
                    w.call("read_file", json!({"path": "a.txt"})).await,
                    w.call("fetch_url", json!({"url": w.web.url("/json")})).await,
                    w.call("http_request", json!({"url": w.web.url("/json")})).await,
                ])
            },
            json!([
                {"status": "success"},
                {"error_type": "permission_denied"},
                {"error_type": "permission_denied"},
            ]),
        ),
    ]
}

pub(super) fn edge_cases() -> Vec<TestCase> {
    [arguments(), far_and_large(), many()].into_iter().flatten().collect()
}

fn arguments() -> Vec<TestCase> {
    vec![
        case(
            "tool called with empty parameters",
            async |s| {
                let w = s.open().await;
                let mut ended = Vec::new();
                for text in ["", "  \n", "{}", "null"] {
                    ended.push(
                        w.one(Call::with_text("get_current_time", text)).await["status"].clone(),
                    );
                }
                json!({"ended": ended, "required": w.one(Call::with_text("read_file", "")).await})
            },
            json!({
                "ended": ["success", "success", "success", "success"],
                "required": {"error_type": "validation_error", "message": "…path…"},
            }),
        ),
        case(
            "tool called with extremely large parameters: 10 MB are taken",
            async |s| {
                let w = s.open().await;
                let content = "x".repeat(10 * 1024 * 1024);
                let said =
                    w.call("write_file", json!({"path": "big.txt", "content": content})).await;
                json!([said, w.text("big.txt").as_str().map(str::len)])
            },
            json!([{"result": "Successfully wrote 10485760 bytes…"}, 10 * 1024 * 1024]),
        ),
        case(
            "… more than 16 MB are refused in a short text, and nothing is written",
            async |s| {
                let w = s.open().await;
                let args =
                    json!({"path": "big.txt", "content": "x".repeat(17 * 1024 * 1024)}).to_string();
                let said = w.one(Call::with_text("write_file", args)).await;
                json!([
                    said,
                    said["message"].as_str().map(|text| text.len() < 4096),
                    w.text("big.txt")
                ])
            },
            json!([{"error_type": "validation_error"}, true, null]),
        ),
        case(
            "… and 10,000 levels of nesting",
            async |s| {
                s.call_text(
                    "read_file",
                    &format!("{{\"path\":{}1{}}}", "[".repeat(10_000), "]".repeat(10_000)),
                )
                .await
            },
            json!({"error_type": "validation_error"}),
        ),
    ]
}

fn far_and_large() -> Vec<TestCase> {
    vec![
        case(
            "HTTP request to unreachable host: tried three times, then a network error",
            async |s| {
                let closed = crate::web_server::closed_port().await;
                let s = s.settings(|settings| settings.allow_net.push(closed.to_string()));
                let w = s.open().await;
                tokio::time::pause();
                let said =
                    w.call("http_request", json!({"url": format!("http://{closed}/")})).await;
                json!([said, w.records().await[1]["attempts"]])
            },
            json!([{"error_type": "network_error", "message": "Could not connect to 127.0.0.1…"}, 3]),
        ),
        case(
            "HTTP request returning very large response body",
            async |s| {
                let w = s.open().await;
                let said = w.call("http_request", json!({"url": w.web.url("/large")})).await;
                let text = said["result"].as_str().unwrap().to_owned();
                json!({"fits": text.chars().count() <= 20_000, "text": text, "artifact": said["artifact"]})
            },
            json!({
                "fits": true, "artifact": "art_…",
                "text": "[Showing …(Response truncated. Showing first 512KB of 977KB total.)",
            }),
        ),
        case(
            "… that never ends",
            async |s| {
                let w = s.open().await;
                w.call("http_request", json!({"url": w.web.url("/endless")})).await
            },
            json!({"status": "success", "result": "[Showing …Showing first 512KB of an unknown total.)"}),
        ),
        case(
            "file read on a very large file, and how to read it in parts",
            async |s| {
                let lines: String = (0..200_000).map(|n| format!("line {n}\n")).collect();
                let w = s.file("big.log", lines).open().await;
                json!([
                    w.call("read_file", json!({"path": "big.log"})).await,
                    w.call("read_file", json!({"path": "big.log", "offset": 150_001, "limit": 2}))
                        .await,
                ])
            },
            json!([
                {"error_type": "file_too_large", "message": "big.log has 2288890 bytes…offset…limit…"},
                {"status": "success", "result": "line 150000\nline 150001\n…"},
            ]),
        ),
        case(
            "file write to a read-only path",
            async |s| {
                let w = s.file("ro.txt", "old").file("dir/a.txt", "old").open().await;
                let mode = |path: &str, mode| {
                    std::fs::set_permissions(
                        w.file_path(path),
                        std::fs::Permissions::from_mode(mode),
                    )
                    .unwrap();
                };
                mode("ro.txt", 0o444);
                mode("dir", 0o555);
                let said = [
                    w.call("write_file", json!({"path": "ro.txt", "content": "x"})).await,
                    w.call(
                        "write_file",
                        json!({"path": "ro.txt", "content": "x", "mode": "append"}),
                    )
                    .await,
                    w.call("write_file", json!({"path": "dir/new.txt", "content": "x"})).await,
                ];
                mode("dir", 0o755);
                json!({"said": said, "files": [w.text("ro.txt"), w.text("dir/new.txt")]})
            },
            json!({
                "said": [
                    {"status": "error", "message": "ro.txt is read-only…"},
                    {"status": "error", "message": "ro.txt is read-only…"},
                    {"status": "error", "message": "dir/new.txt is read-only…"},
                ],
                "files": ["old", null],
            }),
        ),
    ]
}

fn many() -> Vec<TestCase> {
    vec![
        case(
            "multiple tool calls requested simultaneously: calls on one file keep the order of the model",
            async |s| {
                let w = s.open().await;
                let args: Vec<Value> = (0..20)
                    .map(|n| {
                        json!({
                            "path": "log.txt",
                            "content": format!("{n} "),
                            "mode": "append",
                        })
                    })
                    .collect();
                let ids: Vec<String> = (0..20).map(|n| format!("call_{n}")).collect();
                let calls: Vec<_> = ids
                    .iter()
                    .zip(args)
                    .map(|(id, args)| (id.as_str(), "write_file", args))
                    .collect();
                let reply = w.exec(Format::OpenAiChat, chat(&calls)).await;
                let messages = reply["messages"].as_array().unwrap();
                let answered: Vec<&str> =
                    messages.iter().filter_map(|m| m["tool_call_id"].as_str()).collect();
                json!({"log": w.text("log.txt"), "answered in order": answered == ids})
            },
            json!({"log": "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 ", "answered in order": true}),
        ),
        case(
            "permission requested while app is in background: denied with an explanation, not hung",
            async |s| {
                let w = s.permission(Permission::FsWrite, PermissionState::Undecided).open().await;
                let said = w.call("write_file", json!({"path": "a.txt", "content": "x"})).await;
                json!([said, w.text("a.txt")])
            },
            json!([
                {"status": "error", "outcome": "denied", "message": "…no person can be asked here…fs_write…"},
                null,
            ]),
        ),
    ]
}
