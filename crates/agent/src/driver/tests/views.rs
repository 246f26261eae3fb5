//! Tests of views: a model can call exactly the tools that it sees.

use super::*;

#[tokio::test]
async fn a_tool_outside_the_agents_set_is_neither_declared_nor_callable() {
    let (look, delete) = (echo("look"), echo("delete"));
    let turns = [call("delete", 1), call("look", 1), say("done")];
    let mut scene = Scene::new(turns, &[&look, &delete]).await;
    scene.view.agent = Some(vec!["look".to_owned()]);
    let ran = scene.run().await;
    assert_eq!(scene.model().declared()[0], ["look"]);
    assert_eq!((delete.runs(), look.runs()), (0, 1));
    let refused = ran.answers(0)[0].clone();
    assert_eq!(refused["error_type"], "tool_not_available");
    assert!(refused["message"].as_str().unwrap().starts_with("Tool delete is not available"));
}

#[tokio::test]
async fn an_alias_is_no_way_around_the_set() {
    let delete = ScriptedTool::new("delete").spec(|spec| spec.aliases = vec!["rm".to_owned()]);
    let (look, delete) = (echo("look"), Arc::new(delete));
    let mut scene = Scene::new([call("rm", 1), say("done")], &[&look, &delete]).await;
    scene.view.agent = Some(vec!["look".to_owned()]);
    let ran = scene.run().await;
    assert_eq!(
        (delete.runs(), &ran.answers(0)[0]["error_type"]),
        (0, &json!("tool_not_available"))
    );
}

#[tokio::test]
async fn a_model_on_this_device_is_given_only_the_allow_list() {
    let (search, look) = (echo("web_search"), echo("look"));
    let mut scene = Scene::new([], &[&search, &look]).await;
    let turns = [call("look", 1), call("web_search", 1), say("done")];
    scene.models = vec![TestModel::on_device("tiny", turns)];
    let ran = scene.run().await;
    assert_eq!(scene.model().declared()[0], ["web_search"]);
    assert_eq!((look.runs(), search.runs()), (0, 1));
    assert_eq!(ran.answers(0)[0]["error_type"], "tool_not_available");
}

#[tokio::test]
async fn the_prompt_and_the_declarations_follow_the_registry_between_rounds() {
    let more = echo("more");
    let look = echo("look");
    let mut scene = Scene::new([call("look", 1), call("more", 1), say("done")], &[&look]).await;
    let (engine, source) = (scene.engine.clone(), fixed_source("late", &[&more]));
    scene.looks = Arc::new(move |event| {
        if matches!(event, Event::Tool(tool) if tool.tool == "look" && tool.report.is_some()) {
            futures_util::FutureExt::now_or_never(engine.catalog().attach(&source))
                .unwrap()
                .unwrap();
        }
    });
    let ran = scene.run().await;
    assert_eq!((ran.end(), more.runs()), ("completed", 1));
    let declared = scene.model().declared();
    assert_eq!((declared[0].len() + 1, declared[1].len()), (declared[1].len(), declared[2].len()));
    assert!(declared[1].contains(&"more".to_owned()));
    let systems: Vec<String> = scene.model().asked().iter().map(|r| r.system.clone()).collect();
    assert_ne!(systems[0], systems[1]);
    assert_eq!(systems[1], systems[2], "the same while nothing changes: prompt caches");
}
