//! Skills, kits and guides as files: listing, copying and checking them, and their effect while
//! they are active.

use serde_json::json;

use crate::support::{self, TestEnv};

fn skill(name: &str, more: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Writes poems. Use it for poems.\n{more}---\n\nEvery line has five words.\n"
    )
}

#[test]
fn skills_are_listed_with_what_is_wrong() {
    let env = TestEnv::new();
    env.own("skills/poems/SKILL.md", &skill("poems", "version: \"3\"\n"));
    env.write(".toolcrib/skills/broken/SKILL.md", skill("other-name", ""));
    let ended = env.run(&["skill", "list"]).code(0).says(&["broken/SKILL.md"]);
    let names: Vec<&str> =
        ended.stdout.lines().skip(1).map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["create-skill", "poems"]);
    let rows = support::json(&env.run(&["skill", "list", "--json"]).code(0).stdout);
    assert_eq!((&rows[1]["version"], &rows[1]["from"]), (&json!("3"), &json!("user")));
}

#[test]
fn two_skills_of_one_name_are_both_named_and_neither_is_loaded() {
    let env = TestEnv::new();
    env.own("skills/poems/SKILL.md", &skill("poems", ""));
    env.write(".agents/skills/poems/SKILL.md", skill("poems", ""));
    let ended = env.run(&["skill", "list"]).code(0);
    assert!(!ended.stdout.contains("poems"), "{}", ended.stdout);
    ended.says(&["home/skills/poems", ".agents/skills/poems", "neither is loaded"]);
    // A run continues without it, and reports that.
    let turns = "\n  - calls: [{tool: load_skill, args: {name: poems}}]\n  - expect: {results: [{tool: load_skill, outcome: failed}]}\n    say: None.\n";
    env.play(turns, &[]).code(0).says(&["neither is loaded"]);
    // An agent that requires it is then invalid.
    env.own("agents/poet.md", "---\nskills: [poems]\n---\nP\n");
    env.run(&["agent", "show", "poet"]).code(3).says(&["unknown skill \"poems\""]);
}

#[test]
fn add_copies_what_is_good_and_nothing_else() {
    let env = TestEnv::new();
    env.write("poems/SKILL.md", skill("poems", ""));
    env.write("poems/words.txt", "oats");
    let added = env.run(&["skill", "add", "poems"]).code(0);
    assert!(added.stdout.trim().ends_with("home/skills/poems/SKILL.md"), "{}", added.stdout);
    let copy = env.outside().join("home/skills/poems/words.txt");
    assert_eq!(std::fs::read_to_string(copy).unwrap(), "oats");
    env.run(&["skill", "add", "poems"]).code(2).says(&["there is a skill poems already"]);
    env.run(&["skill", "add", "poems", "--project"]).code(2);
    env.run(&["skill", "add", "nowhere"]).code(4).says(&["there is no nowhere"]);
    env.write("bad/SKILL.md", skill("bad", "parameters: nonsense\n"));
    env.run(&["skill", "add", "bad"]).code(3).says(&["bad/SKILL.md"]);
    assert!(!env.outside().join("home/skills/bad").exists());
    env.write("other/SKILL.md", skill("other", ""));
    env.run(&["skill", "add", "other", "--project"]).code(0);
    assert!(env.read(".toolcrib/skills/other/SKILL.md").is_some());
}

#[test]
fn validate_is_stricter_than_loading() {
    let env = TestEnv::new();
    env.write("poems/SKILL.md", skill("poems", ""));
    env.run(&["skill", "validate", "poems"]).code(0);
    env.run(&["skill", "validate", "poems/SKILL.md"]).code(0);
    env.run(&["skill", "validate", "nowhere"]).code(4);
    for (more, words) in [
        ("allowed-tools: raed_file\n", "did you mean \"read_file\""),
        ("colour: blue\n", "key \"colour\" is not part of the standard"),
        ("metadata: {n: 1}\n", "metadata.n is not text"),
        ("desciption: x\n", "did you mean \"description\""),
    ] {
        env.write("poems/SKILL.md", skill("poems", more));
        let ended = env.run(&["skill", "validate", "poems"]).code(3).says(&[words]);
        assert_eq!(ended.stdout, "");
        let ended = env.run(&["skill", "validate", "poems", "--json"]).code(3);
        let report = support::json(&ended.stdout);
        assert_eq!(report["valid"], false);
        assert!(report["problems"][0]["message"].as_str().unwrap().contains(words), "{report}");
    }
}

/// The body of a skill is read on use; from then on, its list of tools applies.
#[test]
fn an_active_skill_limits_the_tools() {
    let env = TestEnv::new();
    env.own("skills/poems/SKILL.md", &skill("poems", "allowed-tools: read_file\n"));
    let turns = r#"
  - expect: {system_contains: Writes poems, tools_include: [write_file]}
    calls: [{tool: load_skill, args: {name: poems}}]
  - expect:
      results: [{tool: load_skill, outcome: succeeded, contains: five words}]
      tools_include: [read_file, ask_user]
      tools_exclude: [write_file]
    calls: [{tool: write_file, args: {path: x, content: x}}]
  - expect: {results: [{tool: write_file, outcome: denied}]}
    say: I may only read.
"#;
    env.play(turns, &[]).code(0).says(&["skill poems is active"]);
    assert!(env.read("x").is_none());
}

#[test]
fn a_slash_at_the_start_activates_a_skill() {
    let env = TestEnv::new();
    env.own("skills/poems/SKILL.md", &skill("poems", "allowed-tools: read_file\n"));
    let turns = r#"
  - expect: {system_contains: five words, tools_exclude: [write_file], last_user_contains: /poems about oats}
    say: Oats.
"#;
    let model = env.script("script", turns);
    env.run(&["run", "--model", &model, "/poems about oats"]).code(0);
}

#[test]
fn kits_are_listed_and_shown() {
    let env = TestEnv::new();
    let text = env.run(&["kit", "list"]).code(0).stdout;
    assert!(text.lines().any(|row| row.starts_with("careful_edit ")), "{text}");
    let text = env.run(&["kit", "show", "careful_edit"]).code(0).stdout;
    assert!(text.contains("3. edit_file {"), "{text}");
    let kit = support::json(&env.run(&["kit", "show", "careful_edit", "--json"]).code(0).stdout);
    assert_eq!(kit["steps"][1]["tool"], "read_file");
    env.run(&["kit", "show", "nothing"]).code(4).says(&["kit list"]);
}

/// An example has a parameter that the tool does not have: the file is reported, and not used.
#[test]
fn an_example_that_does_not_fit_its_tool_is_a_problem() {
    let env = TestEnv::new();
    let guide = "tool: read_file\nwhen_to_use: [To read words of wisdom.]\nexamples:\n  - {need: Read it, args: {pth: x}}\n";
    env.own("guides/read_file.yaml", guide);
    env.own("kits/mine.yaml", "tool_kit: mine\ndescription: X\nsteps:\n  - {tool: read_file, params: {path: x, colour: red}}\n");
    let turns = "\n  - say: Hello.\n";
    let ended = env.play(turns, &[]).code(0);
    ended.says(&[
        "guides/read_file.yaml",
        "example 1 (\"Read it\")",
        "\"pth\"",
        "kits/mine.yaml",
        "colour",
    ]);
    let expect = "\n  - expect: {system_contains: words of wisdom}\n    say: Hello.\n";
    env.play(expect, &[]).code(1).says(&["expected the system prompt to contain"]);
    let ended = env.run(&["kit", "list"]).code(0).says(&["kits/mine.yaml", "colour"]);
    assert!(!ended.stdout.contains("mine"), "{}", ended.stdout);
    env.run(&["kit", "show", "mine"]).code(3).says(&["colour"]);
    env.own("guides/read_file.yaml", &guide.replace("pth", "path"));
    env.play(expect, &[]).code(0);
}

#[test]
fn a_skill_is_switched_off_and_on() {
    let env = TestEnv::new();
    env.own("skills/poems/SKILL.md", &skill("poems", ""));
    env.own("agents/poet.md", "---\nskills: [poems]\n---\nP\n");
    env.run(&["skill", "disable", "nosuch"]).code(4).says(&["there is no skill nosuch"]);
    env.run(&["skill", "disable", "poems"]).code(0).says(&["skill:poems is off"]);
    let rows = support::json(&env.run(&["skill", "list", "--json"]).code(0).stdout);
    assert_eq!((&rows[1]["name"], &rows[1]["enabled"]), (&json!("poems"), &json!(false)));
    assert_eq!(rows[1]["agents"], json!(["poet"]));
    // No prompt offers the skill, no model can load it, and an agent that starts with it works
    // without it.
    let turns = r#"
  - calls: [{tool: load_skill, args: {name: poems}}]
  - expect: {results: [{tool: load_skill, outcome: failed, contains: switched off}]}
    say: Then without.
"#;
    env.play(turns, &[]).code(0);
    let model = env.script("hi", "  - say: Hello.\n");
    let prompt = env.run(&["prompt", "show", "--agent", "poet", "--model", &model]);
    let prompt = prompt.code(0).stdout;
    assert!(!prompt.contains("Writes poems") && !prompt.contains("five words"), "{prompt}");
    env.run(&["skill", "enable", "poems"]).code(0).says(&["skill:poems is on"]);
    let shown = env.run(&["skill", "show", "poems"]).code(0);
    assert!(
        shown.stdout.contains("poems (on,") && shown.stdout.contains("five words"),
        "{}",
        shown.stdout
    );
    env.play("\n  - expect: {system_contains: five words}\n    say: Hi.\n", &["--agent", "poet"])
        .code(0);
}
