//! Dispatch of the three kinds of entries, results as blocks, risk and approval, artifacts, and
//! tool lists of skills.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{
    Answer, ApprovalRequest, ApproverReply, Batch, Blob, Block, Call, Decision, DecisionRecord,
    Effect, Entry, GrantScope, Handler, Invoker as _, ModelCapabilities, Origin, ProviderSpec,
    Risk, RunLimits, ToolOutput, ViewRequest,
};
use toolcrib_providers::Format;
use toolcrib_testkit::{ScriptedApprover, ScriptedTool};

use crate::fixture::{Fixture, FixtureBuilder, answer_json};
use crate::response_bodies::{anthropic, chat};
use crate::test_case::{TestCase, case, run_cases};

#[test]
fn dispatch_and_artifact_cases() {
    let tables = [taxonomy(), results(), approval(), requests(), artifacts_and_skills()];
    run_cases(tables.into_iter().flatten().collect());
}

fn declared_by(provider: &str, kind: &str) -> Vec<ProviderSpec> {
    vec![ProviderSpec {
        provider: provider.to_owned(),
        declaration: json!({"type": kind}),
        call_types: vec![format!("{kind}_call")],
    }]
}

/// Creates a fixture with `apply_patch` (declared by Responses, run here) and `web_search`
/// (declared and run by Responses).
async fn with_provider_tools(
    start: FixtureBuilder,
    patch: &Arc<ScriptedTool>,
    search: &Arc<ScriptedTool>,
) -> Fixture {
    let entries = vec![
        Entry::ProviderDefined {
            providers: declared_by("openai-responses", "apply_patch"),
            handler: Arc::clone(patch) as _,
        },
        Entry::Hosted {
            spec: Arc::clone(Handler::spec(&**search)),
            providers: declared_by("openai-responses", "web_search"),
        },
    ];
    let w = start.open().await;
    w.toolcrib.catalog().attach(&FixedSource::new("openai", entries)).await.unwrap();
    w
}

fn patch() -> Arc<ScriptedTool> {
    Arc::new(ScriptedTool::new("apply_patch").returns(ToolOutput::text("patched")))
}

fn search() -> Arc<ScriptedTool> {
    Arc::new(ScriptedTool::new("hosted_search"))
}

fn view_of(provider: &str) -> Arc<ViewRequest> {
    let model = ModelCapabilities { provider: provider.to_owned(), allow: None };
    Arc::new(ViewRequest { model, ..ViewRequest::default() })
}

fn taxonomy() -> Vec<TestCase> {
    vec![
        case(
            "Tool: declared and executed locally",
            async |s| {
                let w = s.file("a.txt", "A").open().await;
                w.exec(Format::OpenAiChat, chat(&[("1", "read_file", json!({"path": "a.txt"}))]))
                    .await["calls"]
                    .clone()
            },
            json!([{"status": "success", "result": "A"}]),
        ),
        case(
            "ProviderDefinedTool: provider-declared, local execution; the result goes back in the provider's form",
            async |s| {
                let (patch, search) = (patch(), search());
                let w = with_provider_tools(s, &patch, &search).await;
                let body = json!({"object": "response", "status": "completed", "output": [{
                    "type": "apply_patch_call", "id": "apc_1", "call_id": "call_p", "status": "completed",
                    "operation": {"type": "delete_file", "path": "a.txt"},
                }]});
                let reply = w.exec(Format::OpenAiResponses, body.to_string()).await;
                json!({"messages": reply["messages"], "runs": patch.runs()})
            },
            json!({
                "messages": [
                    {
                        "type": "apply_patch_call_output",
                        "call_id": "call_p",
                        "status": "completed",
                        "output": {"json": {"result": "patched"}},
                    },
                ],
                "runs": 1,
            }),
        ),
        case(
            "HostedTool: skip local execution, the result arrives in the next turn",
            async |s| {
                let (patch, search) = (patch(), search());
                let w = with_provider_tools(s, &patch, &search).await;
                let body = json!({"object": "response", "status": "completed", "output": [
                    {
                        "type": "web_search_call",
                        "id": "ws_1",
                        "status": "completed",
                        "action": {"type": "search", "query": "rust"},
                    },
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": "Found."}],
                    },
                ]});
                let reply = w.exec(Format::OpenAiResponses, body.to_string()).await;
                json!({"hosted": reply["hosted"], "messages": reply["messages"], "runs": search.runs()})
            },
            json!({"hosted": ["web_search_call"], "messages": [], "runs": 0}),
        ),
        case(
            "a hosted tool that a model calls as a function is not run here either",
            async |s| {
                let (patch, search) = (patch(), search());
                let w = with_provider_tools(s, &patch, &search).await;
                let batch = Batch {
                    view: view_of("openai-responses"),
                    ..Batch::new(Origin::Model, vec![Call::new("hosted_search", json!({}))])
                };
                json!([w.all(batch).await, search.runs()])
            },
            json!([[{"error_type": "tool_not_available", "message": "…the provider runs it…"}], 0]),
        ),
        case(
            "check is_provider_defined before is_hosted: both have provider_specs, one has a handler, and that one runs",
            async |s| {
                let (patch, search) = (patch(), search());
                let w = with_provider_tools(s, &patch, &search).await;
                let calls = vec![
                    Call::new("apply_patch", json!({})),
                    Call::new("hosted_search", json!({})),
                ];
                let batch =
                    Batch { view: view_of("openai-responses"), ..Batch::new(Origin::Model, calls) };
                json!([
                    w.all(batch)
                        .await
                        .iter()
                        .map(|said| said["status"].clone())
                        .collect::<Vec<_>>(),
                    patch.runs(),
                    search.runs()
                ])
            },
            json!([["success", "error"], 1, 0]),
        ),
        case(
            "ProviderSpec: name, provider, spec; declared verbatim where the provider has it, and hidden elsewhere",
            async |s| {
                let (patch, search) = (patch(), search());
                let w = with_provider_tools(s, &patch, &search).await;
                let own = |format: Format| {
                    let declared = w
                        .toolcrib
                        .declare(format, &view_of(format.as_str()), false)
                        .value
                        .to_string();
                    [
                        declared.contains(r#"{"type":"apply_patch"}"#),
                        declared.contains(r#"{"type":"web_search"}"#),
                        declared.contains("apply_patch"),
                    ]
                };
                json!([
                    own(Format::OpenAiResponses),
                    own(Format::OpenAiChat),
                    own(Format::Anthropic)
                ])
            },
            json!([[true, true, true], [false, false, false], [false, false, false]]),
        ),
        case(
            "FunctionSpec: name, description, parameters",
            async |s| {
                let declared = s
                    .open()
                    .await
                    .toolcrib
                    .declare(Format::Anthropic, &Arc::default(), false)
                    .value;
                declared
                    .as_array()
                    .unwrap()
                    .iter()
                    .find(|tool| tool["name"] == "list_dir")
                    .cloned()
                    .unwrap()
            },
            json!({
                "name": "list_dir",
                "description": "…",
                "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
            }),
        ),
    ]
}

/// Returns the Anthropic message for one call of a tool with this output.
async fn message(start: FixtureBuilder, output: ToolOutput) -> Value {
    let w = start.tool(&Arc::new(ScriptedTool::new("work").returns(output))).open().await;
    let body = anthropic(&[("toolu_1", "work", json!({}))]);
    w.exec(Format::Anthropic, body).await["messages"][0]["content"][0].clone()
}

fn picture() -> Block {
    Block::Image(Blob { media_type: "image/png".to_owned(), data: vec![1, 2, 3] })
}

fn results() -> Vec<TestCase> {
    vec![
        case(
            "content: the multimodal output blocks",
            async |s| {
                message(s, ToolOutput::from_blocks(vec![Block::text("a chart"), picture()])).await
            },
            json!({"is_error": null, "content": [
                {"type": "text", "text": {"json": {"status": "success", "result": "a chart"}}},
                {"type": "image", "source": {"media_type": "image/png", "data": "AQID"}},
            ]}),
        ),
        case(
            "is_error: flag indicating execution failure, in the tool's own words",
            async |s| {
                message(s, ToolOutput { is_error: true, ..ToolOutput::text("No such city.") }).await
            },
            json!({
                "is_error": true,
                "content": [
                    {
                        "text": {
                            "json": {"status": "error", "error_type": "execution_error", "message": "No such city."},
                        },
                    },
                ],
            }),
        ),
        case(
            "structured_content: data beside the text, for programs",
            async |s| {
                let output = ToolOutput::text("21 °C").with_structured(json!({"celsius": 21}));
                let w = s.tool(&Arc::new(ScriptedTool::new("work").returns(output))).open().await;
                let answer =
                    w.toolcrib.call("work", json!({}).into(), Origin::Model).await.unwrap();
                let result = answer.outcome().unwrap().result.clone().unwrap();
                json!({"text": result.result, "data": result.structured})
            },
            json!({"text": "21 °C", "data": {"celsius": 21}}),
        ),
        case(
            "data alone is what the model reads",
            async |s| message(s, ToolOutput::structured(json!({"celsius": 21}))).await,
            json!({"content": [{"text": {"json": {"status": "success", "result": {"celsius": 21}}}}]}),
        ),
        case(
            "a tool that breaks its own output schema has failed",
            async |s| {
                let tool = ScriptedTool::new("work")
                    .returns(ToolOutput::structured(json!({"celsius": "warm"})));
                let tool = tool.spec(|s| {
                    s.output_schema = Some(
                        json!({"type": "object", "properties": {"celsius": {"type": "number"}}})
                            .into(),
                    );
                });
                s.tool(&Arc::new(tool)).call("work", json!({})).await
            },
            json!({
                "error_type": "execution_error",
                "message": "Tool work returned a result that does not fit its own output schema…",
            }),
        ),
    ]
}

/// Calls "send_email" at this risk with this person; returns result, questions, runs.
async fn sent(start: FixtureBuilder, risk: Risk, person: ScriptedApprover) -> Value {
    let schema =
        json!({"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}}});
    let tool = ScriptedTool::new("send_email")
        .takes(schema)
        .spec(|s| (s.risk, s.effect) = (risk, Effect::SideEffect));
    let (tool, person) = (Arc::new(tool), Arc::new(person));
    let w = start.tool(&tool).asking(&person).open().await;
    let body = anthropic(&[("toolu_1", "send_email", json!({"to": "bob"}))]);
    let block = w.exec(Format::Anthropic, body).await["messages"][0]["content"][0].clone();
    json!({"block": block, "asked": person.asked().len(), "seen": tool.seen()})
}

fn approval() -> Vec<TestCase> {
    let approve = || ScriptedApprover::approving(1);
    let deny = |note: Option<&str>| {
        ScriptedApprover::deciding([Decision::Deny { note: note.map(str::to_owned) }])
    };
    let edit = |args: Value| ScriptedApprover::deciding([Decision::Edit { args }]);
    vec![
        case(
            "risk == SAFE: execute immediately",
            async move |s| sent(s, Risk::Safe, approve()).await,
            json!({"block": {"is_error": null}, "asked": 0, "seen": [{"to": "bob"}]}),
        ),
        case(
            "risk == HIGH: request, and when APPROVED execute",
            async move |s| sent(s, Risk::High, approve()).await,
            json!({"block": {"is_error": null}, "asked": 1, "seen": [{"to": "bob"}]}),
        ),
        case(
            "risk == CRITICAL: the same",
            async move |s| sent(s, Risk::Critical, approve()).await,
            json!({"block": {"is_error": null}, "asked": 1, "seen": [{"to": "bob"}]}),
        ),
        case(
            "DENIED: is_error=True, \"denied by user\", not executed",
            async move |s| sent(s, Risk::High, deny(None)).await,
            json!({
                "block": {
                    "is_error": true,
                    "content": [
                        {
                            "text": {
                                "json": {"error_type": "approval_denied", "message": "The send_email action was denied by the user. Do not retry it."},
                            },
                        },
                    ],
                },
                "asked": 1, "seen": [],
            }),
        ),
        case(
            "… with the person's reason",
            async move |s| sent(s, Risk::High, deny(Some("wrong Bob"))).await,
            json!({
                "block": {
                    "content": [
                        {
                            "text": {"json": {"message": "The send_email action was denied by the user: wrong Bob. Do not retry it."}},
                        },
                    ],
                },
                "seen": [],
            }),
        ),
        case(
            "modified arguments run instead",
            async move |s| sent(s, Risk::High, edit(json!({"to": "bobby"}))).await,
            json!({"block": {"is_error": null}, "asked": 1, "seen": [{"to": "bobby"}]}),
        ),
        case(
            "… and are validated again",
            async move |s| sent(s, Risk::High, edit(json!({"to": 7, "cc": {}}))).await,
            json!({"asked": 1, "seen": [{"to": "7"}]}),
        ),
        case(
            "… a required one that is missing ends the call",
            async move |s| sent(s, Risk::High, edit(json!({}))).await,
            json!({
                "block": {
                    "is_error": true,
                    "content": [{"text": {"json": {"error_type": "validation_error"}}}],
                },
                "seen": [],
            }),
        ),
        case(
            "skipped: not run, and the run goes on",
            async move |s| sent(s, Risk::High, ScriptedApprover::deciding([Decision::Skip])).await,
            json!({
                "block": {
                    "is_error": true,
                    "content": [{"text": {"json": {"message": "…skipped by the user…Go on without it."}}}],
                },
                "seen": [],
            }),
        ),
        case(
            "no handler: denied, never run",
            async move |s| sent(s, Risk::High, ScriptedApprover::default()).await,
            json!({
                "block": {
                    "is_error": true,
                    "content": [
                        {
                            "text": {"json": {"error_type": "approval_denied", "message": "…no person can be asked here…"}},
                        },
                    ],
                },
                "seen": [],
            }),
        ),
        case(
            "calls made inside a chain ask just the same",
            async |s| {
                let tool = Arc::new(ScriptedTool::new("send_email").spec(|s| s.risk = Risk::High));
                let w = s.tool(&tool).open().await;
                json!([
                    w.all(Batch::new(Origin::Chain, vec![Call::new("send_email", json!({}))]))
                        .await,
                    tool.runs()
                ])
            },
            json!([[{"error_type": "approval_denied"}], 0]),
        ),
    ]
}

/// Makes a call that waits for a person; returns the question.
async fn waiting(start: FixtureBuilder, tool: &Arc<ScriptedTool>) -> (Fixture, ApprovalRequest) {
    let later = Arc::new(ScriptedApprover::new([ApproverReply::Deferred]));
    let w = start.tool(tool).asking(&later).open().await;
    let run = w.run(RunLimits::default());
    let call = Call::new("send_email", json!({"to": "bob"}));
    let batch = Batch { run: Some(run), ..Batch::new(Origin::Model, vec![call]) };
    let Some(Answer::Suspended(request)) = w.engine().invoke(batch).await.pop() else {
        panic!("not suspended")
    };
    (w, *request)
}

fn risky() -> Arc<ScriptedTool> {
    Arc::new(ScriptedTool::new("send_email").spec(|s| s.risk = Risk::High))
}

fn decided(decision: Decision) -> DecisionRecord {
    DecisionRecord { decision, decided_by: "ann".to_owned(), decided_at: 1 }
}

fn requests() -> Vec<TestCase> {
    vec![
        case(
            "ApprovalRequest is fully serializable: what comes back from a store is the same",
            async |s| {
                let (_w, request) = waiting(s, &risky()).await;
                let text = serde_json::to_string(&request).unwrap();
                let back: ApprovalRequest = serde_json::from_str(&text).unwrap();
                json!({"same": back == request, "fields": serde_json::from_str::<Value>(&text).unwrap()})
            },
            json!({"same": true, "fields": {
                "id": "…", "call": "…", "run": "…", "tool": "send_email", "operation": "send_email", "args": {"to": "bob"}, "risk": "high",
                "effect": "pure", "summary": "…", "reasons": [{"kind": "risk", "text": "…high risk…"}], "origin": "model",
                "definition_hash": "…", "binding": "…", "requested_at": "…", "expires_at": "…",
            }}),
        ),
        case(
            "it is stored before it is shown: the store lists it while the person is away",
            async |s| {
                let (w, request) = waiting(s, &risky()).await;
                json!(w.engine().approvals().pending().await.unwrap() == [request])
            },
            json!(true),
        ),
        case(
            "… and resumed: the decision runs exactly what was shown, once",
            async |s| {
                let tool = risky();
                let (w, request) = waiting(s, &tool).await;
                let before = tool.runs();
                let yes = decided(Decision::approve());
                let answer = w.engine().decide(request.id, yes).await.unwrap();
                json!({"before": before, "answer": answer_json(answer.as_ref().unwrap()), "seen": tool.seen()})
            },
            json!({"before": 0, "answer": {"status": "success"}, "seen": [{"to": "bob"}]}),
        ),
        case(
            "decided once: a second decision is answered with the first",
            async |s| {
                let tool = risky();
                let (w, request) = waiting(s, &tool).await;
                let first = w
                    .engine()
                    .decide(request.id, decided(Decision::Deny { note: None }))
                    .await
                    .unwrap();
                let second = w.engine().decide(request.id, decided(Decision::approve())).await;
                json!({"first": answer_json(first.as_ref().unwrap()), "second": second.unwrap_err().to_string(), "runs": tool.runs()})
            },
            json!({"first": {"error_type": "approval_denied"}, "second": "already decided by ann", "runs": 0}),
        ),
        case(
            "an approval is good for what was shown: a tool that changed since is not run",
            async |s| {
                let tool = risky();
                let (w, request) = waiting(s, &tool).await;
                let other = Arc::new(ScriptedTool::new("send_email").spec(|s| {
                    s.risk = Risk::High;
                    s.description = "Sends to everybody.".to_owned();
                }));
                w.toolcrib
                    .catalog()
                    .attach(&toolcrib_testkit::fixed_source("test", &[&other]))
                    .await
                    .unwrap();
                let answer =
                    w.engine().decide(request.id, decided(Decision::approve())).await.unwrap();
                json!([answer_json(answer.as_ref().unwrap()), tool.runs(), other.runs()])
            },
            json!([
                {"error_type": "approval_denied", "message": "send_email has changed since it was approved…"},
                0,
                0,
            ]),
        ),
        case(
            "a decision that nobody asked for",
            async |s| {
                let w = s.open().await;
                let unknown = toolcrib_core::ApprovalId::fresh();
                json!(
                    w.engine()
                        .decide(unknown, decided(Decision::Skip))
                        .await
                        .unwrap_err()
                        .to_string()
                )
            },
            json!("no approval request has this id"),
        ),
        case(
            "approved for the run: not asked again in it, and asked again in the next",
            async |s| {
                let tool = risky();
                let person =
                    Arc::new(ScriptedApprover::deciding([Decision::approve_for(GrantScope::Run)]));
                let w = s.tool(&tool).asking(&person).open().await;
                let (first, next) = (w.run(RunLimits::default()), w.run(RunLimits::default()));
                let mut ended = Vec::new();
                for (run, n) in [(first, 1), (first, 2), (next, 3)] {
                    ended.push(
                        w.call_in(run, "send_email", json!({"n": n})).await["status"].clone(),
                    );
                }
                json!([ended, person.asked().len(), tool.runs()])
            },
            json!([["success", "success", "error"], 2, 2]),
        ),
    ]
}

fn artifacts_and_skills() -> Vec<TestCase> {
    vec![
        case(
            "large result: stored, with a reference and a preview; the reference reads the whole",
            async |s| {
                let text: String = (0..4000).map(|n| format!("row {n}\n")).collect();
                let w = s
                    .tool(&Arc::new(ScriptedTool::new("query_db").returns(ToolOutput::text(text))))
                    .open()
                    .await;
                let said = w.call("query_db", json!({})).await;
                let reference = said["artifact"].clone();
                let page = w
                    .call("read_artifact", json!({"ref": reference, "offset": 20_000, "limit": 30}))
                    .await;
                let found = w
                    .call("read_artifact", json!({"ref": reference, "pattern": "^row 2077$"}))
                    .await;
                json!({"said": said, "page": page["result"], "found": found["result"]})
            },
            json!({
                "said": {"status": "success", "artifact": "art_…", "result": "[Showing …row 0\n…row 3999\n"},
                "page": "…row 2…",
                "found": "…row 2077…",
            }),
        ),
        case(
            "allowed_tools limits which tools can be used; an empty list sets no limit",
            async |s| {
                let w = s.file("a.txt", "x").open().await;
                let with = async |skill: Option<Vec<String>>| {
                    let view = ViewRequest { skill, ..ViewRequest::default() };
                    let calls = vec![
                        Call::new("read_file", json!({"path": "a.txt"})),
                        Call::new("get_current_time", json!({})),
                    ];
                    let batch = Batch { view: Arc::new(view), ..Batch::new(Origin::Model, calls) };
                    w.all(batch)
                        .await
                        .iter()
                        .map(|said| said["error_type"].clone())
                        .collect::<Vec<_>>()
                };
                json!([
                    with(Some(vec!["read_file".to_owned()])).await,
                    with(Some(vec![])).await,
                    with(None).await
                ])
            },
            json!([[null, "tool_not_available"], [null, null], [null, null]]),
        ),
    ]
}
