//! `toolcrib approve` and `toolcrib grant`: the inbox of all runs and single calls, across
//! processes.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{self, SlowTool, TestEnv, ask, body, end, of_type};

const DELETE: &str = r#"{"path": "notes.md"}"#;

/// A run that tries to delete a file.
const DELETES: &str = r#"
  - calls: [{tool: delete_file, args: {path: notes.md}}]
  - expect: {results: [{tool: delete_file, outcome: succeeded}]}
    say: Gone.
"#;

const QUESTION: &str = r#"
  - calls: [{tool: ask_user, args: {question: Which list?, context: Two fit., options: [old, new]}}]
  - {say: Thanks., expect: {last_user_contains: '[Answer to: Which list?] new'}}
"#;

impl TestEnv {
    /// Leaves a single call waiting; returns the id of its question.
    #[track_caller]
    fn asks(&self, tool: &str, args: &str, more: &[&str]) -> String {
        let fixed = ["tool", "call", tool, "--args", args, "--on-ask", "fail"];
        let ended = self.run(&[&fixed, more].concat()).code(6);
        let id = ended.stderr.split_whitespace().find(|word| word.starts_with("appr_")).unwrap();
        id.trim_end_matches(';').to_owned()
    }

    /// Returns the inbox.
    #[track_caller]
    pub(crate) fn inbox(&self, more: &[&str]) -> Vec<Value> {
        let ended = self.run(&[&["approve", "list", "--json"], more].concat()).code(0);
        support::json(&ended.stdout).as_array().unwrap().clone()
    }

    /// Pauses a run; returns its id and the id of its question.
    #[track_caller]
    fn aside(&self, turns: &str) -> (String, String) {
        let known = self.inbox(&[]);
        self.play(turns, &["--on-ask", "fail"]).code(6).says(&["toolcrib approve"]);
        // The short id of a row gets longer when another id with the same prefix appears.
        let is_new = |row: &Value| known.iter().all(|old| old["id"] != row["id"]);
        let new = self.inbox(&[]).into_iter().find(is_new).unwrap();
        (new["run"].as_str().unwrap().to_owned(), new["id"].as_str().unwrap().to_owned())
    }

    /// Waits until this many questions are in the inbox; returns the newest.
    #[track_caller]
    fn until_asked(&self, count: usize) -> Value {
        self.until(|rows| rows.len() >= count).pop().unwrap()
    }

    /// Polls the inbox until the condition holds.
    #[track_caller]
    fn until(&self, is_so: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let begun = Instant::now();
        loop {
            let rows = self.inbox(&[]);
            if is_so(&rows) {
                return rows;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "the inbox stays as it is: {rows:?}"
            );
        }
    }
}

/// Returns the exit code and the output of a child that was started before.
#[track_caller]
fn ends(mut child: Child) -> (i32, String) {
    drop(child.stdin.take());
    let out = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (out.status.code().unwrap(), text(&out.stdout) + &text(&out.stderr))
}

#[test]
fn an_empty_inbox_says_so() {
    let env = TestEnv::new();
    assert_eq!(env.run(&["approve", "list"]).code(0).says(&["no pending approvals"]).stdout, "");
    assert_eq!(env.inbox(&["--all"]), Vec::<Value>::new());
    env.run(&["grant", "list"]).code(0).says(&["no remembered approvals"]);
    for word in ["show", "yes", "no", "skip"] {
        env.run(&["approve", word, "appr_01"]).code(4).says(&["there is no question appr_01"]);
    }
    env.run(&["approve", "answer", "appr_01", "x"]).code(4);
    env.run(&["grant", "revoke", "grant_01"]).code(4).says(&["there is no remembered approval"]);
}

#[test]
fn the_inbox_shows_calls_and_questions_over_all_runs_the_oldest_first() {
    let env = TestEnv::new();
    let single = env.asks("delete_file", DELETE, &[]);
    let (run, of_run) = env.aside(DELETES);
    let (_, question) = env.aside(QUESTION);
    let rows = env.inbox(&[]);
    let ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [&single, &of_run, &question]);
    assert_eq!((&rows[0]["run"], &rows[1]["run"]), (&Value::Null, &json!(run)));
    assert_eq!((&rows[1]["kind"], &rows[2]["kind"]), (&json!("call"), &json!("question")));
    let text = env.run(&["approve", "list"]).code(0).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("ID ") && lines.len() == 4, "{text}");
    for (line, words) in lines[1..].iter().zip([
        ["high", "a single call", "delete notes.md"],
        ["high", "general-assistant", "delete notes.md"],
        ["ask_user", "none", "Which list?"],
    ]) {
        for word in words {
            assert!(line.contains(word), "{word}: {line}");
        }
    }
    // All commands accept the short ids.
    for (row, id) in rows.iter().zip([&single, &of_run, &question]) {
        let shown = env.run(&["approve", "show", row["short"].as_str().unwrap()]).code(0).stdout;
        assert!(shown.contains(id.as_str()), "{shown}");
    }
    env.run(&["approve", "no", &single]).code(0);
    assert_eq!((env.inbox(&[]).len(), env.inbox(&["--all"]).len()), (2, 3));
    let all = env.run(&["approve", "list", "--all"]).code(0).stdout;
    assert!(all.contains("[denied by command line]"), "{all}");
}

#[test]
fn everything_that_the_decision_is_about_is_shown() {
    let env = TestEnv::new();
    env.write("list.md", "one\ntwo\n");
    let before =
        env.asks("write_file", r#"{"path": "x", "content": "y"}"#, &["--policy", "ask-all"]);
    env.run(&["approve", "skip", &before]).code(0);
    let args = json!({"path": "list.md", "content": "one\n\u{1b}[2J\u{202e}TWO\n"}).to_string();
    let id = env.asks("write_file", &args, &["--policy", "ask-all"]);
    let shown = env.run(&["approve", "show", &id]).code(0).stdout;
    for words in [
        id.as_str(),
        "call          call_",
        "asked by      cli",
        "deadline      none",
        "operation     write_file",
        "effect        ",
        "why asked     ",
        "definition    ",
        "workspace     ",
        "\"path\": \"list.md\"",
        "changes: list.md (+1 -1)\n",
        "-two\n",
        "skipped by command line",
    ] {
        assert!(shown.contains(words), "{words:?}: {shown}");
    }
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown:?}");
    let row = support::json(&env.run(&["approve", "show", &id, "--json"]).code(0).stdout);
    assert_eq!((&row["request"]["id"], &row["decision"]), (&json!(id), &Value::Null));
    assert_eq!(row["earlier"].as_array().unwrap().len(), 1);
}

#[test]
fn a_single_call_is_carried_out_where_it_was_asked() {
    let env = TestEnv::new();
    let id = env.asks("delete_file", DELETE, &[]);
    assert!(env.read("notes.md").is_some());
    // Another current folder makes no difference.
    std::fs::write(env.outside().join("notes.md"), "of somebody else\n").unwrap();
    let mut command = env.command(&["approve", "yes", &id]);
    command.current_dir(env.outside()).env("USER", "ann");
    let ended = end(command, b"").code(0);
    assert!(ended.stdout.contains("notes.md"), "{ended:?}");
    assert!(env.read("notes.md").is_none() && env.outside().join("notes.md").exists());
    env.write("notes.md", "again\n");
    for again in
        [&["approve", "yes", &id][..], &["approve", "no", &id], &["approve", "always", &id]]
    {
        env.run(again).code(5).says(&["was decided before", "approved (once) by ann"]);
    }
    let edit = ["approve", "edit", &id, "--args", r#"{"path": "x"}"#];
    env.run(&edit).code(5).says(&["was decided before"]);
    assert!(env.read("notes.md").is_some(), "it ran once");
}

/// Regression, found in review: in one of twenty races, the second `yes` attributed the call of the
/// first to itself, and reported that its outcome is unknown.
#[test]
fn of_two_yes_at_once_one_carries_the_call_out_and_the_other_names_the_first_decision() {
    let env = TestEnv::new();
    for round in 0..6 {
        env.write("notes.md", "here\n");
        let id = env.asks("delete_file", DELETE, &[]);
        let both = [0, 1].map(|_| {
            let mut command = env.command(&["approve", "yes", &id]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null());
            command.spawn().unwrap()
        });
        let mut ended = both.map(ends);
        ended.sort_by_key(|(code, _)| *code);
        let [(won, _), (lost, said)] = &ended;
        assert_eq!((*won, *lost), (0, 5), "round {round}: {ended:?}");
        assert!(said.contains("was decided before"), "{said}");
        assert!(!said.contains("carried out now") && env.read("notes.md").is_none(), "{said}");
    }
}

/// The approving process died while the tool ran.
#[test]
fn a_second_yes_after_the_approver_died_says_what_became_of_the_call() {
    let env = TestEnv::new();
    let tool = SlowTool::new(&env);
    let id = env.asks("slow", "{}", &["--tools", "mine", "--policy", "ask-all"]);
    let mut first = env.command(&["approve", "yes", &id]).stdin(Stdio::null()).spawn().unwrap();
    tool.started();
    first.kill().unwrap();
    first.wait().unwrap();
    let again = env.run(&["approve", "yes", &id]).code(5);
    again.says(&["was decided before", "unknown whether the call took effect"]);
    assert_eq!(tool.runs(), 1);
    // Its program may live on, so do not leave it waiting.
    drop(tool.go_on());
}

/// Regression, found in review: a call inside a script was denied because no approver could be
/// asked, and `run` ended with 0.
#[test]
fn a_run_whose_script_had_a_call_denied_without_an_approver_ends_with_5() {
    let env = TestEnv::new();
    let turns = r#"
  - calls: [{tool: tool_chain, args: {code: "try:\n    await delete_file(path='notes.md')\nexcept PermissionError as error:\n    print(error)\n1"}}]
  - {say: I could not.}
"#;
    let ended = env.play(turns, &["--on-ask", "deny"]);
    assert!(env.read("notes.md").is_some());
    assert_eq!(ended.code, 5, "{ended:?}");
}

#[test]
fn what_is_not_to_run_does_not_run() {
    for (args, words) in [(&["no"][..], "denied"), (&["skip"], "skipped")] {
        let env = TestEnv::new();
        let id = env.asks("delete_file", DELETE, &[]);
        env.run(&[&["approve", args[0], &id], &args[1..]].concat()).code(0).says(&[words]);
        assert!(env.read("notes.md").is_some());
        env.run(&["approve", "yes", &id]).code(5).says(&[words]);
        assert!(env.read("notes.md").is_some());
    }
}

/// If its folder no longer exists, a call cannot run, but it can be denied; and a call that cannot
/// run cannot be approved.
#[test]
fn without_its_folder_a_call_can_only_be_denied() {
    let env = TestEnv::new();
    env.write("sub/x", "x");
    let id = env.asks("delete_file", r#"{"path": "x"}"#, &["--root", "sub"]);
    std::fs::remove_dir_all(env.root().join("sub")).unwrap();
    env.run(&["approve", "yes", &id]).code(3).says(&["sub"]);
    assert_eq!(env.inbox(&[]).len(), 1, "nothing half-applied");
    env.run(&["approve", "no", &id]).code(0);
    assert_eq!(env.inbox(&[]).len(), 0);
}

#[test]
fn calls_of_a_response_wait_too() {
    let env = TestEnv::new();
    let asks = [
        ask("call_1", "delete_file", json!({"path": "notes.md"})),
        ask("call_2", "read_file", json!({"path": "notes.md"})),
    ];
    let body = body("openai-chat", &asks);
    let ended = env.feed(&["exec", "--on-ask", "fail"], body).code(6);
    let messages = support::json(&ended.stdout);
    assert_eq!(messages.as_array().unwrap().len(), 2, "each call has its message: {messages}");
    let id = env.inbox(&[])[0]["id"].as_str().unwrap().to_owned();
    ended.says(&[&format!("`toolcrib approve yes {id}`")]);
    // The run of a response is not stored, so it cannot be resumed.
    let call = env.inbox(&[])[0]["call"].as_str().unwrap().to_owned();
    let told = env.run(&["explain", &call]).code(0).stdout;
    assert!(told.contains("approve yes") && !told.contains("toolcrib resume"), "{told}");
    env.run(&["approve", "yes", &id, "--json"]).code(0);
    assert!(env.read("notes.md").is_none());
}

#[test]
fn a_run_goes_on_with_what_was_decided_meanwhile() {
    for (words, then, is_left) in [
        (&["yes"][..], "{tool: delete_file, outcome: succeeded}", false),
        (
            &["no", "--note", "I need it"],
            "{tool: delete_file, outcome: denied, contains: I need it}",
            true,
        ),
        (&["skip"], "{tool: delete_file, outcome: denied, contains: skipped}", true),
        (
            &["edit", "--args", r#"{"path": "other.md"}"#],
            "{tool: delete_file, outcome: succeeded}",
            true,
        ),
    ] {
        let env = TestEnv::new();
        env.write("other.md", "x");
        let turns = format!(
            "\n  - calls: [{{tool: delete_file, args: {{path: notes.md}}}}]\n  - expect: {{results: [{then}]}}\n    say: Done.\n"
        );
        let (run, id) = env.aside(&turns);
        let said = env.run(&[&["approve", words[0], &id], &words[1..]].concat()).code(0);
        said.says(&[&format!("`toolcrib resume {run}`")]);
        assert_eq!((env.read("notes.md").is_some(), env.inbox(&[]).len()), (true, 0));
        // The decision remains in force with any options of the resume.
        assert_eq!(env.run(&["resume", &run, "--approve"]).stdout, "Done.\n", "{words:?}");
        assert_eq!(env.read("notes.md").is_some(), is_left, "{words:?}");
        assert_eq!(env.read("other.md").is_none(), words[0] == "edit");
    }
}

#[test]
fn a_run_can_go_on_at_once() {
    let env = TestEnv::new();
    let (_, id) = env.aside(DELETES);
    let ended = env.run(&["approve", "yes", &id, "--resume"]).code(0);
    assert_eq!(ended.stdout, "Gone.\n");
    assert!(env.read("notes.md").is_none());
    env.run(&["approve", "yes", &id]).code(5).says(&["was decided before"]);
}

/// K7, K8: three restarts while the call waits, and the decision in between: the call runs once,
/// with the approved arguments.
#[test]
fn restarts_change_nothing() {
    let env = TestEnv::new();
    let turns = r#"
  - calls: [{tool: write_file, args: {path: log, content: x, mode: append}}]
  - {say: Written.}
"#;
    let model = env.script("script", turns);
    let start = ["run", "--model", &model, "--policy", "ask-all", "--on-ask", "fail", "Do it"];
    env.run(&start).code(6);
    let row = env.inbox(&[])[0].clone();
    let (run, id) = (row["run"].as_str().unwrap(), row["id"].as_str().unwrap());
    for _ in 0..3 {
        env.run(&["resume", run]).code(6).says(&["write_file needs approval"]);
        assert_eq!(env.inbox(&[]), std::slice::from_ref(&row), "the same question");
    }
    env.run(&["approve", "yes", id]).code(0);
    assert_eq!(env.run(&["resume", run]).code(0).stdout, "Written.\n");
    assert_eq!(env.read("log").as_deref(), Some("x"));
    env.run(&["resume", run]).code(2);
    env.run(&["approve", "yes", id]).code(5);
    assert_eq!(env.read("log").as_deref(), Some("x"));
}

#[test]
fn a_question_of_the_model_is_answered_from_the_inbox() {
    for words in [&["--option", "2"][..], &["new"]] {
        let env = TestEnv::new();
        let (run, id) = env.aside(QUESTION);
        let shown = env.run(&["approve", "show", &id]).code(0).stdout;
        assert!(shown.contains("Two fit.\n  1) old\n  2) new\n"), "{shown}");
        env.run(&["approve", "yes", &id]).code(2).says(&["is a question of the model"]);
        env.run(&["approve", "edit", &id, "--args", "{}"]).code(2);
        env.run(&["approve", "always", &id]).code(2);
        env.run(&["approve", "answer", &id, "--option", "3"]).code(2).says(&["no option 3"]);
        env.run(&["approve", "answer", &id, " "]).code(2).says(&["the answer is empty"]);
        env.run(&[&["approve", "answer", &id], words].concat()).code(0).says(&["toolcrib resume"]);
        env.run(&["approve", "answer", &id, "old"])
            .code(5)
            .says(&["answered by command line: new"]);
        assert_eq!(env.run(&["resume", &run]).code(0).stdout, "Thanks.\n");
    }
    let env = TestEnv::new();
    let call = env.asks("delete_file", DELETE, &[]);
    env.run(&["approve", "answer", &call, "yes"])
        .code(2)
        .says(&["asks whether delete_file may run"]);
    assert_eq!(env.inbox(&[]).len(), 1);
}

#[test]
fn arguments_are_checked_before_they_are_decided() {
    let env = TestEnv::new();
    let id = env.asks("delete_file", DELETE, &[]);
    let edit = |args: &str| env.run(&["approve", "edit", &id, "--args", args]);
    edit("{\"path\": ").code(2).says(&["not valid JSON"]);
    edit("[1]").code(2).says(&["not a JSON object"]);
    edit(DELETE).code(2).says(&["unchanged"]);
    edit(r#"{"path": ["a"], "x": {}}"#).code(2).says(&["would refuse these arguments"]);
    env.run(&["approve", "edit", &id]).code(2).says(&["set EDITOR"]);
    assert_eq!(env.inbox(&[]).len(), 1, "nothing was decided");
    env.write("other.md", "x");
    env.feed(&["approve", "edit", &id, "--args", "-"], r#"{"path": "other.md"}"#).code(0);
    assert_eq!((env.read("other.md"), env.read("notes.md").is_some()), (None, true));
}

#[test]
fn arguments_are_edited_in_the_persons_editor() {
    let env = TestEnv::new();
    env.write("other.md", "x");
    env.write("editor", "#!/bin/sh\nsed -i s/notes.md/other.md/ \"$1\"\n");
    let editor = env.root().join("editor");
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let id = env.asks("delete_file", DELETE, &[]);
    let edit = |editor: &str| {
        let mut command = env.command(&["approve", "edit", &id]);
        command.env("EDITOR", editor).env("PATH", "/usr/bin:/bin");
        end(command, b"")
    };
    edit("false").code(1).says(&["the editor failed"]);
    edit("true").code(2).says(&["unchanged"]);
    edit(editor.to_str().unwrap()).code(0);
    assert_eq!((env.read("other.md"), env.read("notes.md").is_some()), (None, true));
}

#[test]
fn what_is_always_allowed_is_said_before_and_can_be_taken_back() {
    let env = TestEnv::new();
    for name in ["build/a", "build/b", "build/c", "src/d"] {
        env.write(name, "x");
    }
    let delete = |path: &str| format!("{{\"path\": \"{path}\"}}");
    for path in ["build/a", "src/d"] {
        let id = env.asks("delete_file", &delete(path), &[]);
        env.run(&["approve", "yes", &id]).code(0);
    }
    let id = env.asks("delete_file", &delete("build/b"), &[]);
    let always = |more: &[&str]| env.run(&[&["approve", "always", &id], more].concat());
    let dry = always(&["--only", "path=build/*", "--dry-run"]).code(0).stdout;
    assert!(dry.contains("every call of delete_file with path like build/*, at risk high or below, with this definition"), "{dry}");
    assert!(dry.contains("for reasons risk, until it is revoked"), "{dry}");
    assert!(
        dry.contains("1 past call would have matched:") && dry.contains("path=build/a"),
        "{dry}"
    );
    let row = support::json(&always(&["--dry-run", "--json"]).code(0).stdout);
    assert_eq!(row["past_calls"]["count"], 2);
    // None of this makes a decision.
    always(&["--only", "path=src/*"]).code(2).says(&["does not look like that"]);
    always(&["--only", "path"]).code(2);
    always(&["--scope", "run"]).code(2).says(&["belongs to no run"]);
    always(&["--scope", "conversation"]).code(2);
    assert_eq!((env.inbox(&[]).len(), env.read("build/b").is_some()), (1, true));
    always(&["--only", "path=build/*"])
        .code(0)
        .says(&["this will match every call of delete_file"]);
    assert!(env.read("build/b").is_none());

    let call = |path: &str| env.run(&["tool", "call", "delete_file", "--args", &delete(path)]);
    call("build/c").code(0);
    call("notes.md").code(5);
    let list = env.run(&["grant", "list"]).code(0).stdout;
    assert!(list.contains("path like build/*") && list.contains("given by command line"), "{list}");
    assert!(list.contains("; 3 past calls"), "{list}");
    let rows = support::json(&env.run(&["grant", "list", "--json"]).code(0).stdout);
    let grant = rows[0]["grant"]["id"].as_str().unwrap();
    let shown = env.run(&["grant", "show", &grant[..20]]).code(0).stdout;
    assert!(shown.contains(grant) && shown.contains("3 past calls would have matched:"), "{shown}");
    env.run(&["grant", "revoke", &grant.replace('0', "f")]).code(4).says(&["The nearest", grant]);
    env.run(&["grant", "revoke", grant]).code(0);
    env.run(&["grant", "revoke", grant]).code(4);
    env.write("build/e", "x");
    call("build/e").code(5);
}

/// A grant of a run applies only in this run.
#[test]
fn for_a_run_only() {
    let env = TestEnv::new();
    env.write("other.md", "x");
    let turns = r#"
  - calls: [{tool: delete_file, args: {path: notes.md}}]
  - calls: [{tool: delete_file, args: {path: other.md}}]
  - expect: {results: [{tool: delete_file, outcome: succeeded}]}
    say: Gone.
"#;
    let (run, id) = env.aside(turns);
    env.run(&["approve", "always", &id, "--scope", "run"]).code(0).says(&["for the rest of run_"]);
    assert_eq!(env.run(&["resume", &run]).code(0).stdout, "Gone.\n");
    assert_eq!((env.read("notes.md"), env.read("other.md")), (None, None));
    env.write("notes.md", "x");
    env.run(&["tool", "call", "delete_file", "--args", DELETE]).code(5);
    // A revoked grant is not restored when its call resumes.
    let grants = support::json(&env.run(&["grant", "list", "--json"]).code(0).stdout);
    assert_eq!(grants.as_array().unwrap().len(), 1);
}

#[test]
fn ids_that_mean_nothing_are_answered_with_the_nearest() {
    let env = TestEnv::new();
    let ids: Vec<String> = (0..2).map(|_| env.asks("delete_file", DELETE, &[])).collect();
    env.run(&["approve", "yes", "appr_"]).code(2).says(&["beginning of 2 ids", &ids[0], &ids[1]]);
    let wrong = format!("{}zz", &ids[0][..ids[0].len() - 2]);
    env.run(&["approve", "yes", &wrong]).code(4).says(&["The nearest", &ids[0]]);
    env.run(&["approve", "show", "appr_00000000000000000000000000000000"])
        .code(4)
        .says(&["The nearest"]);
    env.run(&["approve", "yes", "nonsense\u{1b}[2J"]).code(4).says(&["\\u{1b}"]);
    assert!(env.read("notes.md").is_some());
}

#[test]
fn a_damaged_database_decides_nothing() {
    let env = TestEnv::new();
    let id = env.asks("delete_file", DELETE, &[]);
    let database = env.outside().join("home/state/toolcrib.db");
    for suffix in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", database.display()));
    }
    std::fs::write(&database, "this is not a database, whatever its name says".repeat(200))
        .unwrap();
    for words in [&["approve", "list"][..], &["approve", "yes", &id], &["grant", "list"]] {
        let ended = env.run(words).code(3);
        assert_eq!(ended.stdout, "");
        ended.says(&["toolcrib.db"]);
    }
    assert!(env.read("notes.md").is_some());
}

#[test]
fn two_processes_that_decide_at_once_decide_once() {
    let env = TestEnv::new();
    for round in 0..3 {
        let path = format!("log-{round}");
        let args = json!({"path": path, "content": "x", "mode": "append"}).to_string();
        let id = env.asks("write_file", &args, &["--policy", "ask-all"]);
        let children: Vec<Child> =
            (0..3).map(|_| env.command(&["approve", "yes", &id]).spawn().unwrap()).collect();
        let mut codes: Vec<i32> = children.into_iter().map(|child| ends(child).0).collect();
        codes.sort_unstable();
        assert_eq!(env.read(&path).as_deref(), Some("x"), "it ran once: {codes:?}");
        assert_eq!(codes[0], 0, "{codes:?}");
    }
}

#[test]
fn a_live_call_goes_on_where_it_waits() {
    let env = TestEnv::new();
    let args = ["tool", "call", "delete_file", "--args", DELETE, "--on-ask", "wait:100s"];
    let waiting = env.command(&args).spawn().unwrap();
    let row = env.until_asked(1);
    let id = row["id"].as_str().unwrap();
    assert!(row["expires_at"].is_i64());
    let said = env.run(&["approve", "yes", id]).code(0).says(&["continues it"]);
    assert_eq!(said.stdout, "", "its result is printed there");
    let (code, text) = ends(waiting);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("notes.md") && env.read("notes.md").is_none(), "{text}");
}

#[test]
fn a_live_run_takes_decisions_and_answers_up() {
    let env = TestEnv::new();
    let turns = r#"
  - calls:
      - {tool: delete_file, args: {path: notes.md}}
      - {tool: ask_user, args: {question: Which list?, options: [old, new]}}
  - expect: {results: [{tool: delete_file, outcome: succeeded}, {tool: ask_user, contains: answered}]}
    say: Done.
"#;
    let model = env.script("script", turns);
    let args = ["run", "--json", "--model", &model, "--on-ask", "wait:100s", "Do it"];
    let waiting = env.command(&args).spawn().unwrap();
    let id = env.until_asked(1)["id"].as_str().unwrap().to_owned();
    env.run(&["approve", "yes", &id]).code(0).says(&["continues it"]);
    let question = env.until_asked(1);
    assert_eq!(question["kind"], "question");
    env.run(&["approve", "answer", question["id"].as_str().unwrap(), "new"]).code(0);
    let (code, text) = ends(waiting);
    assert_eq!(code, 0, "{text}");
    let events = support::lines(&text);
    assert_eq!(of_type(&events, "question")[0]["approval"], question["id"]);
    assert_eq!(of_type(&events, "question-answered")[0]["said"]["text"], "new");
    assert_eq!(events.last().unwrap()["text"], "Done.");
}

/// Another process runs the call of a process that died while it waited.
#[test]
fn a_call_whose_process_died_is_carried_out_here() {
    let env = TestEnv::new();
    let args = ["tool", "call", "delete_file", "--args", DELETE, "--on-ask", "wait:100s"];
    let mut waiting = env.command(&args).spawn().unwrap();
    let id = env.until_asked(1)["id"].as_str().unwrap().to_owned();
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    env.run(&["approve", "yes", &id]).code(0);
    assert!(env.read("notes.md").is_none());
}

/// K8: the call was approved, and the process that was to continue it died first: a repeated
/// approval runs the call once.
#[test]
fn an_approved_call_whose_process_died_before_it_ran_runs_once() {
    let env = TestEnv::new();
    let args = json!({"path": "log", "content": "x", "mode": "append"}).to_string();
    let call = ["tool", "call", "write_file", "--args", &args, "--policy", "ask-all"];
    let mut waiting =
        env.command(&[&call[..], &["--on-ask", "wait:100s"]].concat()).spawn().unwrap();
    let id = env.until_asked(1)["id"].as_str().unwrap().to_owned();
    // A stopped process is alive, but continues nothing.
    let pid = waiting.id().to_string();
    let stopped = std::process::Command::new("kill").args(["-STOP", &pid]).status().unwrap();
    assert!(stopped.success());
    let call = env.inbox(&[])[0]["call"].as_str().unwrap().to_owned();
    env.run(&["approve", "yes", &id]).code(0).says(&["continues it"]);
    let told = env.run(&["explain", &call]).code(0).stdout;
    assert!(told.contains(&format!("process {pid}")) && told.contains("continues it"), "{told}");
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    assert_eq!(env.read("log"), None);
    let told = env.run(&["explain", &call]).code(0).stdout;
    assert!(told.contains(&format!("`toolcrib approve yes {id}` runs it")), "{told}");
    env.run(&["approve", "no", &id]).code(5).says(&["was decided before"]);
    env.run(&["approve", "yes", &id]).code(0).says(&["it is carried out now"]);
    env.run(&["approve", "yes", &id]).code(5);
    assert_eq!(env.read("log").as_deref(), Some("x"));
}

#[test]
fn after_its_deadline_a_decision_comes_too_late() {
    let env = TestEnv::new();
    let args = ["tool", "call", "delete_file", "--args", DELETE, "--on-ask", "wait:3s"];
    let mut waiting = env.command(&args).spawn().unwrap();
    let id = env.until_asked(1)["id"].as_str().unwrap().to_owned();
    // A stopped process does not expire the question itself.
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    env.until(|rows| rows[0]["expired"] == true);
    let list = env.run(&["approve", "list"]).code(0).stdout;
    assert!(list.contains("expired"), "{list}");
    env.run(&["approve", "yes", &id]).code(6).says(&["was not decided in time"]);
    env.run(&["approve", "yes", &id]).code(5).says(&["not decided in time"]);
    assert!(env.read("notes.md").is_some());
}

#[test]
fn a_tool_that_changed_since_is_not_run() {
    let env = TestEnv::new();
    env.run(&["tool", "new", "greet"]).code(0);
    let id = env.asks("greet", r#"{"who": "Ada"}"#, &["--policy", "ask-all"]);
    let file = env.outside().join("home/tools/greet/tool.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("description = \"", "description = \"Now. ", 1)).unwrap();
    for _ in 0..2 {
        env.run(&["approve", "yes", &id]).code(3).says(&["has another definition"]);
    }
    env.run(&["approve", "no", &id]).code(0);
}

#[test]
fn single_calls_are_denied_or_wait_as_they_are_told_to() {
    let env = TestEnv::new();
    let call = |more: &[&str]| {
        env.run(&[&["tool", "call", "delete_file", "--args", DELETE], more].concat())
    };
    call(&[]).code(5);
    call(&["--on-ask", "deny"]).code(5);
    call(&["--on-ask", "perhaps"]).code(2);
    call(&["--on-ask", "wait:50ms"]).code(6).says(&["No person answered in time"]);
    assert_eq!(env.inbox(&[]), Vec::<Value>::new());
    let ended =
        env.run(&["tool", "call", "delete_file", "--args", DELETE, "--on-ask", "fail", "--json"]);
    let reply = support::json(&ended.code(6).stdout);
    assert_eq!(
        (&reply["outcome"], &reply["approval"]["id"], &reply["result"]),
        (&json!("suspended"), &env.inbox(&[])[0]["id"], &Value::Null)
    );
    env.run(&["approve", "skip", reply["approval"]["id"].as_str().unwrap()]).code(0);
    let line = json!({"id": 1, "tool": "delete_file", "args": {"path": "notes.md"}});
    let args = ["tool", "call", "--lines", "--on-ask", "fail"];
    let reply = support::json(&env.feed(&args, format!("{line}\n")).code(0).stdout);
    assert_eq!(reply["outcome"], "suspended");
    assert_eq!(reply["approval"]["id"], env.inbox(&[])[0]["id"]);
    assert!(env.read("notes.md").is_some());
}

/// A rule that is added in another terminal applies from the next step of an active run, even to
/// tools that the run was offered before; a broken file is not applied, and the run reports it.
#[test]
fn a_rule_that_is_added_while_a_run_waits_holds_at_its_next_step() {
    let env = TestEnv::new();
    env.write("other.md", "x");
    let turns = r#"
  - calls: [{tool: delete_file, args: {path: other.md}}]
  - calls: [{tool: read_file, args: {path: notes.md}}]
  - calls: [{tool: delete_file, args: {path: notes.md}}]
  - say: Done.
"#;
    let model = env.script("script", turns);
    let args = ["run", "--json", "--model", &model, "--on-ask", "wait:100s", "Do it"];
    let waiting = env.command(&args).spawn().unwrap();
    let id = env.until_asked(1)["id"].as_str().unwrap().to_owned();
    env.run(&["rules", "add", "deny", "Read(./notes.md)"]).code(0);
    env.run(&["approve", "yes", &id]).code(0);
    let second = env.until_asked(1)["id"].as_str().unwrap().to_owned();
    env.own("rules.toml", "[[rules]\n");
    env.run(&["approve", "no", &second]);
    let (code, text) = ends(waiting);
    assert_eq!(code, 0, "{text}");
    let rows = support::json(&env.run(&["history", "--json"]).stdout);
    let status = |tool: &str| {
        let row = rows.as_array().unwrap().iter().rfind(|row| row["tool"] == tool);
        row.unwrap()["status"].clone()
    };
    assert_eq!((status("read_file"), status("delete_file")), (json!("denied"), json!("succeeded")));
    let events = support::lines(&text);
    let notices = of_type(&events, "notice");
    let says = |part: &str| notices.iter().any(|n| n["text"].as_str().unwrap().contains(part));
    assert!(says("rules and settings were read again"), "{notices:?}");
    assert!(says("all is as before"), "{notices:?}");
}

/// Approvals within seconds are counted, and reported from the third one on, as a habit.
#[test]
fn approvals_that_are_waved_through_are_counted() {
    let env = TestEnv::new();
    let approve = |n: u32| {
        let path = format!("f{n}");
        env.write(&path, "x");
        let args = ["tool", "call", "delete_file", &format!("path={path}"), "--on-ask", "fail"];
        env.run(&args).code(6);
        let id = env.inbox(&[])[0]["id"].as_str().unwrap().to_owned();
        env.run(&["approve", "yes", &id]).code(0);
    };
    (0..2).for_each(approve);
    let ended = env.run(&["approve", "list"]).code(0);
    assert!(!ended.stderr.contains("within 3 s"), "{}", ended.stderr);
    approve(2);
    let says = "3 of 3 approvals of delete_file in the last 30 days came within 3 s";
    env.run(&["approve", "list"]).code(0).says(&[says, "toolcrib approve always"]);
    env.run(&["approve", "list", "--all"]).code(0).says(&[says]);
}
