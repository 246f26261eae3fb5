//! `--idempotency-key`: repeated calls run once, even from two processes, and after one of them was
//! killed.

use serde_json::{Value, json};

use crate::support::{self, SlowTool, TestEnv, ask, body, end};

const WRITE: &str = r#"{"path": "a.txt", "content": "x", "mode": "append"}"#;

#[test]
fn the_same_call_again_gets_the_same_answer() {
    let env = TestEnv::new();
    let args = ["tool", "call", "write_file", "--args", WRITE, "--idempotency-key", "order 7"];
    for more in [&[][..], &["--json"]] {
        let args = [&args[..], more].concat();
        let (one, other) = (env.run(&args).code(0), env.run(&args).code(0));
        assert_eq!((&one.stdout, &one.stderr), (&other.stdout, &other.stderr), "{more:?}");
    }
    assert_eq!(env.read("a.txt").as_deref(), Some("x"), "appended once");
    let rows = support::json(&env.run(&["history", "--json"]).code(0).stdout);
    assert_eq!(rows.as_array().map(Vec::len), Some(1));
    // A failure is a result, too.
    let args = [
        "tool",
        "call",
        "read_file",
        "--args",
        "{\"path\": \"later.txt\"}",
        "--idempotency-key",
        "k",
        "--json",
    ];
    let first = env.run(&args).code(1).stdout;
    env.write("later.txt", "now it is there");
    assert_eq!(env.run(&args).code(1).stdout, first);
}

#[test]
fn other_calls_under_the_same_key_are_refused() {
    let env = TestEnv::new();
    let call = |tool: &str, args: &str, key: &str| {
        env.run(&["tool", "call", tool, "--args", args, "--idempotency-key", key])
    };
    call("write_file", WRITE, "k").code(0);
    for (tool, args) in
        [("write_file", r#"{"path": "b.txt", "content": "x"}"#), ("read_file", WRITE)]
    {
        let ended = call(tool, args, "k").code(2).says(&["\"k\" was used before for other calls"]);
        assert_eq!(ended.stdout, "");
    }
    assert_eq!(env.read("b.txt"), None);
    // Arguments with another notation are the same.
    call("write_file", r#"{"mode":"append","content":"x","path":"a.txt"}"#, "k").code(0);
    assert_eq!(env.read("a.txt").as_deref(), Some("x"));
    for key in ["", " ", &"k".repeat(201)] {
        call("write_file", WRITE, key).code(2).says(&["1 to 200 characters"]);
    }
    let json = env
        .run(&["tool", "call", "read_file", "--args", "{}", "--idempotency-key", "k", "--json"])
        .code(2);
    assert_eq!(support::json(&json.stderr)["exit_code"], 2);
    let refused = support::json(&json.stdout);
    assert_eq!(
        (&refused["outcome"], &refused["error_type"]),
        (&Value::from("failed"), &Value::from("validation_error"))
    );
    env.run(&["tool", "call", "--lines", "--idempotency-key", "k"]).code(2);
}

#[test]
fn a_filter_takes_a_key_in_each_line() {
    let env = TestEnv::new();
    let args: Value = serde_json::from_str(WRITE).unwrap();
    let line = |id: u64, content: &str| {
        let mut args = args.clone();
        args["content"] = json!(content);
        json!({"id": id, "tool": "write_file", "args": args, "key": "k"})
    };
    let ended = env.feed(
        &["tool", "call", "--lines"],
        support::feed(&[line(1, "x"), line(2, "x"), line(3, "y")]),
    );
    let replies = support::lines(&ended.code(2).stdout);
    assert_eq!(replies[0]["result"], replies[1]["result"]);
    assert!(
        replies[2]["error"].as_str().unwrap().contains("used before for other calls"),
        "{}",
        replies[2]
    );
    assert_eq!(env.read("a.txt").as_deref(), Some("x"));
}

#[test]
fn exec_under_a_key() {
    let env = TestEnv::new();
    let answer = |content: &str| {
        let write = json!({"path": "a.txt", "content": content, "mode": "append"});
        body(
            "anthropic",
            &[
                ask("id_1", "write_file", write),
                ask("id_2", "read_file", json!({"path": "notes.md"})),
            ],
        )
    };
    let args = ["exec", "--json", "--idempotency-key", "turn 1"];
    let first = env.feed(&args, answer("x")).code(0);
    env.write("notes.md", "changed since");
    let again = env.feed(&args, answer("x")).code(0);
    assert_eq!(first.stdout, again.stdout, "byte for byte, although the file has changed");
    assert_eq!(env.read("a.txt").as_deref(), Some("x"));
    env.feed(&args, answer("y")).code(2).says(&["used before for other calls"]);
    // Without a key, it is a new call.
    env.feed(&["exec", "--json"], answer("x")).code(0);
    assert_eq!(env.read("a.txt").as_deref(), Some("xx"));
}

/// The second process waits for the first one, and both print the same.
#[test]
fn two_processes_race_with_one_key() {
    let env = TestEnv::new();
    let tool = SlowTool::new(&env);
    let args = ["tool", "call", "slow", "--tools", "mine", "--idempotency-key", "k", "--json"];
    let run = || {
        let command = env.command(&args);
        std::thread::spawn(move || end(command, b""))
    };
    let (one, other) = (run(), run());
    tool.started();
    let _gate = tool.go_on();
    let (one, other) = (one.join().unwrap().code(0), other.join().unwrap().code(0));
    assert_eq!(one.stdout, other.stdout);
    assert!(one.stdout.contains("finished"), "{}", one.stdout);
    assert_eq!(tool.runs(), 1);
}

#[test]
fn many_processes_race_with_one_key() {
    let env = TestEnv::new();
    let args = ["tool", "call", "write_file", "--args", WRITE, "--idempotency-key", "k", "--json"];
    let threads: Vec<_> = (0..6)
        .map(|_| {
            let command = env.command(&args);
            std::thread::spawn(move || end(command, b""))
        })
        .collect();
    let ended: Vec<String> =
        threads.into_iter().map(|thread| thread.join().unwrap().code(0).stdout).collect();
    assert!(ended.iter().all(|stdout| *stdout == ended[0]), "{ended:?}");
    assert_eq!(env.read("a.txt").as_deref(), Some("x"), "appended once");
}

/// The first process is killed while its call runs: the next process that sends the same takes
/// over, and does not run it again.
#[test]
fn after_a_kill_the_next_one_takes_over() {
    let env = TestEnv::new();
    let tool = SlowTool::new(&env);
    let args = ["tool", "call", "slow", "--tools", "mine", "--idempotency-key", "k", "--json"];
    let mut first = env.command(&args).spawn().unwrap();
    tool.started();
    first.kill().unwrap();
    first.wait().unwrap();
    let _orphan = tool.go_on();
    let second = env.run(&args).code(125);
    assert_eq!(support::json(&second.stdout)["error_type"], "unknown_outcome");
    assert_eq!(env.run(&args).code(125).stdout, second.stdout);
    assert_eq!(tool.runs(), 1);
}

#[test]
fn the_old_name_of_the_option_works_and_warns() {
    let env = TestEnv::new();
    let call = env.run(&["tool", "call", "get_current_time", "--key", "k", "--json"]).code(0);
    assert!(call.stderr.contains("--key is now called --idempotency-key"), "{}", call.stderr);
}
