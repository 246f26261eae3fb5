//! Explains the decisions of rules about hypothetical calls.

use std::fs;

use serde_json::{Value, json};

use crate::support::{self, TestEnv};

/// Returns the reply of `rules explain --rules rules.json --json …`.
#[track_caller]
fn explain(env: &TestEnv, more: &[&str]) -> Value {
    let ended = env.run(&[&["rules", "explain", "--rules", "rules.json", "--json"], more].concat());
    support::json(&ended.code(0).stdout)
}

fn with_rules(rules: &Value) -> TestEnv {
    let env = TestEnv::new();
    env.write("rules.json", rules.to_string());
    env
}

#[test]
fn command_lines_part_by_part() {
    let env = with_rules(&json!({"permissions": {
        "allow": ["Bash(git status)", "Bash(ls:*)"], "ask": ["Bash(git push:*)"], "deny": ["Bash(rm:*)"]}}));
    for (line, default, verdict, rule, parts) in [
        ("git status", "ask", "allow", json!("Bash(git status)"), &["allow"][..]),
        ("git status -s", "ask", "ask", Value::Null, &["ask"]),
        ("git status -s", "deny", "deny", Value::Null, &["deny"]),
        ("git push && rm -rf x", "ask", "deny", json!("Bash(rm:*)"), &["ask", "deny"]),
        ("git push origin", "allow", "ask", json!("Bash(git push:*)"), &["ask"]),
        ("ls -l && other", "allow", "allow", Value::Null, &["allow", "allow"]),
        ("ls -l && other", "ask", "ask", Value::Null, &["allow", "ask"]),
        ("sudo rm x", "allow", "deny", json!("Bash(rm:*)"), &["deny"]),
        ("$X y", "allow", "ask", Value::Null, &["ask"]),
    ] {
        let answer = explain(&env, &["--default", default, line]);
        assert_eq!(
            (&answer["verdict"], &answer["rule"]),
            (&json!(verdict), &rule),
            "{line}: {answer}"
        );
        assert_eq!(
            answer["by"],
            if rule.is_null() { "default" } else { "rule" },
            "{line}: {answer}"
        );
        let seen: Vec<_> = answer["segments"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["verdict"].as_str().unwrap())
            .collect();
        assert_eq!(seen, parts, "{line}: {answer}");
        assert!(answer["reason"].is_string(), "{answer}");
    }
    let answer = explain(&env, &["git push && rm -rf x"]);
    assert_eq!(answer["origin"], "rules.json:1");
    assert_eq!(answer["segments"][1]["text"], "rm -rf x");
    let text = env
        .run(&["rules", "explain", "--rules", "rules.json", "git push && rm -rf x"])
        .code(0)
        .stdout;
    for words in
        ["deny: git push && rm -rf x", "deny Bash(rm:*) (rules.json:1)", "ask Bash(git push:*)"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn every_form_of_rules_and_of_calls() {
    let env = TestEnv::new();
    env.write("rules.toml", "[[rules]]\neffect = \"deny\"\nrule = \"Read(./secrets/**)\"\nreason = \"keys\"\nagents = [\"coder\"]\n");
    env.write("plain.json", "{\"deny\": [\"Bash(git push:*)\", \"WebFetch(domain:example.com)\", \"mcp__github__delete\"], \"allow\": [\"Bash(git * main)\"]}");
    let ask = |rules: &str, more: &[&str]| {
        support::json(
            &env.run(&[&["rules", "explain", "--json", "--rules", rules], more].concat())
                .code(0)
                .stdout,
        )
    };
    let secret = ask("rules.toml", &["Read(./secrets/x)", "--agent", "coder"]);
    assert_eq!(
        (&secret["verdict"], &secret["origin"]),
        (&json!("deny"), &json!("rules.toml:1")),
        "{secret}"
    );
    let other = ask("rules.toml", &["Read(./secrets/x)", "--agent", "writer"]);
    assert_eq!((&other["verdict"], &other["by"]), (&json!("allow"), &json!("preset")), "{other}");
    let long = ask(
        "rules.toml",
        &["--tool", "read_file", "--args", "{\"file_path\": \"secrets/x\"}", "--agent", "coder"],
    );
    assert_eq!(long["verdict"], "deny", "{long}");
    assert_eq!(ask("plain.json", &["Bash(git push origin)"])["verdict"], "deny");
    assert_eq!(ask("plain.json", &["WebFetch(domain:example.com)"])["verdict"], "deny");
    assert_eq!(ask("plain.json", &["WebFetch(https://example.com/x)"])["verdict"], "deny");
    assert_eq!(
        ask("plain.json", &["--tool", "mcp__github__delete"])["rule"],
        "mcp__github__delete"
    );
    // The reply is complete, including the advice.
    let ended =
        env.run(&["rules", "explain", "--rules", "plain.json", "git checkout main"]).code(0);
    assert!(ended.stdout.starts_with("allow"), "{ended:?}");
    assert!(ended.stderr.contains("Bash(git * main)"), "{ended:?}");
    for (more, code, says) in [
        (&["Raed(./x)"][..], 2, "did you mean Read?"),
        (&[][..], 2, "TEXT"),
        (&["--tool", "read_file", "--args", "{"], 2, "--args is not a JSON object"),
        (&["--args", "{}", "ls"], 2, "--tool"),
        (&["--rules", "none.json", "ls"], 3, "none.json cannot be read"),
    ] {
        env.run(&[&["rules", "explain"], more].concat()).code(code).says(&[says]);
    }
    env.write("bad.json", "{\"alow\": []}");
    env.run(&["rules", "explain", "--rules", "bad.json", "ls"])
        .code(3)
        .says(&["did you mean `allow`?"]);
}

#[test]
fn without_rules_the_preset_answers() {
    let env = TestEnv::new();
    for (question, verdict) in [
        (&["git status"][..], "ask"),
        (&["Read(./notes.md)"], "allow"),
        (&["--tool", "delete_file", "--args", "{\"path\": \"notes.md\"}"], "ask"),
        (
            &[
                "--tool",
                "http_request",
                "--args",
                "{\"url\": \"https://example.com\", \"method\": \"GET\"}",
            ],
            "allow",
        ),
        (
            &[
                "--tool",
                "http_request",
                "--args",
                "{\"url\": \"https://example.com\", \"method\": \"POST\"}",
            ],
            "ask",
        ),
        (&["--tool", "not_there"], "ask"),
    ] {
        let ended = env.run(&[&["rules", "explain", "--json"], question].concat()).code(0);
        let answer = support::json(&ended.stdout);
        assert_eq!(
            (&answer["verdict"], &answer["by"]),
            (&json!(verdict), &json!("preset")),
            "{question:?}: {answer}"
        );
    }
    // No call was made, so the history is empty.
    assert_eq!(support::json(&env.run(&["history", "--json"]).code(0).stdout), json!([]));
}

#[test]
fn the_layers_answer_when_no_file_is_named() {
    let env = TestEnv::new();
    env.write(".toolcrib/rules.toml", "[[rules]]\neffect = \"allow\"\nrule = \"Bash(ls:*)\"\n\n[[rules]]\neffect = \"deny\"\nrule = \"Bash(rm:*)\"\n");
    let ask =
        |line: &str| support::json(&env.run(&["rules", "explain", "--json", line]).code(0).stdout);
    assert_eq!(ask("ls")["verdict"], "ask");
    let denied = ask("rm x");
    assert_eq!(denied["verdict"], "deny");
    assert!(
        denied["origin"].as_str().unwrap().ends_with("work/.toolcrib/rules.toml:5"),
        "{denied}"
    );
    let home = env.outside().join("home");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("config.toml"), format!("trusted_workspaces = [{:?}]\n", env.root()))
        .unwrap();
    assert_eq!(ask("ls")["verdict"], "allow");
}

#[test]
fn the_filter_answers_line_by_line() {
    let env = TestEnv::new();
    let rules = json!({"allow": ["Bash(git status)"], "ask": [], "deny": ["Bash(rm:*)"]});
    let mut filter = env.filter(&["rules", "explain", "--lines"]);
    let mut ask = |line: Value| filter.ask(&line.to_string());
    let answer =
        ask(json!({"id": 1, "rules": rules, "default": "ask", "command": "git status && rm x"}));
    assert_eq!(
        (&answer["id"], &answer["verdict"], &answer["rule"]),
        (&json!(1), &json!("deny"), &json!("Bash(rm:*)"))
    );
    assert_eq!(answer["segments"][0]["verdict"], "allow", "{answer}");
    let answer = ask(json!({"id": "b", "rules": rules, "command": "other"}));
    assert_eq!(
        (&answer["id"], &answer["verdict"], &answer["rule"]),
        (&json!("b"), &json!("ask"), &Value::Null)
    );
    assert_eq!(
        ask(json!({"id": 3, "rules": {}, "default": "allow", "command": "other"}))["verdict"],
        "allow"
    );
    // Dangerous rules are evaluated like any other.
    let wide = json!({"allow": ["Bash(git * main)", "Bash"]});
    assert_eq!(
        ask(json!({"id": 4, "rules": wide, "command": "git push origin main"}))["verdict"],
        "allow"
    );
    for (line, says) in [
        (json!({"id": 5, "rules": {"deny": ["Bash("]}, "command": "x"}), "Bash("),
        (json!({"id": 5, "rules": {"denied": []}, "command": "x"}), "denied"),
        (json!({"id": 5, "rules": {"deny": "x"}, "command": "x"}), "invalid type"),
        (json!({"id": 5, "rules": {}, "default": "maybe", "command": "x"}), "maybe"),
        (json!({"id": 5, "rules": {}}), "command"),
    ] {
        let answer = ask(line.clone());
        assert_eq!(answer["id"], 5, "{line}");
        assert!(answer["error"].as_str().unwrap().contains(says), "{line}: {answer}");
    }
    assert!(ask(json!([1]))["error"].is_string());
    assert_eq!(ask(json!({"id": 6, "command": "x"}))["verdict"], "ask");
    assert_eq!(filter.end(), 0);
}
