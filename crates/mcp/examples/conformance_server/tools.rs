//! Tools that the suite calls.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::{
    Blob, Block, BoxFuture, CallCtx, Effect, Entry, Handler, Risk, ToolError, ToolName, ToolOutput,
    ToolSpec, Trust,
};
use toolcrib_mcp::client_channel::{ClientChannel, ClientChannels};
use toolcrib_mcp::rmcp::model::InputRequest;

use crate::long_running;
use crate::resources_and_prompts::pixel;

/// A tool whose name determines its behavior.
struct Fixture {
    spec: Arc<ToolSpec>,
    desk: ClientChannels,
}

/// Returns name and schema of each tool.
fn definitions() -> Vec<(&'static str, Value)> {
    let none = || json!({"type": "object", "properties": {}});
    let one = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    let plain = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_tool_with_logging",
        "test_error_handling",
        "test_tool_with_progress",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_input_required_result_elicitation",
        "test_input_required_result_sampling",
        "test_input_required_result_list_roots",
        "test_input_required_result_request_state",
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_multi_round",
        "test_input_required_result_tampered_state",
        "test_input_required_result_capabilities",
        "test_missing_capability",
        "test_streaming_elicitation",
        "test_logging_tool",
    ];
    let mut all: Vec<(&str, Value)> = plain.into_iter().map(|name| (name, none())).collect();
    all.push(("test_sampling", one("prompt")));
    all.push(("test_elicitation", one("message")));
    all.push(("test_x_mcp_header", json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "count": {"type": "integer"}}})));
    all.push(("json_schema_2020_12_tool", json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"}, "email": {"type": "string"}},
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })));
    all.extend(long_running::definitions());
    all
}

pub(crate) fn all(desk: &ClientChannels) -> Vec<Entry> {
    let entry = |(name, schema): (&str, Value)| {
        let name = ToolName::remote(name).ok()?;
        let words = format!("The tool {name} of the suite.");
        let mut spec = ToolSpec::new(name, words, schema);
        (spec.risk, spec.effect, spec.trust) = (Risk::Safe, Effect::Read, Trust::Tool);
        let fixture = Fixture { spec: Arc::new(spec), desk: desk.clone() };
        Some(Entry::Local(Arc::new(fixture)))
    };
    definitions().into_iter().filter_map(entry).collect()
}

pub(crate) fn form(message: &str, schema: Value) -> Value {
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}})
}

pub(crate) fn field(name: &str, kind: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": kind}}, "required": [name]})
}

fn sampling(text: &str, most: u32) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": text}});
    json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": most}})
}

pub(crate) async fn ask(
    caller: &ClientChannel,
    asked: &[(&str, Value)],
) -> Result<BTreeMap<String, Value>, ToolError> {
    let mut requests = BTreeMap::new();
    for (key, question) in asked {
        let request: InputRequest = serde_json::from_value(question.clone())
            .map_err(|error| ToolError::execution(error.to_string()))?;
        requests.insert((*key).to_owned(), request);
    }
    caller.ask(requests).await.map_err(|error| ToolError::execution(format!("Not asked: {error}.")))
}

impl Fixture {
    async fn run(&self, ctx: &CallCtx, args: &Value) -> Result<ToolOutput, ToolError> {
        let text = |words: String| Ok(ToolOutput::text(words));
        let nobody = || ToolError::execution("Nobody waits for this call.");
        let caller = self.desk.get(ctx.call).ok_or_else(nobody)?;
        let pause = || tokio::time::sleep(Duration::from_millis(50));
        let picture = || Block::Image(Blob { media_type: "image/png".to_owned(), data: pixel() });
        let resource = |uri: &str, media_type: &str, text: &str| Block::Resource {
            uri: uri.to_owned(),
            media_type: Some(media_type.to_owned()),
            text: Some(text.to_owned()),
        };
        if let Some(done) = long_running::run(self.spec.name.as_str(), &caller, args).await {
            return done;
        }
        match self.spec.name.as_str() {
            "test_simple_text" => text("This is a simple text response for testing.".to_owned()),
            "test_image_content" => Ok(ToolOutput::from_blocks(vec![picture()])),
            "test_audio_content" => {
                let data = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x44\xac\0\0\x88\x58\x01\0\x02\0\x10\0data\0\0\0\0".to_vec();
                Ok(ToolOutput::from_blocks(vec![Block::Audio(Blob {
                    media_type: "audio/wav".to_owned(),
                    data,
                })]))
            }
            "test_embedded_resource" => {
                let words = "This is an embedded resource content.";
                Ok(ToolOutput::from_blocks(vec![resource(
                    "test://embedded-resource",
                    "text/plain",
                    words,
                )]))
            }
            "test_multiple_content_types" => Ok(ToolOutput::from_blocks(vec![
                Block::text("Multiple content types test:"),
                picture(),
                resource(
                    "test://mixed-content-resource",
                    "application/json",
                    "{\"test\":\"data\",\"value\":123}",
                ),
            ])),
            "test_tool_with_logging" | "test_logging_tool" => {
                for words in
                    ["Tool execution started", "Tool processing data", "Tool execution completed"]
                {
                    caller.log("info", "fixture", json!(words)).await;
                    pause().await;
                }
                text("Logged.".to_owned())
            }
            "test_error_handling" => {
                Err(ToolError::execution("This tool intentionally returns an error for testing"))
            }
            "test_tool_with_progress" => {
                for done in [0.0, 50.0, 100.0] {
                    caller.progress(done, Some(100.0), None).await;
                    pause().await;
                }
                text("Progress was told.".to_owned())
            }
            "test_sampling" => {
                let prompt = args["prompt"].as_str().unwrap_or_default();
                let answers = ask(&caller, &[("sample", sampling(prompt, 100))]).await?;
                text(format!(
                    "LLM response: {}",
                    answers["sample"]["content"]["text"].as_str().unwrap_or_default()
                ))
            }
            "test_elicitation" => {
                let schema = json!({"type": "object", "properties": {
                    "username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"},
                }, "required": ["username", "email"]});
                let message = args["message"].as_str().unwrap_or_default();
                let answers = ask(&caller, &[("user", form(message, schema))]).await?;
                let user = &answers["user"];
                text(format!(
                    "User response: action={}, content={}",
                    user["action"].as_str().unwrap_or_default(),
                    user["content"]
                ))
            }
            name @ ("test_elicitation_sep1034_defaults" | "test_elicitation_sep1330_enums") => {
                let schema = if name.ends_with("defaults") { defaults() } else { enums() };
                let answers =
                    ask(&caller, &[("user", form("Please fill this in", schema))]).await?;
                let user = &answers["user"];
                text(format!(
                    "Elicitation completed: action={}, content={}",
                    user["action"].as_str().unwrap_or_default(),
                    user["content"]
                ))
            }
            name if name.starts_with("test_input_required_result_") => {
                self.input_required(&caller, name).await
            }
            "test_missing_capability" => {
                ask(&caller, &[("s", sampling("?", 10))]).await?;
                text("Sampled.".to_owned())
            }
            _ => text(format!("Called with {args}")),
        }
    }

    async fn input_required(
        &self,
        caller: &ClientChannel,
        name: &str,
    ) -> Result<ToolOutput, ToolError> {
        let roots = || json!({"method": "roots/list", "params": {}});
        let who = || form("What is your name?", field("name", "string"));
        let words = match name.trim_start_matches("test_input_required_result_") {
            "elicitation" => {
                let answers = ask(caller, &[("user_name", who())]).await?;
                format!(
                    "Hello, {}!",
                    answers["user_name"]["content"]["name"].as_str().unwrap_or_default()
                )
            }
            "sampling" => {
                let answers = ask(
                    caller,
                    &[("capital_question", sampling("What is the capital of France?", 100))],
                )
                .await?;
                answers["capital_question"]["content"]["text"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            }
            "list_roots" => {
                let answers = ask(caller, &[("client_roots", roots())]).await?;
                format!("Roots: {}", answers["client_roots"]["roots"])
            }
            "request_state" | "tampered_state" => {
                ask(caller, &[("confirm", form("Please confirm", field("ok", "boolean")))]).await?;
                "state-ok".to_owned()
            }
            "multiple_inputs" => {
                let asked = [
                    ("user_name", who()),
                    ("greeting", sampling("Generate a greeting", 50)),
                    ("client_roots", roots()),
                ];
                let answers = ask(caller, &asked).await?;
                format!("{answers:?}")
            }
            "multi_round" => {
                let one = ask(
                    caller,
                    &[("step1", form("Step 1: What is your name?", field("name", "string")))],
                )
                .await?;
                let two = ask(
                    caller,
                    &[(
                        "step2",
                        form("Step 2: What is your favorite color?", field("color", "string")),
                    )],
                )
                .await?;
                format!(
                    "{} likes {}",
                    one["step1"]["content"]["name"], two["step2"]["content"]["color"]
                )
            }
            // Ask only the questions that the client can answer.
            _ => {
                let mut said = Vec::new();
                for (key, question) in
                    [("elicit", who()), ("sample", sampling("Say hello", 50)), ("roots", roots())]
                {
                    if let Ok(answers) = ask(caller, &[(key, question)]).await {
                        said.push(format!("{answers:?}"));
                    }
                }
                said.join("\n")
            }
        };
        Ok(ToolOutput::text(words))
    }
}

fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    }})
}

fn enums() -> Value {
    let titled = |value: &str, title: &str| json!({"const": value, "title": title});
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": [titled("value1", "First Option"), titled("value2", "Second Option"), titled("value3", "Third Option")]},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": [titled("value1", "First Choice"), titled("value2", "Second Choice"), titled("value3", "Third Choice")]}},
    }})
}

impl Handler for Fixture {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        ctx: &'a CallCtx,
        args: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(ctx, args))
    }
}
