//! `toolcrib memory` and `toolcrib task`: what a person sees and changes of them.

use serde_json::json;

use crate::support::{self, TestEnv};

#[test]
fn a_memory_of_a_model_is_seen_changed_and_taken_back() {
    let env = TestEnv::new();
    let args = json!({"key": "sister", "content": "Mia lives in Oslo."});
    let (reply, code) = env.call("memory_store", &args, &[]);
    assert_eq!(code, 0, "{reply}");
    let shown = support::json(&env.run(&["memory", "show", "sister", "--json"]).code(0).stdout);
    assert_eq!((&shown["content"], &shown["hit_count"]), (&args["content"], &json!(1)));
    assert!(shown["call"].as_str().unwrap().starts_with("call_"), "{shown}");
    env.run(&["memory", "edit", "sister", "Mia lives in Bergen."]).code(0);
    let found = env.run(&["memory", "list", "where does family live", "--json"]).code(0);
    assert_eq!(support::json(&found.stdout)[0]["content"], "Mia lives in Bergen.");
    env.run(&["memory", "forget", "sister"]).code(0).says(&["toolcrib memory undo"]);
    env.run(&["memory", "show", "sister"]).code(4);
    env.run(&["memory", "undo"]).code(0);
    let file = env.outside().join("memories.json");
    let file = file.to_str().unwrap();
    env.run(&["memory", "export", file]).code(0);
    env.run(&["memory", "edit", "other", "x"]).code(0);
    env.run(&["memory", "import", file, "--replace"]).code(0).says(&["1 unchanged, 1 removed"]);
    env.run(&["memory", "edit", "k", "AKIAABCDEFGHIJKLMNOP"])
        .code(2)
        .says(&["contains a secret", "toolcrib secret set"]);
}

#[test]
fn memories_are_in_the_prompt_until_the_switch_is_off() {
    let env = TestEnv::new();
    env.run(&["memory", "edit", "color", "The favorite color is blue."]).code(0);
    let turn = "  - expect:\n      system_contains: \"- **color**: The favorite color is blue.\"\n    say: Blue.\n";
    env.play(turn, &[]).code(0);
    env.run(&["tool", "disable", "--feature", "memory"]).code(0);
    env.play(turn, &[]).code(1);
    let (reply, code) = env.call("memory_recall", &json!({"query": "color"}), &[]);
    assert_ne!(code, 0, "{reply}");
}

#[test]
fn tasks_are_made_listed_and_cancelled() {
    let env = TestEnv::new();
    let made = env
        .run(&[
            "task",
            "add",
            "News",
            "Tell the news.",
            "--cron",
            "0 9 * * *",
            "--zone",
            "UTC",
            "--json",
        ])
        .code(0);
    let made = support::json(&made.stdout);
    assert_eq!((&made["schedule"], &made["status"]), (&json!("Daily at 9:00"), &json!("PENDING")));
    let id = made["task"].as_str().unwrap();
    env.run(&["task", "pause", &id[..id.len() - 2]]).code(0);
    let listed = support::json(&env.run(&["task", "list", "--json"]).code(0).stdout);
    assert_eq!(listed[0]["status"], "PAUSED");
    env.run(&["task", "resume", id]).code(0);
    env.run(&["task", "cancel", id]).code(0);
    env.run(&["task", "cancel", id]).code(5).says(&["is over already"]);
    env.run(&["task", "history", id]).code(0).says(&["has not run yet"]);
    env.run(&["task", "add", "x", "y", "--at", "2020-01-01T00:00Z"]).code(2).says(&["now it is"]);
    env.run(&["task", "add", "x", "y"]).code(2).says(&["either execute_at or cron"]);
}

#[test]
fn the_next_times_of_schedules_are_answered_line_by_line() {
    let env = TestEnv::new();
    let lines = [
        json!({"id": "gap", "cron": "30 2 * * *", "zone": "Europe/Berlin", "after": "2026-03-28T12:00", "count": 2}),
        json!({"id": "never", "cron": "0 9 31 2 *"}),
    ];
    let answers = env.feed(&["task", "next", "--lines"], support::feed(&lines)).code(0);
    let answers = support::lines(&answers.stdout);
    assert_eq!(
        answers[0],
        json!({"id": "gap", "next": ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]})
    );
    assert!(answers[1]["error"].as_str().unwrap().contains("never matches"), "{}", answers[1]);
    let listed = env.run(&["task", "list", "--all", "--json"]).code(0);
    assert_eq!(support::json(&listed.stdout), json!([]));
}

#[test]
fn lists_of_a_model_are_seen_changed_and_taken_back() {
    let env = TestEnv::new();
    let args = json!({"action": "add", "name": "Groceries", "items": ["milk", "bread"]});
    let (reply, code) = env.call("list", &args, &[]);
    assert_eq!(code, 0, "{reply}");
    env.run(&["list", "check", "groceries", "Milk", "beer"])
        .code(0)
        .says(&["beer is not on the list"])
        .prints(&["[x] milk", "[ ] bread"]);
    let shown = support::json(&env.run(&["list", "show", "--json"]).code(0).stdout);
    assert_eq!((&shown["open"], &shown["checked"]), (&json!(1), &json!(1)));
    env.run(&["list", "history", "--since", "2026-01-01"]).code(0).prints(&["checked milk"]);
    env.run(&["list", "delete", "groceries"]).code(0).says(&["toolcrib list undo"]);
    env.run(&["list", "show", "groceries"]).code(4);
    env.run(&["list", "undo"]).code(0);
    env.run(&["list", "all"]).code(0).prints(&["Groceries"]);
    env.run(&["list", "add", "x", "AKIAABCDEFGHIJKLMNOP"]).code(2).says(&["contains a secret"]);
    env.run(&["tool", "disable", "--feature", "lists"]).code(0);
    let (reply, code) = env.call("list", &json!({"action": "view"}), &[]);
    assert_ne!(code, 0, "{reply}");
}

#[test]
fn a_card_is_drawn_and_reaches_programs_as_data() {
    let env = TestEnv::new();
    let table = r#"[{"type":"table","columns":["Bread","Price"],"rows":[["rye","3.10"]]}]"#;
    let blocks = format!("blocks:={table}");
    env.run(&["tool", "call", "rich_render", &blocks])
        .code(0)
        .prints(&["Bread  Price", "rye     3.10"]);
    let args = json!({"blocks": [{"type": "badge", "label": "new"}]});
    let (reply, code) = env.call("rich_render", &args, &[]);
    assert_eq!(code, 0, "{reply}");
    let badge = json!({"type": "badge", "label": "new", "level": "info"});
    assert_eq!(reply["structured"]["blocks"], json!([badge]));
    let script = "  - calls:\n      - tool: rich_render\n        args: {blocks: [{type: badge, label: new}]}\n  - say: Done.\n";
    env.play(script, &[]).code(0).says(&["[i new]"]);
    let events = env.play(script, &["--json"]).code(0);
    let events = support::lines(&events.stdout);
    let shown = events.iter().find(|event| event["state"] == "output-available").unwrap();
    assert_eq!(shown["cards"], json!([{ "blocks": [badge] }]));
}
