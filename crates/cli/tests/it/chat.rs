//! `toolcrib chat` over a pipe: each line starts a turn, and the answer is printed.

use serde_json::Value;

use crate::support::{self, TestEnv, of_type};

fn model(env: &TestEnv, turns: &str) -> String {
    env.script("script", turns)
}

#[test]
fn every_line_is_a_turn_and_the_answers_are_plain() {
    let env = TestEnv::new();
    let turns = "
  - expect: {messages: 1, last_user_contains: first}
    say: \"**One** \\e[2J\"
  - expect: {messages: 3, last_user_contains: second}
    calls: [{tool: read_file, args: {path: notes.md}}]
  - say: You want oats.
";
    let ended = env.feed(&["chat", "--model", &model(&env, turns)], "first\n\nsecond").code(0);
    assert_eq!(ended.stdout, "**One** \\u{1b}[2J\nYou want oats.\n");
    ended.says(&["the scripted model script.yaml replays a file", "read_file … done"]);
}

#[test]
fn the_exit_code_is_that_of_the_last_turn() {
    let fails = "  - fail: {kind: unavailable, message: broken}\n";
    let deletes = "  - calls: [{tool: delete_file, args: {path: notes.md}}]\n  - say: Denied.\n";
    let says = "  - say: Fine.\n";
    for (turns, input, code) in [
        (format!("\n{fails}{says}"), "a\nb\n", 0),
        (format!("\n{says}{fails}"), "a\nb\n", 1),
        (format!("\n{deletes}{says}"), "a\nb\n", 0),
        (format!("\n{says}{deletes}"), "a\nb\n", 5),
        (format!("\n{says}"), "a\n/frobnicate\n", 2),
        (format!("\n{says}"), "/exit\na\n", 0),
    ] {
        let env = TestEnv::new();
        env.feed(&["chat", "--model", &model(&env, &turns), "--on-ask", "deny"], input).code(code);
        assert!(env.read("notes.md").is_some());
    }
}

#[test]
fn nothing_is_said_into_a_conversation_that_waits_for_a_person() {
    let env = TestEnv::new();
    let turns = "
  - calls: [{tool: delete_file, args: {path: notes.md}}]
  - say: A new one.
";
    let args = ["chat", "--model", &model(&env, turns), "--on-ask", "fail"];
    let ended = env.feed(&args, "clean up\nand now\n").code(6);
    assert_eq!(ended.stdout, "");
    ended.says(&["toolcrib resume run_", "not said, as the run before waits or works: and now"]);
    let ended = env.feed(&args, "clean up\n/new\nand now\n").code(0);
    assert_eq!(ended.stdout, "A new conversation.\nA new one.\n");
}

#[test]
fn commands_look_at_what_happened() {
    let env = TestEnv::new();
    let turns = "
  - calls:
      - {tool: read_file, args: {path: notes.md}}
      - {tool: read_file, args: {path: missing.md}}
    usage: {input: 100, output: 10}
  - say: Done.
";
    let input = "/usage\n/expand\nlook\n/expand 1\n/explain\n/usage\n/tools\n/expand 7\n/toosl\n/help\n/new\n/usage\n";
    let ended = env.feed(&["chat", "--model", &model(&env, turns)], input).code(2);
    let has = |words: &str| assert!(ended.stdout.contains(words), "{words:?}: {}", ended.stdout);
    has("no answer yet\n");
    has("#1 ✓ read_file notes.md · ");
    has("  \"path\": \"notes.md\"");
    has("buy oats");
    has("#2 read_file in ");
    has("14 settle");
    has("2 answers · 100 tokens in, 10 out (1 more answers did not say) · cost unknown\n");
    has("  delete_file          high ");
    has("  hosted_web_search    it is switched off\n");
    has("/workspace [DIR]");
    assert!(ended.stdout.ends_with("A new conversation.\nno answer yet\n"), "{}", ended.stdout);
    ended.says(&["there was no call yet", "there were 2 calls so far", "did you mean /tools?"]);
}

#[test]
fn a_tool_is_switched_within_the_chat() {
    let env = TestEnv::new();
    let turns = "
  - expect: {tools_exclude: [fetch_url]}
    say: Without.
  - expect: {tools_include: [fetch_url]}
    say: With.
";
    let input = "/disable fetch_url\nlook\n/enable fetch_url\nlook\n/enable fetch_ulr\n";
    let ended = env.feed(&["chat", "--model", &model(&env, turns)], input).code(4);
    let ended = ended.says(&["fetch_ulr"]);
    assert!(ended.stdout.starts_with("fetch_url is off from the next step on.\nWithout.\n"));
    assert!(ended.stdout.ends_with("fetch_url is on from the next step on.\nWith.\n"));
    // Other processes see the switch, too.
    env.feed(&["chat", "--model", &model(&env, turns)], "/disable fetch_url\n").code(0);
    let listed = env.run(&["tool", "list", "--all"]).code(0).stdout;
    let row = listed.lines().find(|line| line.starts_with("fetch_url")).unwrap();
    assert!(row.contains("disabled"), "{row}");
}

#[test]
fn another_agent_goes_on_with_the_conversation() {
    let env = TestEnv::new();
    let agent = "---\nname: gardener\ndescription: Knows plants.\ntools: [read_file]\n---\nYou know plants.\n";
    env.own("agents/gardener.md", agent);
    let turns = "
  - expect: {tools_include: [write_file]}
    say: Hello.
  - expect:
      system_contains: You know plants.
      tools_exclude: [write_file]
      last_user_contains: and now
      messages: 4
    say: Plants.
";
    let input = "/agent\nhi\n/agent gardner\n/agent gardener\nand now\n/agent\n";
    let ended = env.feed(&["chat", "--model", &model(&env, turns)], input).code(0);
    assert!(ended.stdout.contains("* general-assistant"), "{}", ended.stdout);
    assert!(ended.stdout.contains("Hello.\nSwitched to gardener\nPlants.\n"), "{}", ended.stdout);
    assert!(ended.stdout.contains("* gardener"), "{}", ended.stdout);
    ended.says(&["gardner"]);
}

#[test]
fn another_model_goes_on_with_the_conversation() {
    let env = TestEnv::new();
    let other = env.script("other", "  - expect: {messages: 3}\n    say: I am another.\n");
    let input = format!("hi\n/model {other}\n/model nonsense/x\nwho?\n");
    let ended = env.feed(&["chat", "--model", &model(&env, "\n  - say: Hello.\n")], input).code(0);
    assert!(
        ended.stdout.contains("Model: other.yaml (scripted: replays a file"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.ends_with("I am another.\n"), "{}", ended.stdout);
    ended.says(&["there is no provider `nonsense`"]);
}

#[test]
fn another_workspace_brings_its_tools_and_skills_and_the_old_ones_are_gone() {
    let env = TestEnv::new();
    env.run(&["tool", "new", "greet", "--dir", ".toolcrib/tools"]).code(0);
    env.write(
        "inner/.toolcrib/skills/notes/SKILL.md",
        "---\nname: notes\ndescription: Keeps notes.\n---\nKeep notes.\n",
    );
    env.write("inner/here.md", "inner words\n");
    let turns = "
  - expect: {tools_include: [greet]}
    say: Hello.
  - expect: {tools_exclude: [greet], messages: 3, system_contains: Keep notes.}
    calls: [{tool: read_file, args: {path: here.md}}]
  - expect: {results: [{tool: read_file, outcome: succeeded, contains: inner words}]}
    say: Moved.
";
    let input = "hi\n/notes x\n/workspace nowhere\n/workspace inner\n/notes where are we?\n";
    let ended = env.feed(&["chat", "--model", &model(&env, turns)], input).code(0);
    assert!(ended.stdout.contains("/inner\n"), "{}", ended.stdout);
    assert!(ended.stdout.ends_with("Moved.\n"), "{}", ended.stdout);
    ended.says(&["there is no command or skill /notes", "nowhere", "skill notes is active"]);
}

#[test]
fn a_conversation_is_continued() {
    let env = TestEnv::new();
    env.feed(&["chat", "--model", "scripted:none.yaml", "--continue"], "x").code(3);
    let first = model(&env, "\n  - say: One.\n");
    env.feed(&["chat", "--model", &first, "--continue"], "x").code(4);
    let ended = env.feed(&["chat", "--json", "--model", &first], "hello\n").code(0);
    let events = support::lines(&ended.stdout);
    let id = of_type(&events, "run-start")[0]["conversation"].as_str().unwrap().to_owned();
    let second = env.script("second", "  - expect: {messages: 3}\n    say: Two.\n");
    env.feed(&["chat", "--model", &second, "--continue"], "more\n").code(0);
    let third = env.script("third", "  - expect: {messages: 5}\n    say: Three.\n");
    env.feed(&["chat", "--model", &third, "--conversation", &id], "more\n").code(0);
}

#[test]
fn json_is_one_event_per_line() {
    let env = TestEnv::new();
    let turns = "\n  - calls: [{tool: read_file, args: {path: notes.md}}]\n  - say: Oats.\n";
    let ended =
        env.feed(&["chat", "--json", "--model", &model(&env, turns)], "look\n/usage\n").code(0);
    let events = support::lines(&ended.stdout);
    assert_eq!(of_type(&events, "run-end")[0]["text"], "Oats.");
    assert_eq!(of_type(&events, "command")[0]["line"], "/usage");
    let has_report = |event: &&Value| event.get("report").is_some();
    assert!(!events.iter().any(|event| has_report(&event)), "the stage report is for this process");
}

#[test]
fn without_a_provider_it_says_what_to_do() {
    let ended = TestEnv::new().feed(&["chat"], "hello\n").code(3);
    assert_eq!(ended.stderr.lines().count(), 2, "{}", ended.stderr);
    ended.says(&["toolcrib init", "ANTHROPIC_API_KEY", "scripted:FILE"]);
}
