//! `toolcrib trust`: shows the content of a workspace, and asks for confirmation.

use std::fs;

use serde_json::json;

use crate::support::{self, Terminal, TestEnv};

/// Creates a workspace with content of every kind.
fn full(env: &TestEnv) {
    env.write(".toolcrib/config.toml", "policy = \"auto\"\n[providers.mine]\nkind = \"ollama\"\nkey = \"sk-very-secret\"\n[[hooks]]\nevent = \"guard\"\nmatcher = \"write_*\"\ncommand = [\"./check\", \"--all\"]\n");
    env.write(".toolcrib/tools/weather/tool.toml", "");
    env.write(".toolcrib/agents/reviewer.md", "---\nname: reviewer\n---\n");
    env.write(".toolcrib/rules.toml", "[[rules]]\neffect = \"allow\"\nrule = \"Read(./src/**)\"\n");
}

#[test]
fn what_it_brings_along_is_shown_before_a_person_agrees() {
    let env = TestEnv::new();
    full(&env);
    let ask = |keys: &str| {
        let mut terminal = Terminal::start(env.command(&["trust"]));
        for words in [
            "weather",
            "reviewer",
            "allow Read(./src/**)",
            "guard write_*",
            "--all",
            "policy = \"auto\"",
            "key = \"***\"",
            "Trust it?",
        ] {
            terminal.sees(words);
        }
        assert!(!terminal.text().contains("very-secret"));
        terminal.types(keys);
        terminal.ends()
    };
    assert_eq!(ask("\r"), 5, "no answer is a no");
    assert_eq!(ask("n\r"), 5);
    env.run(&["trust", "--list"]).code(0).says(&["no workspace is trusted"]);
    assert_eq!(ask("y\r"), 0);
    let list = env.run(&["trust", "--list"]).code(0).stdout;
    assert_eq!(list.trim_end(), env.root().canonicalize().unwrap().to_str().unwrap());
    assert_eq!(env.run(&["config", "get", "policy"]).code(0).stdout, "auto\n");
}

#[test]
fn without_a_terminal_only_with_yes() {
    let env = TestEnv::new();
    full(&env);
    env.run(&["trust"]).code(2).says(&["weather", "--yes"]);
    env.run(&["trust", "--json"]).code(2);
    let row = support::json(&env.run(&["trust", "--yes", "--json"]).code(0).stdout);
    assert_eq!((&row["trusted"], &row["changed"]), (&json!(true), &json!(true)));
    assert_eq!(row["brings"]["tools"], json!(["weather"]));
    let row = support::json(&env.run(&["trust", "--yes", "--json"]).code(0).stdout);
    assert_eq!(row["changed"], false);
    let path = env.outside().join("home/config.toml");
    assert_eq!(fs::read_to_string(&path).unwrap().matches("/work\"").count(), 1, "once");
}

#[test]
fn trust_is_taken_back() {
    let env = TestEnv::new();
    env.own("config.toml", "# mine\ntrusted_workspaces = [\n  \"/somewhere/else\", # far\n]\n");
    env.run(&["trust", "--yes"]).code(0).says(&["is trusted"]);
    env.run(&["trust", "--rm", "."]).code(0).says(&["is trusted no longer"]);
    env.run(&["trust", "--rm", "."]).code(4).says(&["not among the trusted workspaces"]);
    let text = fs::read_to_string(env.outside().join("home/config.toml")).unwrap();
    assert!(text.starts_with("# mine\n") && text.contains("# far"), "{text}");
    env.run(&["trust", "--rm", "/somewhere/else"]).code(0);
    env.run(&["trust", "--list"]).code(0).says(&["no workspace is trusted"]);
}

#[test]
fn what_could_not_be_used_is_not_trusted() {
    let env = TestEnv::new();
    for (file, text, words) in [
        (".toolcrib/config.toml", "polcy = 1", "config.toml:1: unknown key `polcy`"),
        (".toolcrib/config.toml", "trusted_workspaces = [\"/\"]", "cannot be set by a workspace"),
        (".toolcrib/rules.toml", "[[rules]]\nefect = \"allow\"\n", "rules.toml:"),
    ] {
        env.write(file, text);
        env.run(&["trust", "--yes"]).code(3).says(&[words]);
        fs::remove_file(env.root().join(file)).unwrap();
    }
    env.run(&["trust", "nowhere", "--yes"]).code(2);
    env.run(&["trust", "notes.md", "--yes"]).code(2).says(&["is not a folder"]);
    env.run(&["trust", "--list"]).code(0).says(&["no workspace is trusted"]);
}

/// Not even through a file that a model's tools can write.
#[test]
fn tools_cannot_write_what_trust_covers() {
    let env = TestEnv::new();
    env.run(&["trust", "--yes"]).code(0);
    let write = json!({"path": ".toolcrib/config.toml", "content": "policy = \"auto\"\n"});
    let (reply, _) = env.call("write_file", &write, &["--policy", "auto"]);
    assert_eq!(reply["error_type"], "path_not_allowed", "{reply}");
    assert_eq!(env.read(".toolcrib/config.toml"), None);
}
