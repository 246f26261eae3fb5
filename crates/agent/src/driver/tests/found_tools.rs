//! Tests of found tools: declared from the next request on, for the whole conversation, and in
//! another process too.

use toolcrib_core::Tier;

use super::*;
use crate::tool_selection::ToolSelectionMode;

/// An innate tool with this name whose result adds these tools.
fn finder(name: &str, tools: &[&str]) -> Arc<ScriptedTool> {
    let rows: Vec<Value> = tools.iter().map(|tool| json!({"name": tool})).collect();
    let tool = ScriptedTool::new(name).does(move |_, _| {
        let found = json!({"injected": rows, "not_found": []});
        Box::pin(std::future::ready(Ok(ToolOutput::structured(found))))
    });
    Arc::new(tool.spec(|spec| spec.tier = Tier::Innate))
}

async fn searching(turns: impl IntoIterator<Item = ScriptTurn>) -> Scene {
    let (find, load) = (finder("find_tools", &["look"]), finder("load_tool_group", &["peer"]));
    let tools = [find, load, echo("look"), echo("peer"), echo("stare")];
    let tools: Vec<&Arc<ScriptedTool>> = tools.iter().collect();
    let mut scene = Scene::new(turns, &tools).await;
    scene.offer.mode = ToolSelectionMode::Search;
    scene
}

const BASE: [&str; 3] = ["ask_user", "find_tools", "load_tool_group"];

fn sorted(names: &[String]) -> Vec<&str> {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    names
}

fn with(more: &[&'static str]) -> Vec<&'static str> {
    let mut names = [&BASE, more].concat();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn found_tools_are_declared_from_the_next_request_on() {
    let turns = [call("find_tools", 1), call("look", 1), call("load_tool_group", 1), say("done")];
    let scene = searching(turns).await;
    let ran = scene.run().await;
    let declared = scene.model().declared();
    assert_eq!(sorted(&declared[0]), BASE);
    assert_eq!(sorted(&declared[1]), with(&["look"]));
    assert_eq!(sorted(&declared[2]), with(&["look"]));
    assert_eq!(sorted(&declared[3]), with(&["look", "peer"]));
    assert_eq!(ran.answers(1)[0]["status"], "success");
    let saved: Vec<(usize, u64)> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Request { left_out, tokens_saved, .. } => Some((*left_out, *tokens_saved)),
            _ => None,
        })
        .collect();
    assert_eq!(saved.iter().map(|(left_out, _)| *left_out).collect::<Vec<_>>(), [3, 2, 2, 1]);
    let sum: u64 = saved.iter().map(|(_, tokens)| tokens).sum();
    let Some(Event::RunEnd { tokens_saved, .. }) = ran.events.last() else { panic!("no end") };
    assert_eq!((*tokens_saved, ran.machine.state().spent.tokens_saved), (sum, sum));
    assert!(sum > 0);
}

#[tokio::test]
async fn a_tool_that_is_not_declared_can_be_called_by_its_name() {
    let scene = searching([call("stare", 1), say("done")]).await;
    let ran = scene.run().await;
    assert_eq!(ran.answers(0)[0]["status"], "success");
    // It was not found, so it is not declared afterwards either.
    assert_eq!(sorted(&scene.model().declared()[1]), BASE);
}

#[tokio::test]
async fn they_stay_for_the_next_run_of_the_conversation() {
    let scene = searching([call("find_tools", 1), say("done")]).await;
    let first = scene.run().await;
    let mut scene = searching([say("hello")]).await;
    scene.history = first.machine.history().to_vec();
    scene.run().await;
    assert_eq!(sorted(&scene.model().declared()[0]), with(&["look"]));
}

#[tokio::test]
async fn they_stay_when_another_process_goes_on() {
    let turns = [
        call("find_tools", 1),
        ScriptTurn::call("ask_user", json!({"question": "Go?", "options": ["yes", "no"]})),
    ];
    let scene = searching(turns).await;
    let first = scene.run().await;
    assert_eq!(first.end(), "paused");
    let stored = serde_json::to_value(first.machine.state()).unwrap();
    assert_eq!(stored["injected"], json!(["look"]));
    let mut machine =
        Machine::restore(serde_json::from_value(stored).unwrap(), first.machine.history().to_vec());
    machine.expire_pending();
    let scene = searching([say("done")]).await;
    scene.store.put_conversation(untitled(machine.state().conversation)).await.unwrap();
    // The event grammar does not apply here: another process made the first calls.
    scene.driver().drive(&mut machine, &scene.job(), &scene.control).await.unwrap();
    assert_eq!(sorted(&scene.model().declared()[0]), with(&["look"]));
}

#[tokio::test]
async fn a_run_stored_before_there_was_finding_can_be_read() {
    let scene = searching([say("done")]).await;
    let ran = scene.run().await;
    let mut stored = serde_json::to_value(ran.machine.state()).unwrap();
    assert_eq!(stored.get("injected"), None);
    stored["spent"].as_object_mut().unwrap().remove("tokens_saved");
    let state: crate::machine::State = serde_json::from_value(stored).unwrap();
    assert!(state.injected.is_empty());
}

#[tokio::test]
async fn what_a_failed_search_says_injects_nothing() {
    let broken = ScriptedTool::new("find_tools").does(|_, _| {
        let text = json!({"injected": [{"name": "look"}]}).to_string();
        Box::pin(std::future::ready(Err(toolcrib_core::ToolError::execution(text))))
    });
    let broken = Arc::new(broken.spec(|spec| spec.tier = Tier::Innate));
    let look = echo("look");
    let mut scene = Scene::new([call("find_tools", 1), say("done")], &[&broken, &look]).await;
    scene.offer.mode = ToolSelectionMode::Search;
    let ran = scene.run().await;
    assert_eq!(ran.answers(0)[0]["status"], "error");
    assert_eq!(sorted(&scene.model().declared()[1]), ["ask_user", "find_tools"]);
}
