//! `toolcrib tool spec`: declarations in the format of each provider.

use serde_json::{Value, json};

use crate::support::{self, TestEnv};

fn declared(format: &str, more: &[&str]) -> Vec<Value> {
    let env = TestEnv::new();
    let ended = env.run(&[&["tool", "spec", "--json", "--format", format], more].concat()).code(0);
    support::lines(&ended.stderr)
        .iter()
        .for_each(|warning| assert!(warning["message"].is_string()));
    let people = env.run(&[&["tool", "spec", "--format", format], more].concat()).code(0);
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

/// Visits every node of a schema.
fn nodes<'v>(value: &'v Value, visit: &mut impl FnMut(&'v Value)) {
    visit(value);
    match value {
        Value::Object(map) => map.values().for_each(|value| nodes(value, visit)),
        Value::Array(items) => items.iter().for_each(|value| nodes(value, visit)),
        _ => {}
    }
}

/// The number of built-in tools that are enabled.
const TOOLS: usize = 49;

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
    let prompt = env.run(&["tool", "spec", "--format", "text"]).code(0).stdout;
    assert!(
        prompt.contains("<tool_call>") && prompt.contains("\"name\":\"read_file\""),
        "{prompt}"
    );
    let value =
        support::json(&env.run(&["tool", "spec", "--format", "text", "--json"]).code(0).stdout);
    assert_eq!(value.as_str().map(str::trim_end), Some(prompt.trim_end()));
}

#[test]
fn a_loss_is_said() {
    let env = TestEnv::new();
    let ended = env.run(&["tool", "spec", "--format", "openai-chat", "--strict"]).code(0);
    ended.says(&["toolcrib: http_request", "without strict mode"]);
}

#[test]
fn an_agent_is_shown_its_tools_and_those_of_the_loop() {
    let env = TestEnv::new();
    env.run(&["agent", "new", "reader"]).code(0);
    env.run(&["agent", "tools", "reader", "--set", "read_file,group:network,ask_user"]).code(0);
    let names = |args: &[&str]| {
        let ended =
            env.run(&[&["tool", "spec", "--json", "--format", "anthropic"], args].concat()).code(0);
        let tools = support::json(&ended.stdout);
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        tools.as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    let of_agent = names(&["--agent", "reader"]);
    for name in ["ask_user", "read_file", "fetch_url"] {
        assert!(of_agent.iter().any(|own| own == name), "{of_agent:?}");
    }
    assert!(!of_agent.iter().any(|own| own == "write_file"), "{of_agent:?}");
    let of_all = names(&[]);
    assert!(of_all.iter().any(|own| own == "write_file"), "{of_all:?}");
    assert!(!of_all.iter().any(|own| own == "ask_user"), "only the loop runs it: {of_all:?}");

    env.run(&["tool", "spec", "--format", "anthropic", "--agent", "raeder"])
        .code(4)
        .says(&["reader"]);
}

#[test]
fn the_listed_tools_are_shown_hosted_and_disabled_ones_too() {
    let env = TestEnv::new();
    let args =
        ["tool", "spec", "--format", "anthropic", "ask_user", "hosted_web_search", "list_dir"];
    let ended =
        env.run(&args).code(0).says(&["hosted_web_search: it is not offered: it is switched off"]);
    let tools = support::json(&ended.stdout);
    let mut names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["ask_user", "list_dir", "web_search"]);
    let search = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "web_search");
    assert_eq!(search.unwrap()["type"], "web_search_20260318");

    env.run(&["tool", "spec", "--format", "anthropic", "raed_file"]).code(4).says(&["read_file"]);
    let group =
        env.run(&["tool", "spec", "--format", "openai-chat", "group:network"]).code(0).stdout;
    assert!(group.contains("http_request") && group.contains("fetch_url"), "{group}");
}

/// The person prefers the provider's search by its switch: the models that have one get it in
/// place of ours, the others keep ours.
#[test]
fn the_hosted_search_is_preferred_where_the_person_says_so() {
    let env = TestEnv::new();
    let search = |format: &str| {
        let ended = env.run(&["tool", "spec", "--json", "--format", format]).code(0);
        let tools = support::json(&ended.stdout);
        let is_search = |tool: &&Value| tool.to_string().contains("web_search");
        tools.as_array().unwrap().iter().filter(is_search).cloned().collect::<Vec<_>>()
    };
    let own_search = "[web.searxng]\nurl = \"http://127.0.0.1:9\"\n";
    env.own("config.toml", own_search);
    let anthropic = search("anthropic");
    assert_eq!((anthropic.len(), &anthropic[0]["name"]), (1, &"web_search".into()));
    assert!(anthropic[0]["input_schema"].is_object(), "ours: {anthropic:?}");

    let preferred = format!("{own_search}[tools.hosted_web_search]\nenabled = true\n");
    env.own("config.toml", &preferred);
    let anthropic = search("anthropic");
    assert_eq!((anthropic.len(), &anthropic[0]["type"]), (1, &"web_search_20260318".into()));
    let responses = search("openai-responses");
    assert_eq!((responses.len(), &responses[0]["type"]), (1, &"web_search".into()));
    let chat = search("openai-chat");
    assert_eq!((chat.len(), &chat[0]["function"]["name"]), (1, &"web_search".into()));
}
