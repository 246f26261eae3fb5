//! `toolcrib history|explain|metrics|usage`: information about real calls.

use serde_json::{Value, json};

use crate::support::{self, SlowTool, TestEnv};

/// Makes manual calls: two that succeed, one that fails, one that is denied because no approver can
/// be asked, and one of an unknown tool.
fn busy() -> TestEnv {
    let env = TestEnv::new();
    let calls = [
        ("read_file", json!({"path": "notes.md"}), 0),
        ("write_file", json!({"path": "a.txt", "content": "hello", "mode": "append"}), 0),
        ("read_file", json!({"path": "missing.md"}), 1),
        ("delete_file", json!({"path": "notes.md"}), 5),
        ("no_such_tool", json!({}), 4),
    ];
    for (tool, args, code) in calls {
        assert_eq!(env.call(tool, &args, &[]).1, code, "{tool}");
    }
    env
}

#[track_caller]
fn rows(env: &TestEnv, args: &[&str]) -> Vec<Value> {
    let ended = env.run(&[&["history", "--json"], args].concat()).code(0);
    support::json(&ended.stdout).as_array().unwrap().clone()
}

fn tools(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["tool"].as_str().or(row["asked"].as_str()).unwrap()).collect()
}

#[test]
fn history_shows_the_newest_first() {
    let env = busy();
    let all = rows(&env, &[]);
    assert_eq!(
        tools(&all),
        ["no_such_tool", "delete_file", "read_file", "write_file", "read_file"]
    );
    let states: Vec<&str> = all.iter().map(|row| row["status"].as_str().unwrap()).collect();
    assert_eq!(states, ["failed", "denied", "failed", "succeeded", "succeeded"]);
    let write = &all[3];
    assert_eq!(write["args"], json!({"path": "a.txt", "content": "hello", "mode": "append"}));
    assert_eq!((&write["effect"], &write["origin"]), (&json!("side_effect"), &json!("cli")));
    assert!(write["duration_ms"].as_f64().unwrap() > 0.0 && write["attempts"] == 1, "{write}");
    assert_eq!(
        (&all[1]["duration_ms"], &all[1]["attempts"]),
        (&Value::Null, &json!(0)),
        "it did not run"
    );
    assert_eq!(all[2]["error_type"], "file_not_found");
    let text = env.run(&["history"]).code(0).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("TIME ") && lines[0].ends_with("CALL"), "{text}");
    assert_eq!(lines.len(), 6, "{text}");
    for (line, row) in lines[1..].iter().zip(&all) {
        assert!(line.ends_with(row["call"].as_str().unwrap()), "{line}");
        assert!(line.contains(row["status"].as_str().unwrap()), "{line}");
    }
    assert!(lines[3].contains("path=missing.md") && lines[4].contains("content=hello"), "{text}");
}

#[test]
fn history_is_filtered() {
    let env = busy();
    let check = |args: &[&str], expected: &[&str]| {
        assert_eq!(tools(&rows(&env, args)), expected, "{args:?}");
    };
    check(&["--tool", "read_file"], &["read_file", "read_file"]);
    check(&["--tool", "web_fetch"], &[]);
    check(&["--status", "failed"], &["no_such_tool", "read_file"]);
    check(&["--status", "denied"], &["delete_file"]);
    check(&["--status", "timed-out"], &[]);
    check(&["--status", "open"], &[]);
    check(&["--tool", "read_file", "--status", "succeeded"], &["read_file"]);
    check(&["--since", "1h", "-n", "2"], &["no_such_tool", "delete_file"]);
    check(&["--until", "1h"], &[]);
    check(&["--since", "2000-01-01", "--until", "2000-01-02T00:00:00Z"], &[]);
    check(&["--agent", "general-assistant"], &[]);
    env.run(&["history", "--until", "1h"]).code(0).says(&["no call matches"]);
}

#[test]
fn history_goes_on_before_a_call() {
    let env = busy();
    let ended = env.run(&["history", "-n", "2"]).code(0);
    let all = rows(&env, &[]);
    let last = all[1]["call"].as_str().unwrap();
    ended.says(&[&format!("more calls: --before {last}")]);
    let next = rows(&env, &["-n", "2", "--before", last]);
    assert_eq!(tools(&next), ["read_file", "write_file"]);
    let last = next[1]["call"].as_str().unwrap();
    let ended = env.run(&["history", "-n", "2", "--before", last]).code(0);
    assert_eq!((ended.stdout.lines().count(), ended.stderr.as_str()), (2, ""));
}

#[test]
fn history_says_what_is_wrong() {
    let env = busy();
    for (args, code, says) in [
        (&["--tool", "raed_file"][..], 4, "did you mean read_file"),
        (&["--tool", "zzz"], 4, "`toolcrib tool list`"),
        (&["--agent", "general-asistant"], 4, "did you mean general-assistant?"),
        (&["--agent", "zzz"], 4, "`toolcrib agent list`"),
        (&["--conversation", "conv_12"], 4, "there is no conversation conv_12"),
        (&["--run", "run_12"], 4, "there is no run run_12"),
        (&["--before", "call_f"], 4, "there is no call call_f"),
        (&["--status", "suceeded"], 2, "did you mean succeeded?"),
        (&["--since", "soon"], 2, "`soon` is not a time"),
        (&["--since", "90"], 2, "`90` is not a time"),
        (&["--since", "1h", "--until", "2h"], 2, "must be before --until"),
        (&["-n", "0"], 2, "0"),
    ] {
        env.run(&[&["history"], args].concat()).code(code).says(&[says]);
    }
    // A complete id of a run that is not stored is not an error: the calls of a response have such
    // ids.
    assert!(rows(&env, &["--run", "run_00000000000000000000000000000000"]).is_empty());
}

/// Without any calls, there is not even a state folder.
#[test]
fn there_is_nothing_yet() {
    let env = TestEnv::new();
    for (command, says) in [
        ("history", "no call matches"),
        ("metrics", "no call was recorded"),
        ("usage", "nothing was used"),
    ] {
        let ended = env.run(&[command]).code(0).says(&[says]);
        assert_eq!(ended.stdout, "", "{command}");
        assert_eq!(env.run(&[command, "--json"]).code(0).stdout, "[]\n");
    }
    env.run(&["explain", "call_1"]).code(4).says(&["there is no call call_1"]);
}

#[test]
fn arguments_of_others_cannot_play_with_the_terminal() {
    let env = TestEnv::new();
    env.call("read_file", &json!({"path": "a\u{1b}[2Jb\nc\u{202e}d"}), &[]);
    let call = rows(&env, &[])[0]["call"].as_str().unwrap().to_owned();
    for args in [&["history"][..], &["explain", &call], &["metrics"]] {
        let text = env.run(args).code(0).stdout;
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{args:?}: {text:?}");
    }
}

/// A secret of the configuration is masked before anything is stored: arguments, results, and the
/// tool's description of the call.
#[test]
fn secrets_are_not_in_the_history() {
    let env = TestEnv::new();
    env.own("config.toml", "[tools.read_file.config]\ntoken = \"s3cr3t-of-mine-42\"\n");
    env.call("read_file", &json!({"path": "s3cr3t-of-mine-42"}), &[]);
    let row = rows(&env, &[])[0].clone();
    assert_eq!(row["tool"], "read_file");
    let call = row["call"].as_str().unwrap();
    for args in
        [&["history"][..], &["history", "--json"], &["explain", call], &["explain", call, "--json"]]
    {
        let text = env.run(args).code(0).stdout;
        assert!(!text.contains("s3cr3t"), "{args:?}: {text}");
    }
}

#[track_caller]
fn explained(env: &TestEnv, call: &str) -> (String, Value) {
    let text = env.run(&["explain", call]).code(0).stdout;
    (text, support::json(&env.run(&["explain", call, "--json"]).code(0).stdout))
}

#[test]
fn explain_tells_everything_of_a_call() {
    let env = busy();
    let all = rows(&env, &[]);
    let id = |at: usize| all[at]["call"].as_str().unwrap();
    let (text, data) = explained(&env, id(3));
    for part in [
        "write_file  succeeded",
        "asked by      cli",
        "\"path\":\"a.txt\"",
        "risk safe, effect side_effect, operation write_file",
        "1 attempt, ",
        "outcome       succeeded",
        "the pipeline in ",
        " 13 shape ",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert_eq!(data["status"], "succeeded");
    // The last stage is the one that stored this record.
    assert_eq!(data["outcome"]["report"]["stages"].as_array().map(Vec::len), Some(14));
    let kinds: Vec<&str> = data["audit"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["record"]["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["started", "settled"]);
    let numbers: Vec<u64> =
        data["audit"].as_array().unwrap().iter().map(|row| row["seq"].as_u64().unwrap()).collect();
    assert!(
        text.contains(&format!("audit         {} started, {} settled", numbers[0], numbers[1])),
        "{text}"
    );
    assert_eq!(data["audit"][1]["record"]["output_hash"], data["facts"]["output_hash"]);
    let (text, data) = explained(&env, id(1));
    assert!(text.contains("it did not run") && text.contains("(approval_denied)"), "{text}");
    assert!(text.contains("STOPPED"), "{text}");
    assert_eq!(data["outcome"]["error_type"], "approval_denied");
    let (text, _) = explained(&env, id(0));
    assert!(text.contains("no_such_tool  failed") && text.contains("(tool_not_found)"), "{text}");
}

#[test]
fn explain_takes_cut_ids() {
    let env = busy();
    let all = rows(&env, &[]);
    let (one, other) = (all[4]["call"].as_str().unwrap(), all[3]["call"].as_str().unwrap());
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    // Ids of different processes differ in the time, or else in the seed.
    let cut = &one[..=same];
    for asked in [cut, &cut["call_".len()..], &cut.to_uppercase()["CALL_".len()..]] {
        let text = env.run(&["explain", asked]).code(0).stdout;
        assert!(text.starts_with(one), "{asked}: {text}");
    }
    env.run(&["explain", "call_"]).code(2).says(&["call_ is the beginning of 5 ids", one]);
    // With a typo in the middle, the error suggests ids with the same prefix.
    let slip =
        format!("{}{}{}", &one[..20], if &one[20..21] == "0" { "1" } else { "0" }, &one[21..]);
    env.run(&["explain", &slip]).code(4).says(&["there is no call", "The nearest", one]);
    env.run(&["explain", "nonsense"]).code(4).says(&["there is no call nonsense"]);
    let failed = env.run(&["explain", "nonsense", "--json"]).code(4);
    assert_eq!(support::json(&failed.stderr)["exit_code"], 4);
}

#[test]
fn explain_says_where_a_long_result_is() {
    let env = TestEnv::new();
    env.write("long.txt", "line of text\n".repeat(5_000));
    env.call("read_file", &json!({"path": "long.txt"}), &[]);
    let call = rows(&env, &[])[0]["call"].as_str().unwrap().to_owned();
    let (text, data) = explained(&env, &call);
    let artifact = data["outcome"]["artifact"].as_str().unwrap();
    assert!(text.contains("all of it: toolcrib explain"), "{text}");
    let line = text.lines().find(|line| line.starts_with("artifact ")).unwrap();
    assert!(line.contains("toolcrib tool call read_artifact") && line.contains(artifact), "{line}");
    env.call("read_artifact", &json!({"ref": artifact}), &[]);
}

/// A waiting call of a run has no outcome: the command shows the question, and then the decision.
#[test]
fn explain_says_what_a_call_waits_for() {
    let env = TestEnv::new();
    let turns = "\n  - calls: [{tool: delete_file, args: {path: notes.md}}]\n  - say: Gone.\n";
    let events = support::lines(&env.play(turns, &["--json", "--on-ask", "fail"]).code(6).stdout);
    let paused = support::of_type(&events, "run-paused");
    let (run, waiting) = (paused[0]["run"].as_str().unwrap(), &paused[0]["waiting"][0]);
    let call = waiting["call"].as_str().unwrap();
    let (text, data) = explained(&env, call);
    assert!(text.contains("delete_file  waiting") && text.contains("toolcrib approve"), "{text}");
    assert!(
        text.contains("asked by      model, agent general-assistant") && text.contains(run),
        "{text}"
    );
    assert_eq!((&data["status"], &data["question"]["decision"]), (&json!("waiting"), &Value::Null));
    assert_eq!(data["audit"][0]["record"]["kind"], "asked");
    env.run(&["resume", run, "--approve"]).code(0);
    let (text, data) = explained(&env, call);
    assert!(
        text.contains("delete_file  succeeded") && text.contains("decision      approve by"),
        "{text}"
    );
    let kinds: Vec<&str> = data["audit"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["record"]["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["asked", "decided", "started", "settled"]);
    // A stored run can be found by id, agent and conversation.
    let row = rows(&env, &["--run", run]).remove(0);
    assert_eq!((&row["call"], &row["agent"]), (&json!(call), &json!("general-assistant")));
    let conversation = row["conversation"].as_str().unwrap();
    assert_eq!(
        rows(&env, &["--conversation", &conversation[..20], "--agent", "general-assistant"]).len(),
        1
    );
    assert_eq!(row["topic"], "Do it");
}

/// A question of the model belongs to a call that has ended; the command still shows that it is
/// open.
#[test]
fn explain_says_that_a_question_is_open() {
    let env = TestEnv::new();
    let turns =
        "\n  - calls: [{tool: ask_user, args: {question: Which list?}}]\n  - say: Thanks.\n";
    let events = support::lines(&env.play(turns, &["--json", "--on-ask", "fail"]).code(6).stdout);
    let paused = support::of_type(&events, "run-paused");
    let call = paused[0]["waiting"][0]["call"].as_str().unwrap();
    let (text, _) = explained(&env, call);
    let run = paused[0]["run"].as_str().unwrap();
    for part in
        ["The model asks: Which list?", "toolcrib approve answer appr_", "toolcrib resume", run]
    {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    env.run(&["resume", run, "--answer", "new"]).code(0);
    let (text, _) = explained(&env, call);
    assert!(text.contains("answer by") && !text.contains("approve answer"), "{text}");
}

/// Another process runs the call; then that process is killed, and the record remains.
#[test]
fn explain_says_who_runs_a_call_and_what_a_crash_means() {
    let env = TestEnv::new();
    let tool = SlowTool::new(&env);
    let mut child = env.command(&["tool", "call", "slow", "--tools", "mine"]).spawn().unwrap();
    tool.started();
    let row = rows(&env, &["--status", "open"]).remove(0);
    let call = row["call"].as_str().unwrap();
    assert_eq!((&row["tool"], &row["status"]), (&json!("slow"), &json!("running")));
    let (text, data) = explained(&env, call);
    let who = format!("process {}", child.id());
    assert!(text.contains("slow  running") && text.contains(&who), "{who}: {text}");
    assert!(data["worker"].as_str().unwrap().contains(&who), "{data}");
    child.kill().unwrap();
    child.wait().unwrap();
    let _orphan = tool.go_on();
    let (text, data) = explained(&env, call);
    assert!(text.contains("slow  left_behind") && text.contains("may have taken effect"), "{text}");
    assert_eq!(data["worker"], Value::Null);
    // The next command that runs calls records the outcome.
    env.call("get_current_time", &json!({}), &[]);
    let (text, data) = explained(&env, call);
    assert_eq!(
        (&data["status"], &data["outcome"]["error_type"]),
        (&json!("unknown"), &json!("unknown_outcome"))
    );
    assert!(
        text.contains("it is unknown whether it took effect")
            && text.contains("call it again only if"),
        "{text}"
    );
    assert_eq!(rows(&env, &["--status", "unknown"]).len(), 1);
    assert_eq!(rows(&env, &["--status", "open"]).len(), 0);
}

#[test]
fn metrics_by_tool() {
    let env = busy();
    let rows = support::json(&env.run(&["metrics", "--json"]).code(0).stdout);
    let of = |tool: &str| rows.as_array().unwrap().iter().find(|row| row["tool"] == tool).unwrap();
    let read = of("read_file");
    assert_eq!(
        (&read["count"], &read["succeeded"], &read["failed"]),
        (&json!(2), &json!(1), &json!(1))
    );
    assert_eq!(read["success_rate"], 0.5);
    assert!(read["p50_ms"].as_f64().unwrap() <= read["p95_ms"].as_f64().unwrap());
    assert_eq!(read["last_error"]["error_type"], "file_not_found");
    let delete = of("delete_file");
    assert_eq!((&delete["not_run"], &delete["success_rate"]), (&json!(1), &Value::Null));
    assert_eq!(delete["p50_ms"], Value::Null);
    let text = env.run(&["metrics"]).code(0).stdout;
    let line = text.lines().find(|line| line.starts_with("read_file ")).unwrap();
    assert!(
        line.contains("50%") && line.contains("ago: File not found: missing.md (file_not_found)"),
        "{line}"
    );
    let one = support::json(&env.run(&["metrics", "--tool", "read_file", "--json"]).code(0).stdout);
    assert_eq!(one.as_array().map(Vec::len), Some(1));
    env.run(&["metrics", "--tool", "raed_file"]).code(4).says(&["did you mean read_file"]);
    env.run(&["metrics", "--since", "soon"]).code(2);
    let none =
        env.run(&["metrics", "--tool", "find_files"]).code(0).says(&["no call was recorded"]);
    assert_eq!(none.stdout, "");
}

#[test]
fn usage_of_models_agents_and_tools() {
    let env = TestEnv::new();
    let turns = "\n  - calls: [{tool: get_current_time, args: {}}]\n  - say: Noon.\n";
    env.play(turns, &[]).code(0);
    let rows = |by: &str| support::json(&env.run(&["usage", "--by", by, "--json"]).code(0).stdout);
    let model = &rows("model")[0];
    assert!(model["name"].as_str().unwrap().contains("scripted"), "{model}");
    assert_eq!((&model["requests"], &model["calls"]), (&json!(2), &Value::Null));
    // The script reports no tokens, so they are unknown rather than zero.
    assert_eq!((&model["unreported"], &model["input_tokens"]), (&json!(2), &Value::Null));
    assert_eq!(model["cost_usd_estimate"], Value::Null);
    let ended = env.run(&["usage"]).code(0);
    let line = ended.stdout.lines().nth(1).unwrap();
    assert!(line.ends_with("2        -      -       -       -          -"), "{line}");
    ended.says(&[
        "2 of 2 answers did not report their tokens",
        "the price of 2 of 2 answers is not known",
    ]);
    let agent = &rows("agent")[0];
    assert_eq!(
        (&agent["name"], &agent["requests"], &agent["calls"]),
        (&json!("general-assistant"), &json!(2), &json!(1))
    );
    let tool = &rows("tool")[0];
    assert_eq!(
        (&tool["name"], &tool["calls"], &tool["input_tokens"]),
        (&json!("get_current_time"), &json!(1), &Value::Null)
    );
    assert_eq!(env.run(&["usage", "--since", "2999-01-01", "--json"]).code(0).stdout, "[]\n");
    env.run(&["usage", "--by", "hour"]).code(2).says(&["tool", "agent", "model"]);
}

/// A model reads calls of an earlier process.
#[test]
fn a_model_looks_back() {
    let env = busy();
    let now = support::json(
        &env.run(&[
            "tool",
            "call",
            "get_current_time",
            "--json",
            "--args",
            "{\"timezone\":\"UTC\"}",
        ])
        .stdout,
    );
    let turns = format!(
        r#"
  - calls:
      - {{tool: review_tool_calls, args: {{date_time: "{}", tool: read_file}}}}
      - {{tool: introspect, args: {{}}}}
  - expect: {{results: [{{tool: review_tool_calls, contains: 'File not found: missing.md'}}, {{tool: introspect, contains: general-assistant}}]}}
    say: You looked for a file that is not there.
"#,
        now["result"].as_str().unwrap()
    );
    let ended = env.play(&turns, &[]).code(0);
    assert_eq!(ended.stdout, "You looked for a file that is not there.\n");
}
