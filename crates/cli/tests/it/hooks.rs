//! Programs of hooks that decide about calls or observe them, from configuration files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::{self, TestEnv, end};

/// Writes a program beside the person's file.
fn program(env: &TestEnv, path: &str, text: &str) {
    env.own(path, &format!("#!/bin/sh\n{text}\n"));
    let path = env.outside().join("home").join(path);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn read(env: &TestEnv) -> (Value, i32) {
    env.call("read_file", &json!({"path": "notes.md"}), &[])
}

fn log(env: &TestEnv, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(env.outside().join(name)).unwrap_or_default();
    support::lines(&text)
}

#[test]
fn a_guard_denies_with_its_words_and_its_place() {
    let env = TestEnv::new();
    program(
        &env,
        "hooks/check",
        "grep -q notes.md && { echo 'notes are private' >&2; exit 2; }; exit 0",
    );
    env.own(
        "config.toml",
        "\n[[hooks]]\nevent = \"guard\"\nmatcher = \"read_*\"\ncommand = [\"./hooks/check\"]\n",
    );
    let (reply, code) = read(&env);
    assert_eq!((reply["error_type"].as_str(), code), (Some("policy_denied"), 5), "{reply}");
    let place = format!("{}:2", env.outside().join("home/config.toml").display());
    let words = format!("denied by the guard check ({place}): notes are private. Do not retry it.");
    assert!(reply["result"].as_str().unwrap().contains(&words), "{reply}");
    env.write("other.md", "fine");
    let (reply, code) = env.call("read_file", &json!({"path": "other.md"}), &[]);
    assert_eq!(code, 0, "{reply}");
    let (reply, code) = env.call("find_files", &json!({"pattern": "*.md"}), &[]);
    assert_eq!(code, 0, "it is not about this tool: {reply}");
}

#[test]
fn a_guard_that_breaks_denies() {
    let env = TestEnv::new();
    for (command, words) in [
        ("[\"./none\"]", "does not exist"),
        ("\"exit 1\"", "it failed with exit code 1"),
        ("\"kill -TERM $$\"", "it was ended by signal 15"),
        ("\"echo '{'\"", "its answer is not an object"),
        ("\"sleep 30\"\ntimeout = 0.3", "it took longer than 0.3 s"),
    ] {
        env.own("config.toml", &format!("[[hooks]]\nevent = \"guard\"\ncommand = {command}\n"));
        let (reply, code) = read(&env);
        assert_eq!(code, 5, "{command}: {reply}");
        assert!(reply["result"].as_str().unwrap().contains(words), "{command}: {reply}");
    }
}

#[test]
fn a_guard_rewrites() {
    let env = TestEnv::new();
    env.write("public.md", "for everybody\n");
    program(&env, "swap", "echo '{\"rewrite\": {\"path\": \"public.md\"}}'");
    env.own("config.toml", "[[hooks]]\nevent = \"guard\"\ncommand = [\"./swap\"]\n");
    let (reply, _) = read(&env);
    assert!(reply["result"].to_string().contains("for everybody"), "{reply}");
}

#[test]
fn observers_are_told_in_every_command_before_it_ends() {
    let env = TestEnv::new();
    let out = env.outside().join("log").display().to_string();
    let hooks: String =
        ["on_before_tool", "on_after_tool", "on_tool_error", "on_permission_denied"]
            .iter()
            .map(|event| format!("[[hooks]]\nevent = \"{event}\"\ncommand = \"cat >> {out}\"\n"))
            .collect();
    env.own("config.toml", &hooks);
    read(&env);
    let points = || -> Vec<String> {
        let mut points: Vec<String> = log(&env, "log")
            .iter()
            .map(|context| context["hook_point"].as_str().unwrap().to_owned())
            .collect();
        points.sort();
        points
    };
    assert_eq!(points(), ["on_after_tool", "on_before_tool"]);
    let context =
        log(&env, "log").into_iter().find(|c| c["hook_point"] == "on_after_tool").unwrap();
    assert!(context["result"].as_str().unwrap().contains("buy oats"), "{context}");
    assert_eq!(context["parameters"], json!({"path": "notes.md"}));
    assert_eq!(context["workspace"], json!(env.root().canonicalize().unwrap()));

    fs::remove_file(&out).unwrap();
    env.feed(
        &["tool", "call", "--lines"],
        "{\"id\": 1, \"tool\": \"read_file\", \"args\": {\"path\": \"none\"}}\n",
    );
    assert_eq!(points(), ["on_before_tool", "on_tool_error"]);
    fs::remove_file(&out).unwrap();
    env.call("delete_file", &json!({"path": "notes.md"}), &["--policy", "locked"]);
    assert_eq!(points(), ["on_permission_denied", "on_tool_error"]);
    fs::remove_file(&out).unwrap();
    let turns = "  - calls: [{ tool: read_file, args: { path: notes.md } }]\n  - say: done\n";
    let ended = env.play(turns, &[]).code(0);
    assert_eq!(points(), ["on_after_tool", "on_before_tool"], "{ended:?}");
    let context = &log(&env, "log")[0];
    assert!(context["run"].is_string() && context["session_id"].is_string(), "{context}");
}

/// Regression: each program had its own queue, so the event after a call could arrive before the
/// event preceding the call; and calls of the command line had no channel.
#[test]
fn events_of_a_call_reach_programs_in_order_with_their_channel() {
    let env = TestEnv::new();
    let out = env.outside().join("log").display().to_string();
    env.own(
        "config.toml",
        &format!(
            "[[hooks]]\nevent = \"on_before_tool\"\ncommand = \"sleep 0.3; cat >> {out}\"\n[[hooks]]\nevent = \"on_after_tool\"\ncommand = \"cat >> {out}\"\n"
        ),
    );
    read(&env);
    let told = log(&env, "log");
    let points: Vec<&str> = told.iter().filter_map(|one| one["hook_point"].as_str()).collect();
    assert_eq!(points, ["on_before_tool", "on_after_tool"]);
    assert!(told.iter().all(|one| one["channel"] == "chat" && one["origin"] == "cli"), "{told:?}");
}

#[test]
fn an_observer_that_breaks_is_a_remark() {
    let env = TestEnv::new();
    env.own("config.toml", "[[hooks]]\nname = \"My log\"\nevent = \"on_after_tool\"\ncommand = \"echo full >&2; exit 2\"\n");
    let args = ["tool", "call", "read_file", "--args", "{\"path\": \"notes.md\"}"];
    let ended = env.run(&args).code(0);
    assert!(ended.stdout.contains("buy oats"), "{ended:?}");
    let said = "toolcrib: hook My log (";
    assert!(ended.stderr.contains(said), "{ended:?}");
    assert!(ended.stderr.contains("config.toml:1): it failed with exit code 2: full"), "{ended:?}");
}

#[test]
fn a_program_sees_little_of_our_environment_and_no_key() {
    let env = TestEnv::new();
    let out = env.outside().join("log").display().to_string();
    let config = format!(
        "[providers.anthropic]\nkey = \"sk-very-secret-key\"\n[[hooks]]\nevent = \"guard\"\ncommand = \"env > {out}\"\n"
    );
    env.own("config.toml", &config);
    let mut command =
        env.command(&["tool", "call", "read_file", "--args", "{\"path\": \"notes.md\"}"]);
    command.env("ANTHROPIC_API_KEY", "sk-very-secret").env("LANG", "de_AT.UTF-8");
    end(command, b"").code(0);
    let seen = fs::read_to_string(&out).unwrap();
    assert!(
        seen.contains("LANG=de_AT.UTF-8\n") && seen.contains("TOOLCRIB_HOOK=guard\n"),
        "{seen}"
    );
    assert!(!seen.contains("very-secret") && !seen.contains("TOOLCRIB_HOME"), "{seen}");
}

#[test]
fn hooks_of_a_workspace_are_there_when_it_is_trusted_and_gone_elsewhere() {
    let env = TestEnv::new();
    env.write(".toolcrib/no", "#!/bin/sh\nexit 2\n");
    let path = env.root().join(".toolcrib/no");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    env.write(".toolcrib/config.toml", "[[hooks]]\nevent = \"guard\"\ncommand = [\"./no\"]\n");
    assert_eq!(read(&env).1, 0, "not trusted: not run");
    env.run(&["trust", "--yes"]).code(0);
    let (reply, code) = read(&env);
    assert_eq!(code, 5, "{reply}");
    assert!(reply["result"].as_str().unwrap().contains("guard no ("), "{reply}");
    let other = env.outside().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("notes.md"), "x").unwrap();
    let (reply, code) =
        env.call("read_file", &json!({"path": "notes.md"}), &["--root", other.to_str().unwrap()]);
    assert_eq!(code, 0, "{reply}");
    // The program of a person's hook is resolved beside the person's file, never in the workspace.
    fs::remove_file(env.root().join(".toolcrib/config.toml")).unwrap();
    env.own("config.toml", "[[hooks]]\nevent = \"guard\"\ncommand = [\".toolcrib/no\"]\n");
    let (reply, _) = read(&env);
    assert!(reply["result"].as_str().unwrap().contains("does not exist"), "{reply}");
}

#[test]
fn a_matcher_may_name_a_class_of_rules_and_one_that_names_nothing_is_a_remark() {
    let env = TestEnv::new();
    let guard = |matcher: &str| {
        let hook = "[[hooks]]\nevent = \"guard\"\ncommand = \"exit 2\"\nmatcher = ";
        env.own("config.toml", &format!("{hook}\"{matcher}\"\n"));
    };
    guard("Bash|Read");
    assert_eq!(read(&env).1, 5);
    let ended = env.run(&["config", "check"]).code(0);
    assert!(!ended.stderr.contains("matcher"), "{ended:?}");
    guard("edit|raed_file|frobnicate_all");
    assert_eq!(read(&env).1, 0);
    let place = "config.toml:1: the matcher names";
    let said = [
        format!("{place} edit, and there is no tool or class of that name, did you mean Edit?"),
        format!(
            "{place} raed_file, and there is no tool or class of that name, did you mean read_file?"
        ),
    ];
    let said = said.each_ref().map(String::as_str);
    env.run(&["config", "check"]).code(0).says(&said).says(&["names frobnicate_all"]);
    let call = ["tool", "call", "read_file", "--args", "-"];
    let ended = env.feed(&call, "{\"path\": \"notes.md\"}").code(0).says(&said);
    assert!(!ended.stderr.contains("frobnicate_all"), "it may be of another workspace: {ended:?}");
}

#[test]
fn the_hooks_of_all_layers_run_and_those_of_the_machine_stay() {
    let env = TestEnv::new();
    let out = env.outside().join("log").display().to_string();
    let hook = |name: &str| {
        format!("[[hooks]]\nevent = \"guard\"\ncommand = \"echo '\\\"{name}\\\"' >> {out}\"\n")
    };
    let managed = env.outside().join("managed.toml");
    fs::write(&managed, hook("machine")).unwrap();
    env.own("config.toml", &format!("trusted_workspaces = [{:?}]\n{}", env.root(), hook("person")));
    env.write(".toolcrib/config.toml", hook("project"));
    let mut command =
        env.command(&["tool", "call", "read_file", "--args", "{\"path\": \"notes.md\"}"]);
    command.env("TOOLCRIB_MANAGED_CONFIG", &managed);
    end(command, b"").code(0);
    assert_eq!(log(&env, "log"), [json!("machine"), json!("person"), json!("project")]);
    let list = env.run(&["config", "list", "--show-origin"]).code(0).stdout;
    assert!(list.contains("# hook guard *: echo '\"person\"' >> "), "{list}");
    assert!(list.contains("# project ./.toolcrib/config.toml:1\n"), "{list}");
}

#[test]
fn a_used_up_budget_is_told_to_its_hook() {
    let env = TestEnv::new();
    let out = env.outside().join("log").display().to_string();
    env.own(
        "config.toml",
        &format!("[[hooks]]\nevent = \"on_token_budget_exceeded\"\ncommand = \"cat >> {out}\"\n"),
    );
    let turns = "
  - usage: {input: 5000, output: 10}
    calls:
      - {tool: read_file, args: {path: notes.md}}
      - {tool: read_file, args: {path: notes.md, from_line: 2}}
  - say: Enough.
";
    let told = |limit: &[&str]| {
        let _ = fs::remove_file(env.outside().join("log"));
        env.play(turns, limit);
        log(&env, "log")
    };
    assert!(told(&["--max-calls", "2"]).is_empty());
    // One event per refused call.
    for (limit, refused) in [(["--max-tokens", "100"], 2), (["--max-calls", "1"], 1)] {
        let told = told(&limit);
        assert_eq!(told.len(), refused, "{limit:?}: {told:?}");
        assert_eq!(told[0]["hook_point"], "on_token_budget_exceeded");
        assert_eq!(told[0]["tool_name"], "read_file", "{told:?}");
    }
}
