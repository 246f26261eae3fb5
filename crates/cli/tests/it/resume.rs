//! `toolcrib resume`: another process resumes a run that waits for a person.

use std::io::{BufRead as _, BufReader};

use serde_json::{Value, json};

use crate::support::{self, TestEnv, end, of_type};

/// Returns a call that needs approval beside one that does not, followed by `then`.
fn asks(then: &str) -> String {
    format!(
        r#"
  - calls:
      - {{tool: delete_file, args: {{path: notes.md}}}}
      - {{tool: get_current_time, args: {{}}}}
{then}"#
    )
}

const DELETED: &str = r#"
  - expect: {results: [{tool: delete_file, outcome: succeeded}, {tool: get_current_time, outcome: succeeded}]}
    say: Gone.
"#;

const QUESTION: &str = r#"
  - calls: [{tool: ask_user, args: {question: Which list?, options: [old, new]}}]
"#;

/// Starts a run that has to wait; returns its id.
#[track_caller]
fn pause(env: &TestEnv, turns: &str) -> String {
    let events = support::lines(&env.play(turns, &["--json", "--on-ask", "fail"]).code(6).stdout);
    let paused = of_type(&events, "run-paused");
    assert_eq!(paused.len(), 1, "{events:?}");
    for waiting in paused[0]["waiting"].as_array().unwrap() {
        assert_eq!(
            waiting["expires_at"],
            Value::Null,
            "a run that is put aside waits as long as it takes"
        );
    }
    paused[0]["run"].as_str().unwrap().to_owned()
}

#[test]
fn approve_lets_the_call_run() {
    let env = TestEnv::new();
    let run = pause(&env, &asks(DELETED));
    assert!(env.read("notes.md").is_some(), "nothing ran before the decision");
    let ended = env.run(&["resume", &run, "--approve"]).code(0);
    assert_eq!(ended.stdout, "Gone.\n");
    ended.says(&["delete_file … done"]);
    assert!(env.read("notes.md").is_none());
}

#[test]
fn deny_tells_the_model_why() {
    for (args, then) in [
        (
            &["--deny", "I still need it"][..],
            "{tool: delete_file, outcome: denied, contains: I still need it}",
        ),
        (&["--deny"], "{tool: delete_file, outcome: denied}"),
        (&["--skip"], "{tool: delete_file, outcome: denied}"),
    ] {
        let env = TestEnv::new();
        let then = format!(
            "\n  - expect: {{results: [{then}, {{tool: get_current_time}}]}}\n    say: Kept.\n"
        );
        let run = pause(&env, &asks(&then));
        let ended = env.run(&[&["resume", &run], args].concat());
        assert_eq!(ended.stdout, "Kept.\n", "{args:?}: {ended:#?}");
        assert!(env.read("notes.md").is_some());
    }
}

#[test]
fn edited_arguments_are_those_that_run() {
    let env = TestEnv::new();
    env.write("other.md", "x");
    let run = pause(&env, &asks(DELETED));
    env.run(&["resume", &run, "--args", "{\"path\": "]).code(2).says(&["--args is not valid JSON"]);
    let ended = env.run(&["resume", &run, "--args", "{\"path\": \"other.md\"}"]).code(0);
    assert_eq!(ended.stdout, "Gone.\n");
    assert_eq!((env.read("other.md"), env.read("notes.md").is_some()), (None, true));
}

#[test]
fn an_answer_goes_to_the_model() {
    let then = |words: &str| format!("{QUESTION}\n  - expect: {{{words}}}\n    say: Thanks.\n");
    for (args, expect) in [
        (&["--answer", "new"][..], "last_user_contains: '[Answer to: Which list?] new'"),
        (&["--answer", "both"], "results: [{tool: ask_user, contains: '\"was_freeform\":true'}]"),
        (&["--skip"], "results: [{tool: ask_user, outcome: succeeded, contains: skipped}]"),
    ] {
        let env = TestEnv::new();
        let run = pause(&env, &then(expect));
        let ended = env.run(&[&["resume", &run], args].concat()).code(0);
        assert_eq!(ended.stdout, "Thanks.\n");
    }
}

#[test]
fn the_list_shows_what_waits() {
    let env = TestEnv::new();
    let ended = env.run(&["resume", "--list"]).code(0).says(&["no run waits for a person"]);
    assert_eq!(ended.stdout, "");
    assert_eq!(env.run(&["resume", "--list", "--json"]).code(0).stdout, "[]\n");
    env.run(&["resume"]).code(4).says(&["no run waits for a person"]);
    let first = pause(&env, &asks(DELETED));
    let second = pause(&env, QUESTION);
    let text = env.run(&["resume", "--list"]).code(0).stdout;
    for (run, what) in [
        (&first, "delete_file needs approval: delete notes.md"),
        (&second, "the model asks: Which list?"),
    ] {
        let behind = text.split_once(run.as_str()).unwrap().1;
        let line = behind.lines().nth(1).unwrap();
        assert!(line.starts_with("  call_") && line.ends_with(what), "{text}");
    }
    let rows = support::json(&env.run(&["resume", "--list", "--json"]).code(0).stdout);
    let row = rows.as_array().unwrap().iter().find(|row| row["run"] == second.as_str()).unwrap();
    assert_eq!(row["agent"], "general-assistant");
    assert_eq!(row["waiting"][0]["what"]["waits_for"], "answer", "{row}");
    // The command must name one of the two.
    env.run(&["resume", "--approve"]).code(2).says(&["2 runs wait", "resume --list"]);
}

#[test]
fn a_run_is_taken_up_once() {
    let env = TestEnv::new();
    let run = pause(&env, &asks(DELETED));
    env.run(&["resume", &run, "--approve"]).code(0);
    let ended = env.run(&["resume", &run, "--approve"]).code(2);
    ended.says(&[&run, "does not wait for a person"]);
    env.run(&["resume", "run_00000000000000000000000000000000"]).code(4).says(&["there is no run"]);
    env.run(&["resume", "nonsense"]).code(4).says(&["there is no run nonsense", &run]);
}

#[test]
fn without_a_decision_it_goes_on_waiting() {
    let env = TestEnv::new();
    let run = pause(&env, &asks(DELETED));
    env.run(&["resume", &run]).code(6).says(&["delete_file needs approval"]);
    // An answer is not a decision about a call.
    env.run(&["resume", &run, "--answer", "yes"]).code(6).says(&["delete_file needs approval"]);
    assert!(env.read("notes.md").is_some());
    env.run(&["resume", &run, "--approve"]).code(0);
}

/// The run keeps the environment in which it was started, wherever the second process runs.
#[test]
fn another_current_folder_changes_nothing() {
    let env = TestEnv::new();
    std::fs::write(env.outside().join("notes.md"), "of somebody else\n").unwrap();
    env.write("script.yaml", format!("version: 1\nturns:{}", asks(DELETED)));
    let args = ["run", "--model", "scripted:script.yaml", "--on-ask", "fail", "Do it"];
    env.run(&args).code(6);
    let mut command = env.command(&["resume", "--approve"]);
    command.current_dir(env.outside());
    assert_eq!(end(command, b"").code(0).stdout, "Gone.\n");
    assert!(env.read("notes.md").is_none());
    assert!(env.outside().join("notes.md").exists());
}

#[test]
fn a_resumed_run_says_so() {
    let env = TestEnv::new();
    let run = pause(&env, &asks(DELETED));
    let ended = env.run(&["resume", &run, "--approve", "--json"]).code(0);
    let events = support::lines(&ended.stdout);
    assert_eq!((&events[0]["type"], &events[0]["resumed"]), (&json!("run-start"), &json!(true)));
    assert_eq!(events[0]["run"], run.as_str());
    let states: Vec<&Value> =
        of_type(&events, "tool").iter().map(|event| &event["state"]).collect();
    assert!(states.contains(&&json!("approval-responded")), "{states:?}");
    assert!(states.contains(&&json!("output-available")), "{states:?}");
    // The counts from before the pause still apply.
    assert_eq!(events.last().unwrap()["calls"], 2);
}

/// The run waits for a question and an approval in one response, one after the other.
#[test]
fn everything_that_waits_is_decided_before_the_run_goes_on() {
    let env = TestEnv::new();
    let turns = r#"
  - calls:
      - {tool: delete_file, args: {path: notes.md}}
      - {tool: ask_user, args: {question: Which list?}}
  - expect: {results: [{tool: delete_file, outcome: succeeded}, {tool: ask_user, contains: answered}]}
    say: Done.
"#;
    let run = pause(&env, turns);
    env.run(&["resume", &run, "--approve"]).code(6).says(&["the model asks: Which list?"]);
    assert!(env.read("notes.md").is_none());
    assert_eq!(env.run(&["resume", &run, "--answer", "new"]).code(0).stdout, "Done.\n");
}

/// A decision about one call must not be applied to another.
#[test]
fn of_several_calls_the_one_that_is_meant_is_named() {
    let env = TestEnv::new();
    env.write("other.md", "x");
    let turns = r#"
  - calls:
      - {tool: delete_file, args: {path: notes.md}}
      - {tool: delete_file, args: {path: other.md}}
  - expect: {results: [{tool: delete_file, outcome: denied}, {tool: delete_file, outcome: succeeded}]}
    say: One is left.
"#;
    let run = pause(&env, turns);
    let ended = env.run(&["resume", &run, "--approve"]).code(2);
    ended.says(&["several calls wait", "delete notes.md", "delete other.md"]);
    let rows = support::json(&env.run(&["resume", "--list", "--json"]).code(0).stdout);
    let call = |at: usize| rows[0]["waiting"][at]["call"].as_str().unwrap().to_owned();
    env.run(&["resume", &run, "--approve", "--call", &call(1)]).code(6);
    assert_eq!((env.read("notes.md").is_some(), env.read("other.md").is_some()), (true, false));
    let ended = env.run(&["resume", &run, "--deny", "--call", &call(0)]);
    assert_eq!(ended.stdout, "One is left.\n");
    assert!(env.read("notes.md").is_some());
}

/// Another process finishes the run of a process that was killed in the middle.
#[test]
fn a_run_whose_process_died_is_taken_up() {
    let env = TestEnv::new();
    let turns = r#"
  - calls: [{tool: write_file, args: {path: x, content: x}}]
  - {say: Done., delay_ms: 60000}
"#;
    let model = env.script("script", turns);
    let mut child = env.command(&["run", "--json", "--model", &model, "Do it"]).spawn().unwrap();
    drop(child.stdin.take());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut events = Vec::new();
    while of_type(&events, "request").len() < 2 {
        events.push(support::json(&lines.next().unwrap().unwrap()));
    }
    let run = events[0]["run"].as_str().unwrap().to_owned();
    env.run(&["resume", &run]).code(2).says(&["does not wait for a person"]);
    assert_eq!(env.run(&["resume", "--list"]).code(0).stdout, "");
    child.kill().unwrap();
    child.wait().unwrap();
    let left = env.run(&["resume", "--list"]).code(0).stdout;
    assert_eq!(left, format!("{run}  unfinished, its process has ended\n"));
    env.run(&["resume", "run_ff"]).code(4).says(&["there is no run run_ff", "resume --list", &run]);
    let quick = turns.replace("delay_ms: 60000", "delay_ms: 0");
    env.script("script", &quick);
    assert_eq!(env.run(&["resume", &run[..20]]).code(0).stdout, "Done.\n");
    assert_eq!(env.read("x").as_deref(), Some("x"));
    env.run(&["resume"]).code(4).says(&["no run waits"]);
}

/// The next question of a resumed run waits like its first one, because `--on-ask` belongs to the
/// run; `--approve` applies only to the question that waited.
#[test]
fn resume_keeps_the_on_ask_of_the_run_and_approves_one_call() {
    let env = TestEnv::new();
    let second = r#"
  - calls: [{tool: delete_file, args: {path: other.md}}]
  - say: Done.
"#;
    env.write("other.md", "x");
    let run = pause(&env, &asks(second));
    env.run(&["resume", &run, "--approve"]).code(6).says(&["delete_file needs approval"]);
    assert!(env.read("other.md").is_some());
    env.run(&["resume", &run, "--on-ask", "deny", "--approve"]).code(0);
    assert!(env.read("other.md").is_none());
}

/// An answer applies to the question that waited, not to the next one.
#[test]
fn an_answer_on_the_command_line_is_for_one_question() {
    let env = TestEnv::new();
    let next = r#"
  - calls: [{tool: ask_user, args: {question: Really?, options: [yes, no]}}]
  - say: Done.
"#;
    let run = pause(&env, &format!("{QUESTION}{next}"));
    env.run(&["resume", &run, "--answer", "old"]).code(6).says(&["Really?"]);
    env.run(&["resume", &run, "--answer", "yes"]).code(0);
}
