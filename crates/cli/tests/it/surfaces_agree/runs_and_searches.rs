//! Runs with the questions for which they wait, the search for tools, and the evidence of the
//! audit.

use serde_json::{Value, json};

use super::surfaces::{Surfaces, differences};
use crate::support::{self, TestEnv, of_type};

/// A run with two calls that need approval.
const TWO_QUESTIONS: &str = r#"
  - calls:
      - {tool: delete_file, args: {path: notes.md}}
      - {tool: delete_file, args: {path: other.md}}
  - say: Gone.
"#;

/// Starts a run at the command line that has to wait; returns its id.
#[track_caller]
fn paused_run(env: &TestEnv, turns: &str) -> String {
    let ended = env.play(turns, &["--json", "--on-ask", "fail"]).code(6);
    of_type(&support::lines(&ended.stdout), "run-paused")[0]["run"].as_str().unwrap().to_owned()
}

/// `resume --list` had a `status` of its own, and `explain` gave the state of a run as its status.
#[test]
fn a_run_that_waits_is_listed_and_shown_alike() {
    let env = TestEnv::new();
    env.write("other.md", "o");
    let run = paused_run(&env, TWO_QUESTIONS);
    env.play("\n  - say: Done.\n", &[]).code(0);
    let on = Surfaces::start(env);
    on.agree(&["resume", "--list"], ("GET", "/runs?state=paused", None), &["since", "waiting"]);
    let listed = on.command(&["resume", "--list"])[0].clone();
    assert_eq!(
        (&listed["run"], &listed["state"], &listed["status"]),
        (&json!(run), &json!("paused"), &json!("approval_needed"))
    );
    let rows = on.ok("GET", "/runs", None)["items"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 2, "{rows:?}");
    for row in &rows {
        let explained = on.command(&["explain", row["run"].as_str().unwrap()]);
        let differences = differences(&explained, row, &["calls", "advice"], "");
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }
    // The state of the run has the same questions as the list.
    let shown = on.ok("GET", &format!("/runs/{run}"), None);
    let approvals = |waiting: &Value| -> Vec<Value> {
        let waiting = waiting.as_array().unwrap().iter();
        waiting.map(|one| one.pointer("/what/id").unwrap_or(&one["id"]).clone()).collect()
    };
    assert_eq!(approvals(&listed["waiting"]), approvals(&shown["waiting"]), "{shown}");
    assert_eq!(approvals(&shown["waiting"]).len(), 2);
}

/// Both surfaces ask only about calls that are not decided.
#[test]
fn the_open_questions_of_a_run_are_the_same() {
    let env = TestEnv::new();
    env.write("other.md", "o");
    let run = paused_run(&env, TWO_QUESTIONS);
    let on = Surfaces::start(env);
    let resume = format!("/runs/{run}/resume");
    let (status, problem) = on.send("POST", &resume, Some(&json!({})));
    assert_eq!(status, 409, "{problem}");
    let open: Vec<Value> = problem["about"]["approvals"].as_array().unwrap().clone();
    assert_eq!(open.len(), 2, "{problem}");
    let refused = on.env.run(&["resume", &run, "--approve"]).code(2);
    let listed = on.command(&["resume", "--list"]);
    let calls: Vec<&str> = listed[0]["waiting"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["call"].as_str().unwrap())
        .collect();
    assert_eq!(calls.len(), open.len());
    for call in calls {
        assert!(refused.stderr.contains(call), "{refused:?}");
    }
}

#[test]
fn a_search_for_tools_finds_the_same() {
    let on = Surfaces::start(TestEnv::new());
    for (need, limit) in [("read a text file", "3"), ("send an e-mail", "5"), ("zorbulon", "5")] {
        let path = format!("/tools?find={}&limit={limit}", need.replace(' ', "%20"));
        let items = on.ok("GET", &path, None)["items"].clone();
        let found = on.command(&["tool", "find", need, "--limit", limit]);
        let rows = |list: &str| found[list].as_array().unwrap().clone();
        let mut all = [rows("found"), rows("not_ready")].concat();
        all.truncate(limit.parse().unwrap());
        let differences = differences(&json!(all), &items, &["summary"], "");
        assert!(differences.is_empty(), "{need}:\n{}", differences.join("\n"));
    }
}

/// Only the command had the success rate.
#[test]
fn the_metrics_of_a_tool_are_the_same() {
    let env = TestEnv::new();
    env.run(&["tool", "call", "read_file", "path=notes.md"]).code(0);
    env.run(&["tool", "call", "read_file", "path=missing.md"]);
    let on = Surfaces::start(env);
    let of_command = on.command(&["metrics", "--tool", "read_file"])[0].clone();
    let of_route = on.ok("GET", "/tools/read_file/metrics", None);
    let differences = differences(&of_command, &of_route, &["tool"], "");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(of_route["success_rate"], json!(0.5), "{of_route}");
    assert!(of_route["last_error"]["message"].is_string(), "{of_route}");
}

/// The command named a missing key, and the route reported every checkpoint as forged.
#[test]
fn the_evidence_of_the_audit_is_the_same() {
    let on = Surfaces::start(TestEnv::new());
    on.env.run(&["tool", "call", "read_file", "path=notes.md"]).code(0);
    let verify = || ("POST", "/audit/verify", Some(json!({})));
    on.agree(&["audit", "verify"], verify(), &[]);
    let said = on.command(&["audit", "verify"]);
    assert_eq!((&said["sound"], &said["evidence"]["keys"]), (&json!(true), &json!(1)), "{said}");
    assert!(said["evidence"]["anchors"].as_u64().unwrap() > 0, "{said}");
    let folder = on.env.outside().join("home/state/audit");
    std::fs::remove_file(folder.join("anchors.jsonl")).unwrap();
    let said = on.command(&["audit", "verify"]);
    let of_route = on.ok("POST", "/audit/verify", Some(&json!({})));
    assert_eq!(
        (&said["evidence"], &said["evidence"]["anchors"]),
        (&of_route["evidence"], &json!(null))
    );
    std::fs::remove_file(folder.join("audit-key.pub")).unwrap();
    let words = "there is no public key to verify the checkpoints";
    on.env.run(&["audit", "verify"]).code(3).says(&[words]);
    let (status, problem) = on.send("POST", "/audit/verify", Some(&json!({})));
    assert_eq!(status, 503, "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
}
