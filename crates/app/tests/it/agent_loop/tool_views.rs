//! Tool sets of agents, skills and models, enforced on every path; tool folders that change during
//! a run.

use serde_json::{Value, json};
use toolcrib_agent::library::ON_DEVICE_TOOLS;

use super::*;

const SAFE: &str = "description = \"A tool for tests.\"\nrisk = \"safe\"\neffect = \"pure\"\n";

fn done() -> ScriptTurn {
    ScriptTurn::say("done")
}

fn write() -> ScriptTurn {
    ScriptTurn::call("write_file", json!({"path": "new.txt", "content": "x"}))
}

async fn all_answers(process: &Process, finished: &RunReport) -> Vec<Value> {
    let stored = process.stored(finished.conversation).await.unwrap();
    let models = stored.iter().filter_map(|message| match message {
        Message::Model(message) => Some(message),
        Message::User(_) => None,
    });
    models.flat_map(|message| message.answers()).flatten().map(|a| a.wire.clone()).collect()
}

#[tokio::test]
async fn an_agents_file_decides_what_its_model_sees_and_calls() {
    let home = Home::new();
    let agent = "---\ntools: [read_file]\nlimits:\n  rounds: 2\n---\nYou only read.";
    home.file("agents/reader.md", agent);
    let mut process = home.open().await;
    process.agent = "reader";
    let alias = ScriptTurn::call("write_file", json!({"file_path": "new.txt", "content": "x"}));
    let model = Watched::new([write(), alias, done()]);
    let finished = process.run(&model).await;
    assert_eq!(ended(&finished), "round_limit", "its own rounds");
    assert_eq!(model.declared(0), ["read_file"]);
    assert!(model.asked()[0].system.starts_with("You only read."));
    assert!(!home.at("shop/new.txt").exists());
    for answer in all_answers(&process, &finished).await {
        assert_eq!(answer["error_type"], "tool_not_available", "{answer}");
    }
}

#[tokio::test]
async fn a_skill_limits_the_tools_once_it_is_loaded() {
    let home = Home::new();
    let skill = "---\nname: look-only\ndescription: Looks at things.\nallowed_tools: [read_file]\n---\nOnly look.";
    home.file("skills/look-only/SKILL.md", skill);
    let process = home.open().await;
    let load = ScriptTurn::call("load_skill", json!({"name": "look-only"}));
    let before = ScriptTurn::call("write_file", json!({"path": "before.txt", "content": "x"}));
    let model = Watched::new([before, load, write(), done()]);
    let finished = process.run(&model).await;
    assert_eq!(ended(&finished), "completed");
    assert!(home.at("shop/before.txt").exists() && !home.at("shop/new.txt").exists());
    assert!(model.declared(1).contains(&"write_file".to_owned()));
    for request in [2, 3] {
        let mut declared = model.declared(request);
        declared.sort();
        assert_eq!(declared, ["ask_user", "load_skill", "read_artifact", "read_file"]);
    }
    let answers = all_answers(&process, &finished).await;
    assert!(answers[1].to_string().contains("Only look."), "{}", answers[1]);
    assert_eq!(answers[2]["error_type"], "tool_not_available");
    let told = process.events.lock().unwrap().iter().any(
        |event| matches!(event, Event::Skill { name, allowed_tools } if name == "look-only" && allowed_tools == &["read_file"]),
    );
    assert!(told);
}

#[tokio::test]
async fn a_skill_of_the_agents_file_is_active_from_the_start() {
    let home = Home::new();
    let skill = "---\nname: look-only\ndescription: Looks at things.\nallowed_tools: [read_file]\n---\nOnly look.";
    home.file("skills/look-only/SKILL.md", skill);
    home.file("agents/looker.md", "---\nskills: [look-only]\n---\nYou look.");
    let mut process = home.open().await;
    process.agent = "looker";
    let model = Watched::new([write(), done()]);
    let finished = process.run(&model).await;
    assert_eq!(ended(&finished), "completed");
    assert!(model.asked()[0].system.contains("Only look."), "its body is in the prompt");
    assert!(!model.declared(0).contains(&"write_file".to_owned()));
    assert!(!home.at("shop/new.txt").exists());
}

#[tokio::test]
async fn a_skill_that_the_model_loads_does_not_lift_the_limit_of_one_that_the_agent_has() {
    let home = Home::new();
    let skill = |name: &str, tools: &str| {
        let text = format!(
            "---\nname: {name}\ndescription: For tests.\nallowed_tools: [{tools}]\n---\nGo."
        );
        home.file(&format!("skills/{name}/SKILL.md"), &text);
    };
    skill("narrow", "read_file");
    skill("wide", "\"*\"");
    home.file("agents/looker.md", "---\nskills: [narrow]\n---\nYou look.");
    let mut process = home.open().await;
    process.agent = "looker";
    let load = |name: &str| ScriptTurn::call("load_skill", json!({"name": name}));
    // Even loading the narrow skill again, by the model itself, does not change that.
    let model = Watched::new([load("wide"), write(), load("narrow"), write(), done()]);
    let finished = process.run(&model).await;
    assert_eq!(ended(&finished), "completed");
    for request in 0..5 {
        assert!(!model.declared(request).contains(&"write_file".to_owned()), "{request}");
    }
    assert!(!home.at("shop/new.txt").exists());
}

#[tokio::test]
async fn a_skill_that_changed_limits_as_it_is_now_when_it_is_loaded_again() {
    let home = Home::new();
    let skill = |tools: &str| {
        format!("---\nname: narrow\ndescription: Narrows.\nallowed_tools: [{tools}]\n---\nGo.")
    };
    home.file("skills/narrow/SKILL.md", &skill("read_file, write_file, changes"));
    let script = format!(
        "cat >\"{}\" <<'X'\n{}\nX",
        home.at("skills/narrow/SKILL.md").display(),
        skill("read_file")
    );
    home.tool("changes", SAFE, &script);
    let process = home.open().await;
    let load = || ScriptTurn::call("load_skill", json!({"name": "narrow"}));
    let model =
        Watched::new([load(), ScriptTurn::call("changes", json!({})), load(), write(), done()]);
    let finished = process.run(&model).await;
    assert_eq!(ended(&finished), "completed");
    assert!(model.declared(1).contains(&"write_file".to_owned()));
    assert!(!model.declared(3).contains(&"write_file".to_owned()), "{:?}", model.declared(3));
    assert!(!home.at("shop/new.txt").exists());
}

#[tokio::test]
async fn a_model_on_this_device_sees_the_allow_list_alone() {
    let home = Home::new();
    let process = home.open().await;
    let time = ScriptTurn::call("get_current_time", json!({}));
    let finished_by = Watched::on_device([write(), time, done()]);
    let finished = process.run(&finished_by).await;
    assert_eq!(ended(&finished), "completed");
    let declared = finished_by.declared(0);
    assert!(!declared.is_empty() && declared.len() <= ON_DEVICE_TOOLS.len(), "{declared:?}");
    assert!(declared.contains(&"get_current_time".to_owned()), "{declared:?}");
    assert!(!declared.contains(&"read_file".to_owned()));
    let answers = all_answers(&process, &finished).await;
    assert_eq!(answers[0]["error_type"], "tool_not_available");
    assert_eq!(answers[1]["status"], "success");
    assert!(!home.at("shop/new.txt").exists());
}

#[tokio::test]
async fn the_allow_list_of_models_on_this_device_is_a_setting() {
    let home = Home::new();
    let on_device = Some(vec!["read_*".to_owned(), "write_file".to_owned()]);
    let process =
        home.open_finding(ToolSearchSettings { on_device, ..ToolSearchSettings::default() }).await;
    let model = Watched::on_device([write(), done()]);
    let finished = process.run(&model).await;
    assert_eq!(ended(&finished), "completed");
    let declared = model.declared(0);
    assert!(declared.contains(&"read_file".to_owned()), "{declared:?}");
    assert!(!declared.contains(&"get_current_time".to_owned()), "{declared:?}");
    assert_eq!(all_answers(&process, &finished).await[0]["status"], "success");
}

#[tokio::test]
async fn tools_of_a_folder_come_and_go_between_rounds() {
    let home = Home::new();
    let tools = home.at("tools").display().to_string();
    let makes = format!(
        "mkdir \"{tools}/made\" \"{tools}/wrong\"; printf 'description = \"Made.\"\\nrisk = \"safe\"\\neffect = \"pure\"\\n' >\"{tools}/made/tool.toml\"; printf '#!/bin/sh\\necho it works\\n' >\"{tools}/made/run\"; chmod +x \"{tools}/made/run\"; echo 'nonsense' >\"{tools}/wrong/tool.toml\"; echo made"
    );
    home.tool("makes", SAFE, &makes);
    let unmakes = format!("rm -r \"{tools}/made\"; echo gone");
    home.tool("unmakes", SAFE, &unmakes);
    let process = home.open().await;
    let call = |tool: &str| ScriptTurn::call(tool, json!({}));
    let model = Watched::new([call("makes"), call("made"), call("unmakes"), call("made"), done()]);
    let finished = process.run(&model).await;
    assert_eq!(ended(&finished), "completed");
    let has = |request: usize| model.declared(request).contains(&"made".to_owned());
    assert_eq!([has(0), has(1), has(2), has(3)], [false, true, true, false]);
    let answers = all_answers(&process, &finished).await;
    assert_eq!(answers[1]["result"], "it works");
    assert_eq!(answers[3]["error_type"], "tool_not_found");
    let events = process.events.lock().unwrap();
    let told = events
        .iter()
        .any(|event| matches!(event, Event::Notice { text } if text.starts_with("tool wrong:")));
    assert!(told, "a broken one is told of");
}
