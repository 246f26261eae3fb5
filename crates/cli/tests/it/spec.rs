//! `toolcrib spec`: declarations in the form of each provider.

use serde_json::{Value, json};

use crate::support::{self, TestEnv};

fn declared(format: &str, more: &[&str]) -> Vec<Value> {
    let env = TestEnv::new();
    let ended = env.run(&[&["spec", "--json", "--format", format], more].concat()).code(0);
    support::lines(&ended.stderr)
        .iter()
        .for_each(|warning| assert!(warning["message"].is_string()));
    let people = env.run(&[&["spec", "--format", format], more].concat()).code(0);
    let value = support::json(&ended.stdout);
    assert_eq!(support::json(&people.stdout), value);
    value.as_array().unwrap().clone()
}

#[track_caller]
fn good_name(name: &Value) {
    let name = name.as_str().unwrap();
    assert!((1..=64).contains(&name.len()), "{name}");
    assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{name}");
}

/// Every node of a schema.
fn nodes<'v>(value: &'v Value, visit: &mut impl FnMut(&'v Value)) {
    visit(value);
    match value {
        Value::Object(map) => map.values().for_each(|value| nodes(value, visit)),
        Value::Array(items) => items.iter().for_each(|value| nodes(value, visit)),
        _ => {}
    }
}

/// The tools that ship with it and are on.
const TOOLS: usize = 25;

#[test]
fn openai_chat() {
    let tools = declared("openai-chat", &[]);
    assert_eq!(tools.len(), TOOLS);
    for tool in &tools {
        assert_eq!(tool["type"], "function");
        good_name(&tool["function"]["name"]);
        assert!(tool["function"]["description"].is_string());
        assert_eq!(tool["function"]["parameters"]["type"], "object");
        assert_ne!(tool["function"]["strict"], true);
    }
}

#[test]
fn openai_responses() {
    for tool in declared("openai-responses", &[]) {
        assert_eq!(tool["type"], "function");
        good_name(&tool["name"]);
        assert_eq!(
            (&tool["parameters"]["type"], &tool["strict"]),
            (&json!("object"), &json!(false))
        );
    }
}

#[test]
fn anthropic() {
    for tool in declared("anthropic", &[]) {
        good_name(&tool["name"]);
        assert_eq!(tool["input_schema"]["type"], "object");
        assert!(tool["description"].is_string());
    }
}

#[test]
fn gemini() {
    let tools = declared("gemini", &[]);
    assert_eq!(tools.len(), 1);
    let declarations = tools[0]["functionDeclarations"].as_array().unwrap();
    assert_eq!(declarations.len(), TOOLS);
    for declaration in declarations {
        good_name(&declaration["name"]);
        if let Some(schema) = declaration.get("parameters") {
            assert_eq!(schema["type"], "OBJECT");
            nodes(schema, &mut |node| {
                for key in ["additionalProperties", "$schema", "$ref", "const", "oneOf", "allOf"] {
                    assert!(node.get(key).is_none(), "{key} in {declaration}");
                }
            });
        }
    }
}

#[test]
fn strict_mode_is_whole_or_not_at_all() {
    for (format, at) in [("openai-chat", "/function"), ("openai-responses", "")] {
        let tools = declared(format, &["--strict"]);
        let strict: Vec<&Value> = tools
            .iter()
            .map(|tool| tool.pointer(at).unwrap())
            .filter(|tool| tool["strict"] == true)
            .collect();
        assert!(strict.len() >= 10, "{format}: {}", strict.len());
        for tool in strict {
            nodes(&tool["parameters"], &mut |node| {
                let Some(properties) = node.get("properties").and_then(Value::as_object) else {
                    return;
                };
                assert_eq!(node["additionalProperties"], false, "{tool}");
                let names: Vec<&String> = properties.keys().collect();
                assert_eq!(node["required"], json!(names), "{tool}");
            });
        }
        let open = tools
            .iter()
            .map(|tool| tool.pointer(at).unwrap())
            .find(|tool| tool["name"] == "http_request");
        assert_ne!(open.unwrap()["strict"], true, "an open map cannot be strict");
    }
}

#[test]
fn text_is_a_prompt() {
    let env = TestEnv::new();
    let prompt = env.run(&["spec", "--format", "text"]).code(0).stdout;
    assert!(
        prompt.contains("<tool_call>") && prompt.contains("\"name\":\"read_file\""),
        "{prompt}"
    );
    let value = support::json(&env.run(&["spec", "--format", "text", "--json"]).code(0).stdout);
    assert_eq!(value.as_str().map(str::trim_end), Some(prompt.trim_end()));
}

#[test]
fn a_loss_is_said() {
    let env = TestEnv::new();
    let ended = env.run(&["spec", "--format", "openai-chat", "--strict"]).code(0);
    ended.says(&["toolcrib: http_request", "without strict mode"]);
}
