//! MCP server, with a client over a pair of streams.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::sync::Notify;
use toolcrib_core::entry::FixedSource;
use toolcrib_core::invoker::DecideError;
use toolcrib_core::{
    Answer, ApprovalId, Batch, BatchSubscriber, BoxFuture, Call, CallCtx, DecisionRecord, Entry,
    Handler, Invoker as _, Origin, Risk, ToolError, ToolName, ToolOutput, ToolSpec, View,
};
use toolcrib_engine::Engine;
use toolcrib_mcp::client_channel::ClientChannels;
use toolcrib_mcp::server::{
    ClientIdentity, HttpSettings, McpBackend, McpServer, ResourcesAndPrompts, Service,
    ToolListMode, service,
};

/// A tool that needs approval and reports that it ran.
struct Risky(Arc<ToolSpec>);

impl Handler for Risky {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _: &'a CallCtx,
        args: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(Ok(ToolOutput::structured(json!({"ran": args})))))
    }
}

/// A tool that waits at a gate, and then asks for a name.
struct Gated {
    spec: Arc<ToolSpec>,
    gate: Arc<Notify>,
    desk: ClientChannels,
}

impl Handler for Gated {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        ctx: &'a CallCtx,
        _: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            self.gate.notified().await;
            let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
            let question = json!({"mode": "form", "message": "Who?", "requestedSchema": schema});
            let client = self.desk.get(ctx.call).unwrap();
            let answer = client.elicit(question).await;
            client.progress(1.0, Some(2.0), None).await;
            Ok(ToolOutput::text(format!("{answer:?}")))
        })
    }
}

/// The backend, and whether its clients may decide.
struct EngineBackend(Engine, bool);

struct Empty;

impl ResourcesAndPrompts for Empty {}

impl McpBackend for EngineBackend {
    fn identify(&self, _: Option<&http::Extensions>) -> Result<ClientIdentity, String> {
        let (name, client) = ("test".to_owned(), "test".to_owned());
        Ok(ClientIdentity { name, client, owner: String::new(), extensions: Arc::new(()) })
    }

    fn view(&self, _: &ClientIdentity) -> Arc<View> {
        self.0.catalog().view(&Arc::default())
    }

    fn tool(&self, name: &str) -> Option<Entry> {
        self.0.catalog().view(&Arc::default()).find(name).cloned()
    }

    fn call<'a>(
        &'a self,
        _: &'a ClientIdentity,
        call: Call,
        watch: Option<Arc<dyn BatchSubscriber>>,
    ) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async move {
            let batch = Batch::new(Origin::Mcp, vec![call]);
            let mut answers = match watch {
                Some(watch) => self.0.invoke_with_subscriber(batch, watch).await,
                None => self.0.invoke(batch).await,
            };
            Ok(answers.pop().unwrap())
        })
    }

    fn may_decide(&self, _: &ClientIdentity) -> bool {
        self.1
    }

    fn decide(
        &self,
        approval: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Option<Answer>, DecideError>> {
        self.0.decide(approval, decision)
    }

    fn has_inbox(&self) -> bool {
        false
    }

    fn generation(&self) -> u64 {
        self.0.catalog().generation()
    }

    fn resources_and_prompts(&self) -> &dyn ResourcesAndPrompts {
        &Empty
    }
}

/// Starts the server with two tools, one of which needs approval.
async fn serve(mode: ToolListMode, may_decide: bool) -> McpServer {
    let engine = Engine::builder().build();
    let tool = |name: &str, risk: Risk| {
        let schema = json!({"type": "object", "properties": {"x": {"type": "integer"}}});
        let mut spec = ToolSpec::new(ToolName::local(name).unwrap(), "Runs.", schema);
        spec.risk = risk;
        Entry::Local(Arc::new(Risky(Arc::new(spec))))
    };
    let tools = vec![tool("careful", Risk::High), tool("easy", Risk::Safe)];
    engine.catalog().attach(&FixedSource::new("test", tools)).await.unwrap();
    McpServer::new(
        Arc::new(EngineBackend(engine, may_decide)),
        ClientChannels::default(),
        mode,
        [1; 32],
    )
}

/// Creates a client that supports tasks and answers questions, for a tool that waits at this gate.
async fn gated() -> (Client, Arc<Notify>) {
    let (serve, gate) = serve_gated().await;
    let serve = serve.with_tasks_after(Duration::from_millis(1));
    let capabilities = json!({"elicitation": {}, "extensions": {TASKS: {}}});
    (Client { meta: Some(meta(&capabilities)), ..Client::of(serve) }, gate)
}

/// Starts the server with a tool that waits at this gate.
pub(crate) async fn serve_gated() -> (McpServer, Arc<Notify>) {
    let (engine, gate, desk) =
        (Engine::builder().build(), Arc::new(Notify::new()), ClientChannels::default());
    let schema = json!({"type": "object", "properties": {}});
    let mut spec = ToolSpec::new(ToolName::local("gated").unwrap(), "Waits.", schema);
    spec.risk = Risk::Safe;
    let tool = Gated { spec: Arc::new(spec), gate: Arc::clone(&gate), desk: desk.clone() };
    let source = FixedSource::new("test", vec![Entry::Local(Arc::new(tool))]);
    engine.catalog().attach(&source).await.unwrap();
    let backend = Arc::new(EngineBackend(engine, true));
    (McpServer::new(backend, desk, ToolListMode::Direct, [1; 32]), gate)
}

/// Returns the metadata with which each request of the current revision describes its client.
pub(crate) fn meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    })
}

/// One client.
pub(crate) struct Client {
    pub(crate) input: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    number: u64,
    /// The metadata of each request of the current revision; `None` for a client with a handshake.
    pub(crate) meta: Option<Value>,
}

impl Client {
    async fn new(mode: ToolListMode) -> Self {
        Self::who_may_decide(mode, true).await
    }

    async fn who_may_decide(mode: ToolListMode, may_decide: bool) -> Self {
        Self::of(serve(mode, may_decide).await)
    }

    pub(crate) fn of(serve: McpServer) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(theirs);
        tokio::spawn(serve.serve_transport(input, output));
        let (output, input) = tokio::io::split(ours);
        Self { input, lines: BufReader::new(output).lines(), number: 0, meta: None }
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    /// Sends a request, and answers the server's questions meanwhile with this answer.
    pub(crate) async fn ask(&mut self, method: &str, mut params: Value, answer: &Value) -> Value {
        self.number += 1;
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        let id = self.number;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        loop {
            let message = self.next().await;
            if message["method"] == "elicitation/create" {
                let id = &message["id"];
                self.send(&json!({"jsonrpc": "2.0", "id": id, "result": answer})).await;
            } else if message["id"] == id {
                return message;
            }
        }
    }

    async fn call(&mut self, tool: &str, args: Value, answer: &Value) -> Value {
        let params = json!({"name": tool, "arguments": args});
        self.ask("tools/call", params, answer).await["result"].clone()
    }

    /// Creates a client with a handshake.
    pub(crate) async fn with_hands(mode: ToolListMode, capabilities: Value) -> Self {
        Self::new(mode).await.shaking(capabilities).await
    }

    pub(crate) async fn shaking(self, capabilities: Value) -> Self {
        let mut client = self;
        let info = json!({"name": "t", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info});
        let hello = client.ask("initialize", params, &Value::Null).await;
        assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    /// Creates a client of the current revision.
    pub(crate) async fn of_today(capabilities: Value) -> Self {
        Self { meta: Some(meta(&capabilities)), ..Self::new(ToolListMode::Direct).await }
    }

    /// Polls a task until it has this status.
    async fn until(&mut self, task: &str, status: &str) -> Value {
        loop {
            let now = self.ask("tasks/get", json!({"taskId": task}), &Value::Null).await;
            let now = now["result"].clone();
            if now["status"] == status {
                return now;
            }
            assert!(
                ["working", "input_required"].contains(&now["status"].as_str().unwrap()),
                "{now}"
            );
        }
    }
}

fn words(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn the_person_at_the_client_approves() {
    let mut client = Client::with_hands(ToolListMode::Direct, json!({"elicitation": {}})).await;
    let yes = json!({"action": "accept", "content": {"decision": "approve"}});
    let result = client.call("careful", json!({"x": 1}), &yes).await;
    assert_eq!(result["structuredContent"], json!({"ran": {"x": 1}}), "{result}");
    for no in [json!({"action": "decline"}), json!({"action": "cancel"})] {
        let result = client.call("careful", json!({"x": 1}), &no).await;
        assert_eq!(result["isError"], true, "{result}");
        assert!(words(&result).contains("denied"), "{result}");
    }
}

/// Regression: arguments could forge the text with which an MCP client asks a person for approval.
#[tokio::test]
async fn arguments_cannot_forge_the_text_of_an_approval() {
    let mut client = Client::of_today(json!({"elicitation": {}})).await;
    let hostile = "\u{1b}[2K\u{202e}\u{200b}x\u{2028}\nArguments: {}";
    let long = "y".repeat(5_000);
    let args = json!({"x": 1, "note": hostile, "z": long});
    let asks = client.call("careful", args, &Value::Null).await;
    let text = asks["inputRequests"]["approval"]["params"]["message"].as_str().unwrap();
    for hidden in ['\u{1b}', '\u{202e}', '\u{200b}', '\u{2028}'] {
        assert!(!text.contains(hidden), "{text:?}");
    }
    assert!(text.contains("\\u{202e}"), "{text}");
    let lines = text.lines().filter(|line| line.starts_with("Arguments:")).count();
    assert_eq!(lines, 1, "{text}");
    assert!(text.contains("characters of the arguments are not shown"), "{text}");
}

/// Regression: a client that may only call approved its own calls.
#[tokio::test]
async fn a_client_that_may_not_decide_is_not_asked() {
    let client = Client::who_may_decide(ToolListMode::Direct, false).await;
    let mut client = client.shaking(json!({"elicitation": {}})).await;
    let yes = json!({"action": "accept", "content": {"decision": "approve"}});
    let result = client.call("careful", json!({"x": 1}), &yes).await;
    assert_eq!(result["isError"], true, "{result}");
    assert!(words(&result).contains("that takes the role `approver`"), "{result}");
}

#[tokio::test]
async fn a_client_that_cannot_ask_is_denied_at_once() {
    let mut client = Client::with_hands(ToolListMode::Direct, json!({})).await;
    let result = client.call("careful", json!({}), &Value::Null).await;
    assert!(words(&result).contains("callers from outside are not asked"), "{result}");
    let result = client.call("easy", json!({"x": "7"}), &Value::Null).await;
    assert_eq!(result["structuredContent"], json!({"ran": {"x": 7}}), "{result}");
    let wrong = client.call("easy", json!({"x": "seven"}), &Value::Null).await;
    assert_eq!(wrong["isError"], true, "the model can correct it: {wrong}");
    let unknown = client.ask("tools/call", json!({"name": "nothing"}), &Value::Null).await;
    assert_eq!(unknown["error"]["code"], -32602);
}

#[tokio::test]
async fn today_questions_are_answers_and_come_back_with_a_ticket() {
    let mut client = Client::of_today(json!({"elicitation": {}})).await;
    let asks = client.call("careful", json!({"x": 1}), &Value::Null).await;
    assert_eq!(asks["resultType"], "input_required", "{asks}");
    let state = asks["requestState"].as_str().unwrap().to_owned();
    let yes = json!({"approval": {"action": "accept", "content": {"decision": "approve"}}});
    let back = |args: Value, state: &str, answers: &Value| json!({"name": "careful", "arguments": args, "requestState": state, "inputResponses": answers});
    // Other arguments, another state, or no answer: the call does not run.
    let forged = client.ask("tools/call", back(json!({"x": 2}), &state, &yes), &Value::Null).await;
    assert_eq!(forged["error"]["code"], -32602, "{forged}");
    let cut = state.get(..state.len() - 4).unwrap();
    let forged = client.ask("tools/call", back(json!({"x": 1}), cut, &yes), &Value::Null).await;
    assert_eq!(forged["error"]["code"], -32602, "{forged}");
    let again =
        client.ask("tools/call", back(json!({"x": 1}), &state, &json!({})), &Value::Null).await;
    assert_eq!(again["result"]["resultType"], "input_required", "{again}");
    let done = client.ask("tools/call", back(json!({"x": 1}), &state, &yes), &Value::Null).await;
    assert_eq!(done["result"]["structuredContent"], json!({"ran": {"x": 1}}), "{done}");
    // A request state is valid once.
    let twice = client.ask("tools/call", back(json!({"x": 1}), &state, &yes), &Value::Null).await;
    assert_eq!(twice["error"]["code"], -32602, "{twice}");
}

#[tokio::test]
async fn lean_clients_call_by_name_through_the_same_door() {
    let mut client = Client::with_hands(ToolListMode::Lean, json!({})).await;
    let tools = client.ask("tools/list", json!({}), &Value::Null).await;
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|t| t["name"].as_str())
        .collect();
    assert_eq!(names, ["call_tool"]);
    let args = json!({"name": "easy", "arguments": {"x": 3}});
    let result = client.call("call_tool", args, &Value::Null).await;
    assert_eq!(result["structuredContent"], json!({"ran": {"x": 3}}), "{result}");
    let args = json!({"name": "careful"});
    let result = client.call("call_tool", args, &Value::Null).await;
    assert_eq!(result["isError"], true, "{result}");
}

const TASKS: &str = "io.modelcontextprotocol/tasks";

#[tokio::test]
async fn a_call_that_is_not_over_soon_is_a_task_of_its_client() {
    let (mut client, gate) = gated().await;
    let begun = client.call("gated", json!({}), &Value::Null).await;
    assert_eq!((&begun["resultType"], &begun["status"]), (&json!("task"), &json!("working")));
    assert_eq!(begun["requestState"], Value::Null);
    let task = begun["taskId"].as_str().unwrap().to_owned();
    client.until(&task, "working").await;
    gate.notify_one();
    let asks = client.until(&task, "input_required").await;
    assert_eq!(asks["inputRequests"]["question"]["method"], "elicitation/create", "{asks}");
    let update = |answers: Value| json!({"taskId": task, "inputResponses": answers});
    let ada = json!({"action": "accept", "content": {"name": "Ada"}});
    // An answer to another question, or an invalid answer, changes nothing.
    for useless in [json!({"other": ada}), json!({"question": {"action": "perhaps"}})] {
        client.ask("tasks/update", update(useless), &Value::Null).await;
        client.until(&task, "input_required").await;
    }
    let taken = client.ask("tasks/update", update(json!({"question": ada})), &Value::Null).await;
    assert_eq!(taken["result"], json!({"resultType": "complete"}));
    let done = client.until(&task, "completed").await;
    assert!(words(&done["result"]).contains("Ada"), "{done}");
    assert_eq!(done["result"]["_meta"]["dev.toolcrib/call"]["id"], *task, "one id for both");
    client.ask("tasks/cancel", json!({"taskId": task}), &Value::Null).await;
    client.until(&task, "completed").await;
    let strange = client.ask("tasks/get", json!({"taskId": "call_1"}), &Value::Null).await;
    assert_eq!(strange["error"]["code"], -32602, "{strange}");
}

/// Regression: progress after a question went to the request that had already been answered with
/// the question.
#[tokio::test]
async fn progress_goes_to_the_request_that_waits_now() {
    let (serve, gate) = serve_gated().await;
    let mut client = Client::of(serve);
    let request = |id: u64, more: Value| {
        let mut params = json!({"name": "gated", "arguments": {}});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params["_meta"] = meta(&json!({"elicitation": {}}));
        params["_meta"]["progressToken"] = json!(format!("of {id}"));
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    gate.notify_one();
    client.send(&request(1, json!({}))).await;
    let asks = client.next().await["result"].clone();
    let question = asks["inputRequests"].as_object().unwrap().keys().next().unwrap();
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    let back = json!({"requestState": asks["requestState"], "inputResponses": {question: answer}});
    client.send(&request(2, back)).await;
    let told = client.next().await;
    assert_eq!(told["method"], "notifications/progress", "{told}");
    assert_eq!(told["params"]["progressToken"], "of 2", "{told}");
    let done = client.next().await;
    assert!(done["id"] == 2 && done.to_string().contains("Ada"), "{done}");
}

#[tokio::test]
async fn a_task_that_is_taken_back_is_over() {
    let (mut client, gate) = gated().await;
    let begun = client.call("gated", json!({}), &Value::Null).await;
    let task = begun["taskId"].as_str().unwrap().to_owned();
    client.ask("tasks/cancel", json!({"taskId": task}), &Value::Null).await;
    let gone = client.until(&task, "cancelled").await;
    assert_eq!(gone["result"], Value::Null, "{gone}");
    gate.notify_one();
    client.until(&task, "cancelled").await;
}

#[tokio::test]
async fn a_client_without_tasks_gets_none() {
    let mut client = Client::of_today(json!({"elicitation": {}})).await;
    let asks = client.call("careful", json!({}), &Value::Null).await;
    assert_eq!(asks["resultType"], "input_required", "{asks}");
    let refused = client.ask("tasks/get", json!({"taskId": "call_1"}), &Value::Null).await;
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    let mut client =
        Client::with_hands(ToolListMode::Direct, json!({"extensions": {TASKS: {}}})).await;
    let done = client.call("easy", json!({"x": 1}), &Value::Null).await;
    assert_eq!(done["structuredContent"], json!({"ran": {"x": 1}}));
}

/// Sends a request over HTTP; returns the status and the message of the response, which may be a
/// document or a stream.
async fn post(endpoint: &Service, headers: &[(&str, &str)], body: &Value) -> (u16, Value) {
    let mut request = http::Request::post("/mcp").header("host", "localhost:1");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(body.to_string()))).unwrap();
    let (head, body) = endpoint.handle(request).await.into_parts();
    let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    let data =
        text.lines().find_map(|line| line.strip_prefix("data: {")).map(|data| format!("{{{data}"));
    (head.status.as_u16(), serde_json::from_str(&data.unwrap_or(text)).unwrap_or_default())
}

/// Responses of the fast path and of rmcp must not differ for a client.
#[tokio::test]
async fn the_common_requests_are_answered_as_all_others() {
    let settings = |hosts: &[&str]| HttpSettings {
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        body_bytes: 1 << 20,
        stop: Default::default(),
    };
    let ours = service(serve(ToolListMode::Direct, true).await, settings(&[]));
    let call = |args: Value, more: Value| {
        let mut meta = meta(&json!({}));
        meta.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let params = json!({"name": "easy", "arguments": args, "_meta": meta});
        json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params})
    };
    let head = |method: &'static str, name: &'static str| {
        vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
            ("mcp-name", name),
        ]
    };
    let plain = head("tools/call", "easy");
    // A progress token sends the request to rmcp.
    let strip = |(status, mut said): (u16, Value)| {
        if let Some(about) = said.pointer_mut("/result/_meta/dev.toolcrib~1call") {
            about["id"] = Value::Null;
        }
        (status, said)
    };
    for args in [json!({"x": 1}), json!({"x": "one"})] {
        let quick = post(&ours, &plain, &call(args.clone(), json!({}))).await;
        let library = post(&ours, &plain, &call(args, json!({"progressToken": 1}))).await;
        assert_eq!(quick.0, 200);
        assert_eq!(strip(quick), strip(library));
    }
    let list = |more: Value| {
        let mut list = call(json!({}), more);
        list["method"] = json!("tools/list");
        list["params"] = json!({"_meta": list["params"]["_meta"]});
        list
    };
    let listing: Vec<_> = head("tools/list", "").into_iter().take(4).collect();
    let quick = post(&ours, &listing, &list(json!({}))).await;
    assert_eq!(quick.1["result"]["tools"].as_array().map(Vec::len), Some(2), "{quick:?}");
    assert_eq!(quick, post(&ours, &listing, &list(json!({"progressToken": 1}))).await);
    // Both reject an invalid request.
    let wrong_name = post(&ours, &head("tools/call", "other"), &call(json!({}), json!({}))).await;
    assert_eq!(
        (wrong_name.0, &wrong_name.1["error"]["code"]),
        (400, &json!(-32020)),
        "{wrong_name:?}"
    );
    let mut bare = call(json!({}), json!({}));
    bare["params"]["_meta"] = json!({});
    assert_eq!(post(&ours, &plain, &bare).await.0, 400);
    let mut unknown = call(json!({}), json!({}));
    unknown["params"]["name"] = json!("nothing");
    let (status, said) = post(&ours, &head("tools/call", "nothing"), &unknown).await;
    assert_eq!((status, &said["error"]["code"]), (200, &json!(-32602)), "{said}");
    let guarded = service(serve(ToolListMode::Direct, true).await, settings(&["localhost"]));
    assert_eq!(post(&guarded, &plain, &call(json!({}), json!({}))).await.0, 200);
    let elsewhere = service(serve(ToolListMode::Direct, true).await, settings(&["other.example"]));
    assert_eq!(post(&elsewhere, &plain, &call(json!({}), json!({}))).await.0, 403);
}
