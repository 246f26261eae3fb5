//! Our door as a server, asked by a client over a pair of streams.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use toolcrib_core::entry::FixedSource;
use toolcrib_core::invoke::DecideError;
use toolcrib_core::{
    Answer, ApprovalId, Batch, BoxFuture, Call, CallCtx, DecisionRecord, Entry, Handler,
    Invoker as _, Origin, Risk, ToolError, ToolName, ToolOutput, ToolSpec, View, Watch,
};
use toolcrib_engine::Engine;
use toolcrib_mcp::desk::Desk;
use toolcrib_mcp::server::{Door, Mode, Serve, Shelf, Who};

/// A tool that needs approval and says that it ran.
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

/// The door, and whether its clients may decide.
struct EngineDoor(Engine, bool);

struct Empty;

impl Shelf for Empty {}

impl Door for EngineDoor {
    fn who(&self, _: Option<&http::Extensions>) -> Result<Who, String> {
        Ok(Who { name: "test".to_owned(), owner: String::new(), known: Arc::new(()) })
    }

    fn view(&self, _: &Who) -> Arc<View> {
        self.0.catalog().view(&Arc::default())
    }

    fn tool(&self, name: &str) -> Option<Entry> {
        self.0.catalog().view(&Arc::default()).find(name).cloned()
    }

    fn call<'a>(
        &'a self,
        _: &'a Who,
        call: Call,
        watch: Option<Arc<dyn Watch>>,
    ) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async move {
            let batch = Batch::new(Origin::Mcp, vec![call]);
            let mut answers = match watch {
                Some(watch) => self.0.invoke_watched(batch, watch).await,
                None => self.0.invoke(batch).await,
            };
            Ok(answers.pop().unwrap())
        })
    }

    fn may_decide(&self, _: &Who) -> bool {
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

    fn shelf(&self) -> &dyn Shelf {
        &Empty
    }
}

/// One client.
struct Client {
    input: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    number: u64,
    /// What each request of today's revision says of its client; none = the client shook hands.
    meta: Option<Value>,
}

impl Client {
    async fn new(mode: Mode) -> Self {
        Self::who_may_decide(mode, true).await
    }

    async fn who_may_decide(mode: Mode, may_decide: bool) -> Self {
        let engine = Engine::builder().build();
        let tool = |name: &str, risk: Risk| {
            let schema = json!({"type": "object", "properties": {"x": {"type": "integer"}}});
            let mut spec = ToolSpec::new(ToolName::local(name).unwrap(), "Runs.", schema);
            spec.risk = risk;
            Entry::Local(Arc::new(Risky(Arc::new(spec))))
        };
        let tools = vec![tool("careful", Risk::High), tool("easy", Risk::Safe)];
        engine.catalog().attach(&FixedSource::new("test", tools)).await.unwrap();
        let serve =
            Serve::new(Arc::new(EngineDoor(engine, may_decide)), Desk::default(), mode, [1; 32]);
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(theirs);
        tokio::spawn(serve.over(input, output));
        let (output, input) = tokio::io::split(ours);
        Self { input, lines: BufReader::new(output).lines(), number: 0, meta: None }
    }

    async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    /// Asks, and answers questions of the server on the way with this.
    async fn ask(&mut self, method: &str, mut params: Value, answer: &Value) -> Value {
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

    /// A client that shakes hands.
    async fn with_hands(mode: Mode, capabilities: Value) -> Self {
        Self::new(mode).await.shaking(capabilities).await
    }

    async fn shaking(self, capabilities: Value) -> Self {
        let mut client = self;
        let info = json!({"name": "t", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info});
        let hello = client.ask("initialize", params, &Value::Null).await;
        assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    /// A client of today's revision.
    async fn of_today(capabilities: Value) -> Self {
        let mut client = Self::new(Mode::Direct).await;
        client.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        }));
        client
    }
}

fn words(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn the_person_at_the_client_approves() {
    let mut client = Client::with_hands(Mode::Direct, json!({"elicitation": {}})).await;
    let yes = json!({"action": "accept", "content": {"decision": "approve"}});
    let result = client.call("careful", json!({"x": 1}), &yes).await;
    assert_eq!(result["structuredContent"], json!({"ran": {"x": 1}}), "{result}");
    for no in [json!({"action": "decline"}), json!({"action": "cancel"})] {
        let result = client.call("careful", json!({"x": 1}), &no).await;
        assert_eq!(result["isError"], true, "{result}");
        assert!(words(&result).contains("denied"), "{result}");
    }
}

/// Found in review: whoever may only call said yes to its own calls.
#[tokio::test]
async fn a_client_that_may_not_decide_is_not_asked() {
    let client = Client::who_may_decide(Mode::Direct, false).await;
    let mut client = client.shaking(json!({"elicitation": {}})).await;
    let yes = json!({"action": "accept", "content": {"decision": "approve"}});
    let result = client.call("careful", json!({"x": 1}), &yes).await;
    assert_eq!(result["isError"], true, "{result}");
    assert!(words(&result).contains("Nobody answered"), "{result}");
}

#[tokio::test]
async fn a_client_that_cannot_ask_is_denied_at_once() {
    let mut client = Client::with_hands(Mode::Direct, json!({})).await;
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
    // Other arguments, another text, no answer: nothing runs.
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
    // A ticket is good once.
    let twice = client.ask("tools/call", back(json!({"x": 1}), &state, &yes), &Value::Null).await;
    assert_eq!(twice["error"]["code"], -32602, "{twice}");
}

#[tokio::test]
async fn lean_clients_call_by_name_through_the_same_door() {
    let mut client = Client::with_hands(Mode::Lean, json!({})).await;
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
