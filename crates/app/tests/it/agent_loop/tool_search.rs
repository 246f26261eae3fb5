//! Tool search in the loop: with many tools, a model finds the ones it needs by meaning, and keeps
//! them.

use std::sync::Arc;

use serde_json::{Value, json};

use toolcrib_agent::tool_selection::{ToolSelectionMode, ToolSelectionRules};
use toolcrib_core::{Answer, Origin, RawArgs, Status, ViewRequest};

use super::*;

const FORECAST: &str = r#"
description = "Returns the weather forecast for a city."
risk = "safe"
effect = "read"
[parameters.city]
type = "string"
description = "Name of the city."
"#;
const POST: &str = r#"
description = "Posts a message to a channel of the team."
risk = "safe"
effect = "read"
[config.token]
description = "Token of the chat."
secret = true
required = true
[parameters.text]
type = "string"
"#;

fn home() -> Home {
    let home = Home::new();
    home.tool("weather", FORECAST, "cat >/dev/null; echo '{\"result\": \"sunny\"}'");
    home.tool("team_chat", POST, "cat >/dev/null; echo '{\"result\": \"sent\"}'");
    home
}

async fn open(home: &Home, mode: ToolSelectionMode) -> Process {
    let offer = ToolSelectionRules { mode, ..ToolSelectionRules::default() };
    home.open_finding(ToolSearchSettings { offer, ..ToolSearchSettings::default() }).await
}

fn find(query: &str) -> ScriptTurn {
    ScriptTurn::call("find_tools", json!({ "query": query }))
}

fn weather(process: &Process) -> String {
    let infos = process.toolcrib.infos();
    let found = infos.iter().find(|info| info.description.contains("forecast"));
    found.unwrap().id.to_string()
}

#[tokio::test]
async fn a_model_finds_a_tool_and_calls_it_and_keeps_it() {
    let home = home();
    let process = open(&home, ToolSelectionMode::Search).await;
    let tool = weather(&process);
    let turns = [
        find("the forecast for the city of Graz"),
        ScriptTurn::call(&tool, json!({"city": "Graz"})),
        ScriptTurn::say("sunny"),
    ];
    let model = Watched::new(turns);
    let finished = process.run(&model).await;
    assert_eq!(ended(&finished), "completed");
    assert!(!model.declared(0).contains(&tool));
    assert!(model.declared(0).contains(&"find_tools".to_owned()));
    assert!(!model.declared(0).contains(&"read_file".to_owned()));
    assert!(model.declared(1).contains(&tool));
    let asked = model.asked();
    assert!(asked[0].system.contains("## Available Tool Groups"), "{}", asked[0].system);
    let messages = process.stored(finished.conversation).await.unwrap();
    let found = &answers(&messages)[0]["result"];
    assert_eq!(found["injected"][0]["name"], json!(tool));
    assert_eq!(found["injected"][0].get("parameters"), None, "the next request has them");
    let events = process.events.lock().unwrap().clone();
    let Some(Event::RunEnd { tokens_saved, .. }) = events.last() else { panic!("no end") };
    assert!(*tokens_saved > 3_000, "{tokens_saved}");

    // Another process continues the same conversation.
    let mut later = open(&home, ToolSelectionMode::Search).await;
    later.conversation = finished.conversation;
    let model = Watched::new([ScriptTurn::say("still there")]);
    later.run(&model).await;
    assert!(model.declared(0).contains(&tool));
}

#[tokio::test]
async fn a_group_is_loaded_at_once() {
    let home = home();
    let process = open(&home, ToolSelectionMode::Search).await;
    let load = ScriptTurn::call("load_tool_group", json!({"group_name": "files"}));
    let model = Watched::new([load, ScriptTurn::say("done")]);
    process.run(&model).await;
    for name in ["read_file", "write_file", "find_files"] {
        assert!(model.declared(1).contains(&name.to_owned()), "{name}");
    }
    assert!(!model.declared(1).contains(&"http_request".to_owned()));
}

#[tokio::test]
async fn few_tools_are_all_there_and_a_search_says_so() {
    let home = home();
    let process = open(&home, ToolSelectionMode::Auto).await;
    let model = Watched::new([find("read a file of the workspace"), ScriptTurn::say("done")]);
    let finished = process.run(&model).await;
    assert!(model.declared(0).contains(&"read_file".to_owned()));
    assert!(!model.asked()[0].system.contains("Available Tool Groups"));
    let messages = process.stored(finished.conversation).await.unwrap();
    let found = answers(&messages)[0]["result"].clone();
    assert_eq!(found["injected"], json!([]));
    assert_eq!(found["already_available"][0], "read_file");
}

#[tokio::test]
async fn what_is_not_configured_says_what_is_missing() {
    let home = home();
    let process = open(&home, ToolSelectionMode::Search).await;
    let model = Watched::new([find("post a message to the team channel"), ScriptTurn::say("ok")]);
    let finished = process.run(&model).await;
    let messages = process.stored(finished.conversation).await.unwrap();
    let found = answers(&messages)[0]["result"].clone();
    assert_eq!(found["not_ready"][0]["missing"], json!(["token"]), "{found}");
    let view = Arc::new(ViewRequest::default());
    let sought =
        process.toolcrib.search_tools(&view, "post a message to the team channel", 5).await;
    let sought = sought.unwrap();
    let (name, status) = &sought.not_ready[0];
    assert_eq!(name.as_str(), "team_chat", "{sought:?}");
    assert_eq!(*status, Status::Available { missing: vec!["token".to_owned()] });
}

#[tokio::test]
async fn only_what_the_agent_may_see_is_found() {
    let home = home();
    home.file(
        "agents/narrow.md",
        "---\nname: narrow\ndescription: Looks.\ntools: [read_file, find_tools]\n---\nYou look.\n",
    );
    let mut process = open(&home, ToolSelectionMode::Search).await;
    process.agent = "narrow";
    let tool = weather(&process);
    let turns = [
        find("the weather forecast for a city"),
        find(&tool),
        ScriptTurn::call(&tool, json!({"city": "Graz"})),
        ScriptTurn::say("ok"),
    ];
    let model = Watched::new(turns);
    let finished = process.run(&model).await;
    let messages = process.stored(finished.conversation).await.unwrap();
    let all: Vec<Value> = messages
        .iter()
        .filter_map(|message| match message {
            Message::Model(message) => Some(message),
            Message::User(_) => None,
        })
        .flat_map(|message| message.answers().iter().flatten())
        .map(|answer| answer.wire.clone())
        .collect();
    for answer in &all[..2] {
        assert_eq!(answer["result"]["injected"], json!([]), "{answer}");
        assert!(!answer["result"]["not_found"][0]["nearest"].to_string().contains(&tool));
    }
    assert_eq!(all[2]["error_type"], "tool_not_available");
}

#[tokio::test]
async fn by_hand_the_parameters_are_told() {
    let home = home();
    let process = open(&home, ToolSelectionMode::Auto).await;
    let args = RawArgs::Value(json!({"query": "weather forecast for a city"}));
    let answer = process.toolcrib.call("find_tools", args, Origin::Cli).await.unwrap();
    let Answer::Done(outcome) = answer else { panic!("{answer:?}") };
    let wire = outcome.to_wire();
    let row = &wire["result"]["injected"][0];
    assert_eq!(row["parameters"]["properties"]["city"]["type"], "string", "{wire}");
}
