//! `allow_code_execution`: without it, no tool of any name runs code or programs.

use serde_json::{Value, json};

use crate::support::{self, TestEnv};

fn env(flag: &str) -> TestEnv {
    let env = TestEnv::new();
    env.own("config.toml", &format!("[flags]\nallow_code_execution = {flag}\n"));
    env.run(&["tool", "new", "greet"]).code(0);
    env
}

fn rows(env: &TestEnv) -> Vec<Value> {
    let text = env.run(&["tool", "list", "--all", "--json"]).code(0).stdout;
    support::json(&text).as_array().unwrap().clone()
}

#[test]
fn without_code_execution_no_tool_that_runs_programs_is_offered() {
    let env = env("false");
    let mut kept_from = Vec::new();
    for row in rows(&env) {
        let text = row.to_string();
        if text.contains("allow_code_execution") {
            kept_from.push(row["id"].as_str().unwrap().to_owned());
        }
    }
    for tool in ["greet", "test_runner", "lsp_manager"] {
        assert!(kept_from.iter().any(|name| name == tool), "{tool}: {kept_from:?}");
        let (reply, code) = env.call(tool, &json!({}), &["--policy", "auto"]);
        assert_eq!(code, 5, "{tool}: {reply}");
        assert!(reply["result"].as_str().unwrap().contains("allow_code_execution"), "{reply}");
    }
    for tool in ["read_file", "write_file", "git_manager", "tool_chain"] {
        assert!(!kept_from.iter().any(|name| name == tool), "{tool}: {kept_from:?}");
    }
}

#[test]
fn without_code_execution_a_chain_runs_only_in_the_interpreter() {
    let env = env("false");
    for level in ["full", "auto"] {
        let args = json!({"code": "1 + 1", "level": level});
        let (reply, code) = env.call("tool_chain", &args, &["--policy", "auto"]);
        let kind = reply["error_type"].as_str();
        assert_eq!((kind, code), (Some("permission_denied"), 5), "{level}: {reply}");
        assert!(reply["result"].as_str().unwrap().contains("allow_code_execution"), "{reply}");
    }
    let (reply, code) = env.call("tool_chain", &json!({"code": "1 + 1"}), &["--policy", "auto"]);
    assert_eq!(code, 0, "{reply}");
}
