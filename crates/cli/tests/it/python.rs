//! `code_exec` and `toolcrib python` as people run them.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{self, TestEnv};

/// A test environment, with the Python of the person who runs the tests if `with_python`.
struct Python(TestEnv, bool);

impl Python {
    fn new() -> Self {
        Self(TestEnv::new(), true)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.0.command(args);
        if self.1 {
            let own = ["PATH", "HOME"].into_iter();
            command.envs(own.filter_map(|name| Some((name, std::env::var_os(name)?))));
        }
        command
    }

    /// Returns the result of `code_exec`, regardless of its risk.
    fn call(&self, args: &Value) -> (Value, i32) {
        let words = ["tool", "call", "code_exec", "--json", "--policy", "auto", "--args"];
        let said = self.command(&words).arg(args.to_string()).output().unwrap();
        let answer = String::from_utf8(said.stdout).unwrap();
        (support::json(&answer), said.status.code().unwrap())
    }

    fn on(self) -> Self {
        self.0.run(&["tool", "enable", "code_exec"]).code(0);
        self
    }
}

#[test]
fn code_execution_is_off_until_it_is_switched_on_and_asks() {
    let python = Python::new();
    let args = json!({"code": "1 + 1"});
    let (answer, code) = python.call(&args);
    assert_eq!((answer["error_type"].as_str(), code), (Some("tool_disabled"), 5), "{answer}");
    let python = python.on();
    let (answer, code) = python.call(&args);
    assert_eq!((answer["result"].as_str(), code), (Some("2"), 0), "{answer}");
    for level in ["expression", "full"] {
        let (answer, code) = python.0.call("code_exec", &json!({"code": "1", "level": level}), &[]);
        assert_eq!((answer["outcome"].as_str(), code), (Some("denied"), 5), "{answer}");
        assert!(answer["result"].as_str().unwrap().contains(&format!("code_exec.{level}")));
    }
}

#[test]
fn every_name_of_it_is_the_same_tool_and_each_level_an_operation() {
    let python = Python::new().on();
    python.0.run(&["rules", "add", "deny", "code_exec.full"]).code(0);
    python.0.run(&["rules", "add", "allow", "code_exec.expression"]).code(0);
    let call = |name: &str, level: &str| {
        let (answer, _) = python.0.call(name, &json!({"code": "6 * 7", "level": level}), &[]);
        answer
    };
    for name in ["code_exec", "code_eval"] {
        assert_eq!(call(name, "expression")["result"], "42", "{name}");
        for level in ["full", "auto"] {
            assert_eq!(call(name, level)["error_type"], "policy_denied", "{name} {level}");
        }
    }
    python.0.run(&["rules", "add", "deny", "code_eval"]).code(0);
    assert_eq!(call("code_exec", "expression")["outcome"], "denied");
}

#[test]
fn code_sees_neither_the_workspace_nor_our_own_folders() {
    let python = Python::new().on();
    let state = python.0.outside().join("home/state");
    let check = |code: String| {
        let (answer, exit) = python.call(&json!({"code": code, "level": "full"}));
        assert_eq!((answer["outcome"].as_str(), exit), (Some("failed"), 1), "{code}: {answer}");
    };
    for path in [python.0.root().join("notes.md"), state.join("toolcrib.db")] {
        assert!(path.exists(), "{path:?}");
        check(format!("open({:?}, 'rb').read(1)", path.display().to_string()));
    }
    check(format!("import os\nos.listdir({:?})", state.display().to_string()));
    check("import socket\nsocket.create_connection(('192.0.2.1', 80), 2)".to_owned());
    let (answer, _) =
        python.call(&json!({"code": "import os\nsorted(os.environ)", "level": "full"}));
    let names = answer["result"].as_str().unwrap();
    assert!(!names.contains("TOOLCRIB"), "{names}");
}

#[test]
fn a_file_comes_back_as_a_stored_result() {
    let python = Python::new().on();
    let code = "open('table.csv', 'w').write('a,b\\n1,2\\n')\nNone";
    let (answer, _) = python.call(&json!({"code": code, "level": "full"}));
    let text = answer["result"].as_str().unwrap().to_owned();
    let artifact = text.split_whitespace().find(|word| word.starts_with("art_"));
    let artifact = artifact.unwrap_or_else(|| panic!("{text}")).trim_end_matches('.');
    let shown = python.0.run(&["artifact", "show", artifact]).code(0).stdout;
    assert!(shown.contains("bytes         8") && shown.contains("text/csv"), "{shown}");
}

#[test]
fn variables_stay_during_a_run() {
    let python = Python::new().on();
    let turns = r#"
  - calls: [{tool: code_exec, args: {code: "x = 6", level: full}}]
  - expect: {results: [{tool: code_exec, outcome: succeeded}]}
    calls: [{tool: code_exec, args: {code: "x * 7", level: full}}, {tool: code_exec, args: {code: "x * 7", level: expression}}]
  - expect: {results: [{tool: code_exec, outcome: succeeded, contains: "42"}, {tool: code_exec, outcome: failed, contains: "name 'x' is not defined"}]}
    calls: [{tool: code_exec, args: {code: "x", level: full, reset: true}}]
  - expect: {results: [{tool: code_exec, outcome: failed, contains: "name 'x' is not defined"}]}
    say: Gone.
"#;
    let model = python.0.script("script", turns);
    let said = python.command(&["run", "--model", &model, "--policy", "auto", "Do it"]).output();
    let said = said.unwrap();
    assert!(said.status.success(), "{said:?}");
    assert!(String::from_utf8_lossy(&said.stdout).contains("Gone."), "{said:?}");
}

#[test]
fn without_any_python_the_fix_is_named_and_expressions_work() {
    let mut python = Python::new().on();
    python.1 = false;
    let (answer, code) = python.call(&json!({"code": "6 * 7", "level": "expression"}));
    assert_eq!((answer["result"].as_str(), code), (Some("42"), 0), "{answer}");
    let (answer, code) = python.call(&json!({"code": "import random"}));
    assert_eq!((answer["error_type"].as_str(), code), (Some("not_configured"), 3), "{answer}");
    assert!(answer["result"].as_str().unwrap().contains("install Python 3.10 or newer"));
    let said = python.0.run(&["python", "status"]).code(1);
    assert!(said.stdout.contains("no Python was found in PATH"), "{}", said.stdout);
    python.0.run(&["python", "install"]).code(1).says(&["install Python 3.10 or newer"]);
    python.0.run(&["python", "remove"]).code(0);
}

#[test]
fn the_owner_says_which_python_and_a_workspace_does_not() {
    let python = Python::new().on();
    let config = |text: &str| {
        std::fs::write(python.0.outside().join("home/config.toml"), text).unwrap();
    };
    config("[python]\nfull = false\n");
    let (answer, code) = python.call(&json!({"code": "1", "level": "full"}));
    assert_eq!((answer["error_type"].as_str(), code), (Some("validation_error"), 1), "{answer}");
    config("[python]\nprogram = \"/no/such/python\"\n");
    let (answer, _) = python.call(&json!({"code": "1", "level": "full"}));
    assert_eq!(answer["error_type"], "not_configured", "{answer}");
    let said = python.0.run(&["python", "status", "--json"]).code(1);
    let status = support::json(&said.stdout);
    assert_eq!(status["environment"]["state"], "missing");
    assert!(status["problem"].as_str().unwrap().contains("/no/such/python"), "{status}");
    config("");
    python.0.write(".toolcrib/config.toml", "[python]\nprogram = \"./evil\"\n");
    let (answer, _) = python.call(&json!({"code": "1", "level": "full"}));
    assert_eq!(answer["result"], "1", "an untrusted workspace says nothing: {answer}");
}
