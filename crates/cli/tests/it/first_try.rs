//! The first commands of a new user work at the first attempt, and errors state the working
//! command.

use std::fs;

use serde_json::json;

use crate::support::{self, Provider, Reply, TestEnv, end};

#[test]
fn arguments_of_a_tool_are_typed_as_pairs() {
    let env = TestEnv::new();
    let ended = env.run(&["tool", "call", "read_file", "path=notes.md", "limit=1"]).code(0);
    assert!(ended.stdout.contains("buy oats"), "{ended:?}");
    let found = ["tool", "call", "read_file", "--json", "path:=\"notes.md\""];
    assert_eq!(support::json(&env.run(&found).code(0).stdout)["outcome"], "succeeded");
    env.run(&["tool", "call", "read_file", "notes.md"]).code(2).says(&["KEY=VALUE"]);
    env.run(&["tool", "call", "read_file", "path:=notes"]).code(2).says(&["invalid JSON"]);
    env.run(&["tool", "call", "read_file", "path=a", "path=b"]).code(2).says(&["occurs twice"]);
    env.run(&["tool", "call", "read_file", "path=a", "--args", "{}"]).code(2);
}

#[test]
fn errors_of_a_call_by_hand_speak_to_a_person_and_name_the_remedy() {
    let env = TestEnv::new();
    let check = |args: &[&str], words: &[&str]| {
        let ended = env.run(&[&["tool", "call"], args].concat()).says(words);
        for model in ["Do not retry", "declared to you", "call the tool again", "without calling"] {
            assert!(!ended.stderr.contains(model), "{model}: {ended:?}");
        }
    };
    check(&["delete_file", "path=notes.md"], &["needs approval", "toolcrib rules add allow"]);
    check(&["read_file"], &["path: expected"]);
    check(&["no_such_tool_at_all"], &["not available", "toolcrib tool list"]);
    let private = ["fetch_url", "url=http://10.0.0.1/"];
    check(&private, &["10.0.0.1", "--allow-net 10.0.0.1:80", "config set allow_net"]);
    env.run(&["stop-tools", "--reason", "too many mails"]).code(0);
    let stopped = ["stopped by", "(too many mails)", "toolcrib start-tools"];
    check(&["get_current_time"], &stopped);
    env.run(&["tool", "list"]).code(0).says(&stopped);
}

#[test]
fn targets_of_the_network_stand_in_the_configuration() {
    let env = TestEnv::new();
    // No server listens there: the test checks only whether the address is allowed.
    let call = ["tool", "call", "fetch_url", "--json", "url=http://127.0.0.1:9/"];
    assert_eq!(support::json(&env.run(&call).stdout)["error_type"], "policy_denied");
    env.run(&["config", "set", "allow_net", "[\"127.0.0.1:9\"]"]).code(0);
    assert_eq!(support::json(&env.run(&call).stdout)["error_type"], "network_error");
    env.run(&["config", "set", "allow_net", "[\"not a target\"]"]).code(2).says(&["allow_net"]);
    // The author of a workspace cannot allow this.
    env.run(&["config", "unset", "allow_net"]).code(0);
    env.write(".toolcrib/config.toml", "allow_net = [\"127.0.0.1:9\"]\n");
    assert_eq!(support::json(&env.run(&call).stdout)["error_type"], "policy_denied");
}

#[test]
fn a_wrong_variable_is_blamed_and_not_an_option() {
    let env = TestEnv::new();
    for (name, value) in [("TOOLCRIB_POLICY", "yolo"), ("TOOLCRIB_ALLOW_NET", "no target")] {
        let mut command = env.command(&["tool", "list"]);
        command.env(name, value);
        let ended = end(command, b"").code(3).says(&[name]);
        assert!(
            !ended.stderr.contains("--policy") && !ended.stderr.contains("--allow-net"),
            "{ended:?}"
        );
    }
    env.run(&["tool", "list", "--policy", "yolo"]).code(2).says(&["--policy", "ask-risky"]);
}

#[test]
fn the_help_begins_with_what_a_new_person_needs() {
    let env = TestEnv::new();
    let help = env.run(&["--help"]).code(0).stdout;
    let start = help.find("Start here:").unwrap();
    let groups = ["Run:", "Decide:", "Govern:", "Tools:", "Look back:", "Operate:"];
    let places: Vec<usize> =
        groups.map(|group| help.find(&format!("\n{group}\n")).unwrap()).to_vec();
    assert!(places.is_sorted() && start < places[0], "{help}");
    assert!(help.contains("8 no daemon is running"), "{help}");
}

#[test]
fn small_slips_are_understood() {
    let env = TestEnv::new();
    env.run(&["util", "man", "pages"]).code(0);
    assert!(env.root().join("pages/toolcrib-run.1").exists());
    let ended =
        env.run(&["mcp", "connect", "claude-code"]).code(0).says(&[".mcp.json", "claude mcp add"]);
    assert!(support::json(&ended.stdout)["mcpServers"]["toolcrib"]["command"].is_string());
    env.run(&["rules", "add", "deny", "Raed(./x)"]).code(3).says(&["did you mean Read"]);
}

#[test]
fn a_run_is_explained_with_its_calls() {
    let env = TestEnv::new();
    let turns = "\n  - calls: [{tool: read_file, args: {path: notes.md}}]\n  - say: Oats.\n";
    let events = support::lines(&env.play(turns, &["--json"]).code(0).stdout);
    let run = events.iter().find_map(|event| event["run"].as_str()).unwrap().to_owned();
    let text = env.run(&["explain", &run]).code(0).stdout;
    assert!(text.contains(&run) && text.contains("ended") && text.contains("read_file"), "{text}");
    let found = support::json(&env.run(&["explain", &run[..14], "--json"]).code(0).stdout);
    assert_eq!(found["calls"].as_array().unwrap().len(), 1);
    assert_eq!((&found["state"], &found["status"]), (&"ended".into(), &"completed".into()));
    env.run(&["explain", "run_00000000000000000000000000000000"]).code(4).says(&["no run"]);
}

#[test]
fn an_agent_outlives_a_server_that_is_gone() {
    let env = TestEnv::new();
    let text = "---\nname: helper\ndescription: Helps.\ntools: [read_file, mcp__gone__look, server:away]\n---\nHelp.\n";
    env.own("agents/helper.md", text);
    let listed = env.run(&["agent", "list"]).code(0);
    assert!(listed.stdout.contains("helper"), "{listed:?}");
    listed.says(&["mcp__gone__look", "server:away", "MCP server is gone"]);
    env.run(&["agent", "show", "helper"]).code(0);
    // A typo is still detected.
    env.own("agents/helper.md", &text.replace("mcp__gone__look", "raed_file"));
    let broken = env.run(&["agent", "list"]).code(0).says(&["unknown tool"]);
    assert!(!broken.stdout.contains("helper"), "{broken:?}");
}

#[test]
fn the_first_start_finds_a_model_tries_it_and_writes_it_down() {
    let env = TestEnv::new();
    let path = env.outside().join("home/config.toml");
    // The test contacts no Ollama server of this machine.
    let nowhere = "http://127.0.0.1:9";
    env.run(&["init", "--base-url", nowhere])
        .code(3)
        .says(&["no model can be found", "ollama pull"]);
    env.run(&["run", "hello"]).code(3).says(&["Type: toolcrib init"]);
    assert!(!path.exists());
    // The key stays in its variable.
    let init = |provider: &Provider, more: &[&str]| {
        let url = format!("{}/v1", provider.url());
        let args = ["init", "--model", "openai-chat/m", "--base-url", &url];
        let mut command = env.command(&[&args, more].concat());
        command.env("OPENAI_API_KEY", "sk-secret-of-ada-123");
        end(command, b"")
    };
    let refusing = Provider::start(
        vec![Reply::json(401, &json!({"error": {"message": "wrong key"}}))],
        json!([]),
    );
    init(&refusing, &[]).code(1).says(&["did not answer, so nothing was written"]);
    let left = fs::read_to_string(&path).unwrap_or_default();
    assert!(!left.contains("openai-chat"), "{left}");
    let answering = Provider::start(vec![Reply::says("ready")], json!([]));
    init(&answering, &[]).code(0).says(&["answered, and was written to", "toolcrib run"]);
    assert_eq!(answering.asked().len(), 1);
    let written = fs::read_to_string(&path).unwrap();
    assert!(written.contains("openai-chat/m") && !written.contains("sk-secret"), "{written}");
    assert_eq!(env.run(&["config", "get", "model.default"]).code(0).stdout.trim(), "openai-chat/m");
    // The file contains the name of a secret, not its value.
    let args = ["init", "--model", "anthropic/m", "--key-secret", "ada-key", "--no-test"];
    env.run(&args).code(0);
    assert!(fs::read_to_string(&path).unwrap().contains("ada-key"));
}

#[test]
fn a_model_that_does_not_answer_leaves_the_configuration_byte_for_byte() {
    let env = TestEnv::new();
    let before = "# mine\n[model]\ndefault = \"openai-chat/old\" # works\n";
    env.own("config.toml", before);
    let path = env.outside().join("home/config.toml");
    let reply = Reply::json(401, &json!({"error": {"message": "wrong key"}}));
    let refusing = Provider::start(vec![reply], json!([]));
    let url = refusing.url();
    let mut command = env.command(&["init", "--model", "openai-chat/new", "--base-url", &url]);
    command.env("OPENAI_API_KEY", "sk-secret-of-ada-123");
    // A value from the environment must not end up in the file, neither before nor after the trial.
    command.env("TOOLCRIB_MODEL__DEFAULT", "openai-chat/of-the-environment");
    end(command, b"").code(1).says(&["did not answer, so nothing was written"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    assert_eq!(refusing.asked().len(), 1, "the model was tried");
}

#[test]
fn the_first_start_writes_its_own_values_and_none_of_the_environment() {
    let env = TestEnv::new();
    let path = env.outside().join("home/config.toml");
    let answering = Provider::start(vec![Reply::says("ready")], json!([]));
    let url = answering.url();
    let mut command = env.command(&["init", "--model", "openai-chat/new", "--base-url", &url]);
    command.env("OPENAI_API_KEY", "sk-secret-of-ada-123");
    command.env("TOOLCRIB_MODEL__DEFAULT", "openai-chat/of-the-environment");
    end(command, b"").code(0);
    let written = fs::read_to_string(&path).unwrap();
    assert!(written.contains("openai-chat/new"), "{written}");
    assert!(!written.contains("of-the-environment"), "{written}");
    assert_eq!(
        answering.asked()[0].body["model"],
        "new",
        "the chosen model is the one that is tried"
    );
}

#[test]
fn the_commands_that_the_first_start_names_are_escaped_for_a_shell() {
    let env = TestEnv::new();
    let home = env.outside().join("o'brien home");
    fs::create_dir_all(home.join(".cursor")).unwrap();
    fs::write(home.join(".cursor/mcp.json"), "{}").unwrap();
    let mut command = env.command(&["init", "--model", "anthropic/m", "--no-test", "--json"]);
    command.env("HOME", &home);
    let reply = support::json(&end(command, b"").code(0).stdout);
    let line = reply["imports"][0].as_str().unwrap();
    assert!(line.contains("o'\\''brien home/.cursor/mcp.json' --write"), "{line}");
}
