//! Custom tools: creating, calling, breaking and reloading them, and tools of untrusted workspaces.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::{self, TestEnv};

const GREETS: &str = r#"
  - expect: {tools_include: [greet]}
    calls: [{tool: greet, args: {who: Ada}}]
  - expect: {results: [{tool: greet, outcome: succeeded, contains: "Hello, Ada."}]}
    say: Greeted.
"#;

#[test]
fn a_new_tool_works_at_once() {
    let env = TestEnv::new();
    let made = env.run(&["tool", "new", "greet"]).code(0);
    assert!(made.stdout.trim().ends_with("home/tools/greet"), "{}", made.stdout);
    made.says(&["toolcrib tool call greet --args '{\"who\": \"Ada\"}'"]);
    assert_eq!(
        env.run(&["tool", "call", "greet", "--args", "{\"who\": \"Ada\"}"]).code(0).stdout,
        "Hello, Ada.\n"
    );
    let text = env.run(&["tool", "list"]).code(0).stdout;
    assert!(text.contains("\ngreet "), "{text}");
    env.play(GREETS, &[]).code(0);
    env.run(&["tool", "new", "greet"]).code(2).says(&["a tool greet already exists"]);
    env.run(&["tool", "new", "read_file"]).code(2).says(&["a tool read_file already exists"]);
    env.run(&["tool", "new", "get_local_time"]).code(2).says(&["get_current_time"]);
    env.run(&["tool", "new", "Not Good"]).code(2);
    let made = env.run(&["tool", "new", "other", "--dir", "mine", "--json"]).code(0);
    assert_eq!(support::json(&made.stdout)["tool"], "other");
    assert!(env.read("mine/other/tool.toml").is_some());
}

#[test]
fn a_folder_of_tools_can_be_named_for_one_run() {
    let env = TestEnv::new();
    env.run(&["tool", "new", "greet", "--dir", "mine"]).code(0).says(&["--tools mine"]);
    env.play(GREETS, &["--tools", "mine"]).code(0);
    env.play(GREETS, &[]).code(1).says(&["expected the tool `greet` to be declared"]);
}

/// No restart is needed between two runs.
#[test]
fn a_changed_tool_is_another_tool() {
    let env = TestEnv::new();
    env.run(&["tool", "new", "greet", "--dir", "mine"]).code(0);
    env.play(GREETS, &["--tools", "mine"]).code(0);
    let program = env.read("mine/greet/run.sh").unwrap();
    fs::write(env.root().join("mine/greet/run.sh"), program.replace("Hello", "Goodbye")).unwrap();
    env.play(&GREETS.replace("Hello", "Goodbye"), &["--tools", "mine"]).code(0);
    fs::remove_dir_all(env.root().join("mine/greet")).unwrap();
    env.play(GREETS, &["--tools", "mine"]).code(1).says(&["expected the tool `greet`"]);
}

/// A tool that appears during a run is available from the next request on.
#[test]
fn a_tool_that_appears_during_a_run_is_there_in_its_next_round() {
    let env = TestEnv::new();
    env.run(&["tool", "new", "greet", "--dir", "mine"]).code(0);
    let program = "#!/bin/sh\ncp -r . ../wave\n";
    fs::write(env.root().join("mine/greet/run.sh"), program).unwrap();
    let turns = r#"
  - expect: {tools_include: [greet], tools_exclude: [wave]}
    calls: [{tool: greet, args: {who: Ada}}]
  - expect: {tools_include: [greet, wave]}
    say: Waved.
"#;
    env.play(turns, &["--tools", "mine"]).code(0);
}

/// Writing a tool would allow running anything, so file tools cannot access the folders of tools,
/// even inside the workspace.
#[test]
fn a_model_cannot_write_tools() {
    let env = TestEnv::new();
    env.run(&["tool", "new", "greet", "--dir", "mine"]).code(0);
    let before = env.read("mine/greet/run.sh");
    for path in ["mine/greet/run.sh", ".toolcrib/tools/x/tool.toml"] {
        let turns = format!(
            "\n  - calls: [{{tool: write_file, args: {{path: {path}, content: x}}}}]\n  - expect: {{results: [{{tool: write_file, outcome: failed, contains: path_not_allowed}}]}}\n    say: No.\n"
        );
        env.play(&turns, &["--tools", "mine", "--policy", "auto"]).code(0);
    }
    assert_eq!(env.read("mine/greet/run.sh"), before);
    assert!(env.read(".toolcrib/tools/x/tool.toml").is_none());
}

#[test]
fn broken_tools_are_rows_with_the_reason() {
    let env = TestEnv::new();
    env.run(&["tool", "new", "good", "--dir", "mine"]).code(0);
    env.write("mine/bad/tool.toml", "descripton = \"x\"\n");
    env.write("mine/empty/note.txt", "x");
    let text = env.run(&["tool", "list", "--tools", "mine"]).code(0).stdout;
    let row = |name: &str| {
        let start = format!("{name} ");
        text.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("{text}"))
    };
    assert!(row("bad").contains(" error ") && row("bad").contains("did you mean \"description\"?"));
    assert!(row("empty").contains("it has no tool.toml"));
    assert!(row("good").contains(" system "), "{}", row("good"));
    let infos =
        support::json(&env.run(&["tool", "list", "--tools", "mine", "--json"]).code(0).stdout);
    let bad = infos.as_array().unwrap().iter().find(|info| info["id"] == "bad").unwrap();
    assert!(bad["reason"].as_str().unwrap().contains("descripton"), "{bad}");
    let args = ["tool", "call", "bad", "--tools", "mine"];
    env.run(&args).code(5).says(&["Tool bad is"]);
    let turns = "\n  - expect: {tools_include: [good], tools_exclude: [bad]}\n    say: Hello.\n";
    let said = env.play(turns, &["--tools", "mine"]).code(0);
    said.says(&["did not load: tool bad:", "descripton", "did not load: tool empty:"]);
    let hello = "\n  - say: Hello.\n";
    env.play(hello, &["--tools", "nowhere"]).code(0).says(&["there is no folder", "nowhere"]);
}

/// The author of a workspace also wrote its tools: they ask, unless the owner trusts the workspace.
#[test]
fn tools_of_a_workspace_are_asked_about_unless_it_is_trusted() {
    let env = TestEnv::new();
    env.run(&["tool", "new", "greet", "--project"]).code(0).says(&["trusted_workspaces"]);
    assert!(env.read(".toolcrib/tools/greet/tool.toml").unwrap().contains("risk = \"safe\""));
    let denied = "\n  - calls: [{tool: greet, args: {who: Ada}}]\n  - expect: {results: [{tool: greet, outcome: denied}]}\n    say: No.\n";
    env.play(denied, &[]).code(5).says(&["greet … denied"]);
    let args = ["tool", "call", "greet", "--args", "{\"who\": \"Ada\"}"];
    env.run(&args).code(5);
    let spec = support::json(&env.run(&["tool", "show", "greet", "--json"]).code(0).stdout);
    assert_eq!(spec["risk"], "critical");
    env.play(denied, &["--policy", "auto"]).code(5).says(&["greet … denied"]);

    let trust = |path: &Path| {
        env.own("config.toml", &format!("trusted_workspaces = [{}]\n", json!(path)));
    };
    trust(&env.root());
    env.play(GREETS, &[]).code(0);
    assert_eq!(env.run(&args).code(0).stdout, "Hello, Ada.\n");
    // A link to the same folder; a parent folder; no folder at all.
    let link = env.outside().join("link");
    std::os::unix::fs::symlink(env.root(), &link).unwrap();
    trust(&link);
    env.play(GREETS, &[]).code(0);
    trust(env.outside());
    env.play(denied, &[]).code(5);
    trust(Path::new("/nowhere/at/all"));
    env.play(denied, &[]).code(5);
    // A folder on the command line is the person's own choice.
    env.own("config.toml", "");
    env.write("inner/.toolcrib/tools/.keep", "");
    env.run(&["tool", "new", "greet2", "--project", "--workspace", "inner"]).code(0);
    let turns = GREETS.replace("greet", "greet2");
    env.play(&turns, &["--workspace", "inner"]).code(1).says(&["greet2 … denied"]);
    env.play(&turns, &["--tools", "inner/.toolcrib/tools"]).code(0);
}

#[test]
fn a_root_inside_a_folder_of_tools_is_refused_in_clear_words() {
    let env = TestEnv::new();
    let ended = env.run(&["tool", "call", "get_current_time", "--tools", "."]).code(3);
    ended.says(&["file tools must not change", "a folder of tools", "--root DIR"]);
}

const CONTEXT: &str = r#"name = "context"
description = "Print the context."
command = ["/bin/sh", "-c", "printf '%s' \"$TOOLCRIB_CONTEXT\""]
risk = "safe"
effect = "read"
[config.TOKEN]
description = "Key of the service"
secret = true
required = false
"#;

/// Regressions: own tools counted as those of a server, and `tool show` omitted configuration keys.
#[test]
fn an_own_tool_is_first_party_and_shows_its_configuration() {
    let env = TestEnv::new();
    env.own("tools/context/tool.toml", CONTEXT);
    let list = support::json(&env.run(&["tool", "list", "--json"]).code(0).stdout);
    let row = list.as_array().unwrap().iter().find(|row| row["id"] == "context").unwrap().clone();
    assert_eq!(row["tier"], "first_party", "{row}");
    let shown = env.run(&["tool", "show", "context"]).code(0).stdout;
    assert!(shown.contains("TOKEN (secret): Key of the service"), "{shown}");
    let reply = support::json(&env.run(&["tool", "call", "context", "--json"]).code(0).stdout);
    assert_eq!(reply["sandbox"], "none", "{reply}");
}

#[test]
fn a_tool_says_that_another_attempt_can_succeed() {
    let env = TestEnv::new();
    let manifest = CONTEXT.replace(
        "printf '%s' \\\"$TOOLCRIB_CONTEXT\\\"",
        "echo x >> ../../tries; [ $(wc -l < ../../tries) -gt 1 ] && echo done || exit 75",
    );
    assert_ne!(manifest, CONTEXT);
    env.own("tools/context/tool.toml", &manifest);
    env.own("config.toml", "[tools.context]\nbackoff = \"1ms\"\n");
    assert_eq!(env.run(&["tool", "call", "context"]).code(0).stdout, "done\n");
}
