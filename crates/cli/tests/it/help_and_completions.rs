//! Documents about the binary itself: `errors`, `completions`, `man`, `--help`, `--version`.

use std::fs;

use serde_json::Value;

use crate::support::{self, TestEnv};

/// Every error type with its outcome and its exit code, as in docs/errors.md.
const ERRORS: [(&str, &str, i64); 25] = [
    ("tools_disabled", "denied", 5),
    ("tool_disabled", "denied", 5),
    ("tool_not_found", "failed", 4),
    ("tool_not_available", "denied", 5),
    ("not_configured", "failed", 3),
    ("validation_error", "failed", 1),
    ("repeated_call", "denied", 1),
    ("permission_denied", "denied", 5),
    ("approval_denied", "denied", 5),
    ("approval_expired", "expired", 6),
    ("policy_denied", "denied", 5),
    ("budget_exceeded", "denied", 7),
    ("rate_limited", "failed", 1),
    ("timeout", "timed_out", 124),
    ("cancelled", "cancelled", 130),
    ("crashed", "failed", 1),
    ("sandbox_error", "failed", 1),
    ("network_error", "failed", 1),
    ("file_not_found", "failed", 1),
    ("file_too_large", "failed", 1),
    ("path_not_allowed", "failed", 1),
    ("execution_error", "failed", 1),
    ("store_failed", "failed", 1),
    ("unknown_outcome", "unknown", 125),
    ("not_recorded", "unknown", 74),
];

#[test]
fn the_table_of_errors_is_complete() {
    let env = TestEnv::new();
    let table = support::json(&env.run(&["util", "errors", "--json"]).code(0).stdout);
    let rows: Vec<(&str, &str, i64)> = table
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            assert!((400..600).contains(&row["http_status"].as_i64().unwrap()), "{row}");
            (
                row["error_type"].as_str().unwrap(),
                row["outcome"].as_str().unwrap(),
                row["exit_code"].as_i64().unwrap(),
            )
        })
        .collect();
    assert_eq!(rows, ERRORS);
    let text = env.run(&["util", "errors"]).code(0).stdout;
    assert_eq!(text.lines().count(), ERRORS.len() + 1);
    for ((name, outcome, code), line) in ERRORS.iter().zip(text.lines().skip(1)) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!((words[0], words[1], words[3]), (*name, *outcome, code.to_string().as_str()));
    }
}

#[test]
fn completions_for_every_shell() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = env.run(&["util", "completions", shell]).code(0).stdout;
        for word in ["toolcrib", "TOOLCRIB_COMPLETE"] {
            assert!(script.contains(word), "{shell} lacks {word}");
        }
    }
    env.run(&["util", "completions", "cobol"]).code(2).says(&["bash"]);
}

#[test]
fn manual_pages() {
    let env = TestEnv::new();
    let page = env.run(&["util", "man"]).code(0).stdout;
    assert!(page.contains(".TH toolcrib 1") && page.contains("Exit codes"), "{page}");
    env.run(&["util", "man", "--dir", "man"]).code(0);
    let pages: Vec<String> = fs::read_dir(env.root().join("man"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    for name in ["toolcrib.1", "toolcrib-exec.1", "toolcrib-tool-call.1", "toolcrib-net-check.1"] {
        assert!(pages.contains(&name.to_owned()), "{pages:?}");
    }
}

#[test]
fn help_says_what_every_command_reads_and_how_it_ends() {
    let env = TestEnv::new();
    let help = env.run(&["--help"]).code(0).stdout;
    for word in ["exec", "tool", "args", "sanitize", "net", "undo", "errors", "Exit codes: 0 ok"] {
        assert!(help.contains(word), "{word}");
    }
    for command in [&["exec"][..], &["args"], &["sanitize"]] {
        let help = env.run(&[command, &["--help"]].concat()).code(0).stdout;
        assert!(help.contains("standard input") && help.contains("Example"), "{help}");
    }
    for command in [&["exec"][..], &["args"], &["undo"], &["net", "check"]] {
        let help = env.run(&[command, &["--help"]].concat()).code(0).stdout;
        assert!(help.contains("Exit codes: 0"), "{help}");
    }
    let version = env.run(&["--version"]).code(0).stdout;
    assert!(version.starts_with("toolcrib 0."), "{version}");
}

#[test]
fn every_command_takes_json() {
    let env = TestEnv::new();
    env.write("schema.json", "{}");
    let runs: [(&[&str], &str); 9] = [
        (&["exec", "--format", "text"], "Hello."),
        (&["tool", "list"], ""),
        (&["tool", "show", "read_file"], ""),
        (&["tool", "call", "get_current_time"], ""),
        (&["tool", "spec", "--format", "gemini"], ""),
        (&["args", "--schema", "schema.json"], "{}"),
        (&["sanitize"], "x"),
        (&["net", "check", "http://8.8.8.8/"], ""),
        (&["undo"], ""),
    ];
    for (args, input) in runs {
        for args in [[args, &["--json"]].concat(), [&["--json"], args].concat()] {
            let ended = env.feed(&args, input).code(0);
            assert_eq!(ended.stdout.lines().count(), 1, "{args:?}");
            let value: Value = support::json(&ended.stdout);
            assert!(value.is_array() || value.is_object(), "{args:?}");
        }
    }
}

/// Returns the words that bash would insert after these words, with the script of `toolcrib util
/// completions bash`.
fn completed(env: &TestEnv, words: &[&str]) -> Vec<String> {
    let ours = env.command(&[]);
    let folder = std::path::Path::new(ours.get_program()).parent().unwrap();
    let list: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let script = format!(
        "source <(toolcrib util completions bash)\nCOMP_WORDS=(toolcrib {})\nCOMP_CWORD={}\nCOMP_TYPE=9\nset -- $(complete -p toolcrib)\nwhile [ \"$1\" != -F ]; do shift; done\n\"$2\" toolcrib \"${{COMP_WORDS[COMP_CWORD]}}\"\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
        list.join(" "),
        words.len(),
    );
    let mut bash = std::process::Command::new("bash");
    bash.args(["--norc", "-c", &script]).current_dir(env.root()).env_clear();
    for (name, value) in ours.get_envs() {
        bash.env(name, value.unwrap_or_default());
    }
    let path = std::env::var("PATH").unwrap_or_default();
    bash.env("PATH", format!("{}:{path}", folder.display()));
    let piped = std::process::Stdio::piped;
    bash.stdin(piped()).stdout(piped()).stderr(piped());
    let ended = support::end(bash, b"").code(0);
    assert_eq!(ended.stderr, "");
    ended.stdout.lines().map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn values_complete_in_a_shell() {
    let env = TestEnv::new();
    assert_eq!(completed(&env, &["tool", "show", "read_f"]), ["read_file"]);
    assert_eq!(completed(&env, &["run", "--agent", "gen"]), ["general-assistant"]);
    assert_eq!(completed(&env, &["run", "--policy", "ask-a"]), ["ask-all"]);
    assert_eq!(completed(&env, &["rul"]), ["rules"]);
    env.run(&["tool", "call", "delete_file", "path=x", "--on-ask", "fail"]).code(6);
    let open = support::json(&env.run(&["approve", "list", "--json"]).code(0).stdout);
    assert_eq!(completed(&env, &["approve", "yes", "appr_"]), [open[0]["id"].as_str().unwrap()]);
    env.run(&["tool", "call", "get_current_time"]).code(0);
    let calls = completed(&env, &["explain", "call_"]);
    assert!(calls.len() == 1 && calls[0].starts_with("call_"), "{calls:?}");
}
