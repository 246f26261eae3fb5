//! `config get`, `set` and `unset`: one value at a time; never a broken file, and never a displayed
//! secret.

use std::fs;

use serde_json::json;

use crate::support::{self, TestEnv};

fn text(env: &TestEnv) -> String {
    fs::read_to_string(env.outside().join("home/config.toml")).unwrap_or_default()
}

#[test]
fn a_value_is_set_read_and_taken_out() {
    let env = TestEnv::new();
    env.own("config.toml", "# mine\n[limits]\ncalls = 5 # few\n");
    for (key, value) in [
        ("limits.calls", "50"),
        ("limits.time", "10m"),
        ("policy", "auto"),
        ("on_ask", "wait:5m"),
        ("model.default", "ollama/4"),
        ("model.fallback", "[\"ollama/a\"]"),
        ("tools.read_file.ask", "true"),
        ("models.\"q*\".window", "100"),
    ] {
        env.run(&["config", "set", key, value]).code(0);
        let got = env.run(&["config", "get", key]).code(0).stdout;
        assert_eq!(got.trim_end(), value, "{key}");
    }
    let written = text(&env);
    assert!(written.starts_with("# mine\n") || written.contains("\n# mine\n"), "{written}");
    assert!(written.contains("calls = 50 # few\n"), "{written}");
    env.run(&["config", "unset", "limits.calls"]).code(0);
    assert_eq!(env.run(&["config", "get", "limits.calls"]).code(0).stdout, "500\n", "the default");
    env.run(&["config", "unset", "limits.calls"]).code(4).says(&["limits.calls is not set in"]);
    let row = env.run(&["config", "set", "limits.calls", "6", "--json"]).code(0);
    assert_eq!(support::json(&row.stdout)["value"], 6);
}

#[test]
fn what_is_wrong_is_not_written() {
    let env = TestEnv::new();
    env.own("config.toml", "policy = \"auto\"\n");
    let check = |args: &[&str], code: i32, words: &str| {
        let ended = env.run(&[&["config"], args].concat()).code(code);
        assert!(ended.stderr.contains(words), "{args:?}: {ended:?}");
        assert_eq!(text(&env), "policy = \"auto\"\n", "{args:?}");
    };
    check(&["set", "policy", "atuo"], 2, "did you mean `auto`?");
    check(&["set", "limits.cals", "5"], 2, "unknown key `cals`, did you mean `calls`?");
    check(&["set", "limits.calls", "many"], 2, "limits.calls: expected a whole number, got text");
    check(&["set", "limits", "5"], 2, "limits: ");
    check(&["set", "a b", "5"], 2, "`a b` is not a key");
    check(&["set", "providers.acme.base_url", "http://h/v1"], 3, "needs `kind`");
    check(&["set", "trusted_workspaces", "[\"/\"]"], 2, "toolcrib trust");
    check(&["set", "hooks", "[]"], 2, "hooks are programs");
    check(
        &["set", "providers.anthropic.key", "sk-secret"],
        2,
        "pass `-`, and the value on standard input",
    );
    check(&["get", "limits.cals"], 4, "did you mean");
    check(&["get", "model.default"], 4, "model.default is not set");
    check(&["get", "tools.read_file.ask"], 4, "it is not set");
    env.own("config.toml", "polcy = 1\n");
    env.run(&["config", "set", "policy", "auto"]).code(3).says(&["unknown key `polcy`"]);
    assert_eq!(text(&env), "polcy = 1\n");
}

#[test]
fn secrets_come_from_standard_input_and_never_come_out() {
    let env = TestEnv::new();
    env.feed(&["config", "set", "providers.anthropic.key", "-"], "sk-very-secret\n").code(0);
    env.feed(&["config", "set", "tools.mail.config.password", "-"], "very-secret-too").code(0);
    env.run(&["config", "set", "providers.anthropic.base_url", "http://me:very-secret@h/"]).code(0);
    assert!(text(&env).contains("key = \"sk-very-secret\"\n"), "{}", text(&env));
    for args in [
        &["config", "list"][..],
        &["config", "list", "--show-origin", "--all"],
        &["config", "list", "--json"],
        &["config", "get", "providers.anthropic.key"],
        &["config", "get", "providers"],
        &["config", "get", "tools", "--json"],
        &["config", "check"],
        &["config", "set", "providers.anthropic.key", "-", "--json"],
    ] {
        let ended = env.feed(args, "sk-very-secret\n").code(0);
        assert!(!ended.stdout.contains("very-secret"), "{args:?}: {ended:?}");
        assert!(!ended.stderr.contains("very-secret"), "{args:?}: {ended:?}");
    }
    assert_eq!(env.run(&["config", "get", "providers.anthropic.key"]).stdout, "***\n");
}

#[test]
fn the_file_of_a_workspace_is_changed_with_project() {
    let env = TestEnv::new();
    let set = |key: &str, value: &str| env.run(&["config", "set", "--project", key, value]);
    set("tools.delete_file.ask", "true").code(0);
    assert_eq!(
        env.read(".toolcrib/config.toml").as_deref(),
        Some("[tools.delete_file]\nask = true\n")
    );
    set("limits.calls", "5").code(0).says(&["takes effect only when the workspace is trusted"]);
    set("providers.anthropic.base_url", "http://evil")
        .code(3)
        .says(&["cannot be set by a workspace"]);
    assert!(!env.read(".toolcrib/config.toml").unwrap().contains("evil"));
    env.run(&["trust", "--yes"]).code(0);
    assert_eq!(env.run(&["config", "get", "limits.calls"]).code(0).stdout, "5\n");
    env.run(&["config", "set", "limits.calls", "6"]).code(0).says(&["takes precedence"]);
    env.run(&["config", "unset", "--project", "limits.calls"]).code(0);
    assert_eq!(env.run(&["config", "get", "limits.calls"]).code(0).stdout, "6\n");
    let (_, code) = env.call("delete_file", &json!({"path": "notes.md"}), &["--policy", "auto"]);
    assert_eq!(code, 5);
}

#[test]
fn late_hours_of_the_heartbeat_can_be_set_one_after_the_other() {
    let env = TestEnv::new();
    let set = |key: &str, value: &str| env.run(&["config", "set", key, value]);
    // With the default end of 22, it would start after its end.
    set("heartbeat.active_start", "23").code(3).says(&["a later one up to 24"]);
    set("heartbeat.active_end", "24").code(0);
    set("heartbeat.active_start", "23").code(0);
    set("heartbeat.active_end", "22").code(3);
    set("heartbeat.active_end", "25").code(2);
    let hours = env.run(&["config", "get", "heartbeat.active_start"]).code(0);
    assert_eq!(hours.stdout.trim(), "23");
}
