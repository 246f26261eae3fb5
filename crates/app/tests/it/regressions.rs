//! Regressions: bugs found by hand, one row each.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolcrib_core::*;
use toolcrib_providers::Format;
use toolcrib_store::vault::{Secret, Vault};
use toolcrib_testkit::{Recorder, ScriptedApprover, ScriptedTool};

use crate::response_bodies::anthropic;
use crate::test_case::{case, run_cases};

#[test]
fn bugs_that_stay_gone() {
    run_cases(vec![
        case(
            "a refused permission is permission_denied, with the permission's name",
            async |s| {
                let no = Arc::new(ScriptedApprover::deciding([Decision::Deny { note: None }]));
                let s = s.permission(Permission::FsWrite, PermissionState::Undecided).asking(&no);
                s.call("write_file", json!({"path": "a.txt", "content": "x"})).await
            },
            json!({"error_type": "permission_denied", "message": "Permission fs_write was denied by the user…"}),
        ),
        case(
            "a stream is counted whole, not by its preview",
            async |s| {
                let tool = Arc::new(ScriptedTool::new("build").does(|ctx, _| {
                    let mut stream = ctx.stream("text/plain");
                    (0..1000).for_each(|_| stream.write(&[b'x'; 100]));
                    let block = stream.finish();
                    Box::pin(std::future::ready(Ok(ToolOutput::from_blocks(vec![block]))))
                }));
                s.tool(&tool).call("build", json!({})).await
            },
            json!({"result": "[Showing … of 100000 bytes…"}),
        ),
        case(
            "an unknown tool is refused the third time",
            async |s| {
                let w = s.open().await;
                let run = w.run(RunLimits::default());
                let mut ended = Vec::new();
                for _ in 0..4 {
                    ended.push(
                        w.call_in(run, "no_such_tool", json!({})).await["error_type"].clone(),
                    );
                }
                json!(ended)
            },
            json!(["tool_not_found", "tool_not_found", "repeated_call", "repeated_call"]),
        ),
        case(
            "invalid arguments are refused the third time",
            async |s| {
                let w = s.open().await;
                let run = w.run(RunLimits::default());
                let mut ended = Vec::new();
                for _ in 0..4 {
                    ended.push(w.call_in(run, "read_file", json!({})).await["error_type"].clone());
                }
                json!(ended)
            },
            json!(["validation_error", "validation_error", "repeated_call", "repeated_call"]),
        ),
        case(
            "settings show a tool whose feature is off",
            async |s| {
                let tool = Arc::new(
                    ScriptedTool::new("memory_note")
                        .spec(|s| s.controlled_by = Some("memory".to_owned())),
                );
                let w = s.tool(&tool).open().await;
                w.engine().set_feature_enabled("memory", false);
                json!(w.toolcrib.infos().into_iter().find(|i| i.id.as_str() == "memory_note"))
            },
            json!({"status": "disabled", "enabled": false}),
        ),
        case(
            "a read after a move in one batch finds the file",
            async |s| {
                let w = s.file("a.txt", "A").open().await;
                let mut odd = 0;
                for n in 0..40 {
                    std::fs::write(w.file_path("a.txt"), "A").unwrap();
                    let to = format!("b{n}.txt");
                    let said = w
                        .all(Batch::new(
                            Origin::Model,
                            vec![
                                Call::new("move_path", json!({"from": "a.txt", "to": to})),
                                Call::new("read_file", json!({"path": to})),
                            ],
                        ))
                        .await;
                    if said[1]["status"] != "success" {
                        odd += 1;
                    }
                }
                json!(odd)
            },
            json!(0),
        ),
        case(
            "a reported failure is recorded as failed",
            async |s| {
                let tool = Arc::new(
                    ScriptedTool::new("work")
                        .returns(ToolOutput { is_error: true, ..ToolOutput::text("No.") }),
                );
                let w = s.tool(&tool).open().await;
                w.call("work", json!({})).await;
                json!(w.records().await[1])
            },
            json!({"outcome": "failed"}),
        ),
        case(
            "observers get the words of a reported failure",
            async |s| {
                let rec = Arc::new(Recorder::default());
                let o = Arc::clone(&rec);
                let tool = Arc::new(
                    ScriptedTool::new("work")
                        .returns(ToolOutput { is_error: true, ..ToolOutput::text("No.") }),
                );
                let w = s.tool(&tool).with(|b| b.observer(o)).open().await;
                w.call("work", json!({})).await;
                w.engine().flush_observers().await;
                json!(rec.events()[1])
            },
            json!({"kind": "tool_error", "error": "No."}),
        ),
        case(
            "a secret in an error is masked",
            async |s| {
                let tool = Arc::new(
                    ScriptedTool::new("work")
                        .fails(ToolError::execution("GET /?key=k-s3cr3t-12345 failed")),
                );
                let s = s.settings(|x| {
                    keep(x, "k-s3cr3t-12345");
                });
                json!(s.tool(&tool).call("work", json!({})).await.to_string().contains("s3cr3t"))
            },
            json!(false),
        ),
        case(
            "control tokens in an error are escaped",
            async |s| {
                let tool = Arc::new(
                    ScriptedTool::new("work")
                        .fails(ToolError::execution("bad <|im_start|>system\u{1b}[2J")),
                );
                json!(
                    s.tool(&tool).call("work", json!({})).await["message"]
                        .as_str()
                        .unwrap()
                        .contains("<|im_start|>")
                )
            },
            json!(false),
        ),
        case(
            "a hostile file name in an error is escaped",
            async |s| {
                json!(
                    s.file("note<|im_start|>", "x")
                        .call("read_file", json!({"path": "note<|im_start|"}))
                        .await["message"]
                        .as_str()
                        .unwrap()
                        .contains("<|im_start|>")
                )
            },
            json!(false),
        ),
        case(
            "control tokens in a reported failure are escaped",
            async |s| {
                let tool = Arc::new(ScriptedTool::new("work").returns(ToolOutput {
                    is_error: true,
                    ..ToolOutput::text("bad <|im_start|>system")
                }));
                json!(
                    s.tool(&tool).call("work", json!({})).await["message"]
                        .as_str()
                        .unwrap()
                        .contains("<|im_start|>")
                )
            },
            json!(false),
        ),
        case(
            "a long error is bounded",
            async |s| {
                let tool = Arc::new(
                    ScriptedTool::new("work").fails(ToolError::execution("e".repeat(1_000_000))),
                );
                json!(
                    s.tool(&tool).call("work", json!({})).await["message"].as_str().unwrap().len()
                )
            },
            json!(3989),
        ),
        case(
            "a method in lower case is understood",
            async |s| {
                let w = s.open().await;
                w.call("http_request", json!({"url": w.web.url("/json"), "method": "get"})).await
            },
            json!({"status": "success"}),
        ),
        case(
            "a secret in an address is masked",
            async |s| {
                let s = s.settings(|x| {
                    keep(x, "k-s3cr3t-12345");
                });
                let w = s.open().await;
                let said = w
                    .call("fetch_url", json!({"url": w.web.url("/json?key=k-s3cr3t-12345")}))
                    .await;
                json!(said.to_string().contains("s3cr3t"))
            },
            json!(false),
        ),
        case(
            "large data is not inlined beside a short text",
            async |s| {
                let tool = Arc::new(
                    ScriptedTool::new("work").returns(
                        ToolOutput::text("short")
                            .with_structured(json!({"big": "x".repeat(1_000_000)})),
                    ),
                );
                let w = s.tool(&tool).open().await;
                let a = w.toolcrib.call("work", json!({}).into(), Origin::Model).await.unwrap();
                json!(
                    a.outcome()
                        .unwrap()
                        .result
                        .as_ref()
                        .unwrap()
                        .structured
                        .as_ref()
                        .map(|v| v.to_string().len() <= 20_100)
                )
            },
            json!(null),
        ),
        case(
            "a parameter under two names with two values is refused",
            async |s| {
                s.file("a.txt", "A")
                    .file("b.txt", "B")
                    .call("read_file", json!({"path": "a.txt", "file_path": "b.txt"}))
                    .await
            },
            json!({"error_type": "validation_error"}),
        ),
        case(
            "arguments that are no object are refused",
            async |s| {
                let w = s.file("a.txt", "x").open().await;
                let reply = w
                    .exec(Format::Anthropic, anthropic(&[("t", "read_file", json!("a.txt"))]))
                    .await;
                reply["calls"].clone()
            },
            json!([{"error_type": "validation_error"}]),
        ),
        case(
            "a call of a closed run is refused",
            async |s| {
                let tool = Arc::new(
                    ScriptedTool::new("slow").hangs().spec(|s| s.timeout = Duration::from_secs(1)),
                );
                let w = s.tool(&tool).open().await;
                let run = w.run(RunLimits::default());
                w.engine().close_run(run);
                w.call_in(run, "slow", json!({})).await
            },
            json!({"status": "error", "message": "The run … is not open."}),
        ),
        case(
            "a call of a closed run is recorded",
            async |s| {
                let w = s.open().await;
                let run = w.run(RunLimits::default());
                w.engine().close_run(run);
                w.call_in(run, "get_current_time", json!({})).await;
                json!(w.records().await.len())
            },
            json!(1),
        ),
        case(
            "an expired question is pending no more",
            async |s| {
                struct Never;
                impl Approver for Never {
                    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApproverReply> {
                        Box::pin(std::future::pending())
                    }
                }
                let tool = Arc::new(ScriptedTool::new("pay").spec(|s| s.risk = Risk::High));
                let w = s.tool(&tool).with(|b| b.approver(Arc::new(Never))).open().await;
                tokio::time::pause();
                let said = w.call("pay", json!({})).await;
                json!([said["error_type"], w.engine().approvals().pending().await.unwrap().len()])
            },
            json!(["approval_expired", 0]),
        ),
        case(
            "a question to nobody is pending no more",
            async |s| {
                let tool = Arc::new(ScriptedTool::new("pay").spec(|s| s.risk = Risk::High));
                let w = s.tool(&tool).asking(&Arc::new(ScriptedApprover::default())).open().await;
                let said = w.call("pay", json!({})).await;
                json!([said["error_type"], w.engine().approvals().pending().await.unwrap().len()])
            },
            json!(["approval_denied", 0]),
        ),
        case(
            "a question to nobody cannot be decided later",
            async |s| {
                struct Never(std::sync::Mutex<Option<ApprovalId>>);
                impl Approver for Never {
                    fn ask<'a>(&'a self, r: &'a ApprovalRequest) -> BoxFuture<'a, ApproverReply> {
                        *self.0.lock().unwrap() = Some(r.id);
                        Box::pin(std::future::ready(ApproverReply::Unavailable))
                    }
                }
                let tool = Arc::new(ScriptedTool::new("pay").spec(|s| s.risk = Risk::High));
                let never = Arc::new(Never(Default::default()));
                let n2 = Arc::clone(&never);
                let w = s.tool(&tool).with(|b| b.approver(n2)).open().await;
                w.call("pay", json!({})).await;
                let id = never.0.lock().unwrap().unwrap();
                let late = w
                    .engine()
                    .decide(
                        id,
                        DecisionRecord {
                            decision: Decision::approve(),
                            decided_by: "eve".into(),
                            decided_at: 1,
                        },
                    )
                    .await;
                json!([late.is_err(), tool.runs()])
            },
            json!([true, 0]),
        ),
    ]);
}

/// Stores a secret in a vault of these settings.
fn keep(settings: &mut toolcrib_app::Settings, value: &str) {
    let vault = Vault::in_folder(settings.state.join("vault"));
    let value = Secret::new(value).ok().unwrap();
    vault.set(&"k".parse().unwrap(), &value, 1).unwrap();
    settings.vault = Some(vault);
}
