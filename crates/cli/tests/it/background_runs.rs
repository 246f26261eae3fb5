//! Runs that no person watches, in a running daemon: goals that are steered, cancelled and survive
//! a kill, and what a task or goal wanted that needs a person.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{self, DaemonProcess, SlowTool, TestEnv};

/// The document once it is as it should be.
#[track_caller]
fn eventually(look: impl Fn() -> Value, is_so: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let found = look();
        if is_so(&found) {
            return found;
        }
        assert!(Instant::now() < until, "it never came: {found:#}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

impl TestEnv {
    /// The JSON of a command that succeeds.
    #[track_caller]
    fn shown(&self, args: &[&str]) -> Value {
        support::json(&self.run(&[args, &["--json"]].concat()).code(0).stdout)
    }

    #[track_caller]
    fn new_goal(&self, text: &str) -> String {
        self.shown(&["goal", "add", text])["goal"].as_str().unwrap().to_owned()
    }

    /// The goal once its run has started.
    #[track_caller]
    fn running_goal(&self, goal: &str) -> Value {
        eventually(|| self.shown(&["goal", "show", goal]), |row| row["run"].is_string())
    }

    #[track_caller]
    fn ended_goal(&self, goal: &str) -> Value {
        let is_over = |row: &Value| row["status"] != "pending" && row["status"] != "running";
        eventually(|| self.shown(&["goal", "show", goal]), is_over)
    }

    /// A task that is due now; its id.
    #[track_caller]
    fn due_task(&self, description: &str) -> String {
        let now = jiff::Timestamp::now().to_string();
        let add = ["task", "add", description, "Do it.", "--at", &now];
        self.shown(&add)["task"].as_str().unwrap().to_owned()
    }

    /// The task once it has run `times` times.
    #[track_caller]
    fn ran_task(&self, task: &str, times: usize) -> Value {
        let ran = |row: &Value| row["history"].as_array().is_some_and(|all| all.len() >= times);
        eventually(|| self.shown(&["task", "show", task]), ran)
    }
}

#[test]
fn a_goal_is_followed_and_steered() {
    let env = TestEnv::new();
    let slow = SlowTool::new(&env);
    let turns = "  - say: I look.\n    calls: [{tool: slow, args: {}}]\n  - expect: {last_user_contains: and the price}\n    say: Oats, at 2.40.\n";
    let model = env.script("script", turns);
    let serve = ["--model", &model, "--tools", "mine", "--policy", "auto"];
    let daemon = DaemonProcess::start(&env, &serve);
    let goal = env.new_goal("Which grain?");
    slow.started();
    let run = env.running_goal(&goal)["run"].as_str().unwrap().to_owned();
    // Its progress while it works, and its events to the end.
    let (_, progress) = daemon.rest(&env, &format!("GET runs/{run}"), &Value::Null);
    let items = progress["items"].as_array().unwrap();
    let calls = items.iter().filter(|item| item["item"] == "call" && item["tool"] == "slow");
    assert_eq!((&progress["state"], calls.count()), (&json!("running"), 1), "{progress}");
    let steer = format!("POST runs/{run}/steer");
    let (status, answer) = daemon.rest(&env, &steer, &json!({"text": "and the price"}));
    assert_eq!(status, 202, "{answer}");
    let pipe = slow.go_on();
    let events = daemon.events(&env, &format!("runs/{run}/events"));
    for part in ["event: snapshot", "and the price", "Oats, at 2.40."] {
        assert!(events.contains(part), "{part}: {events}");
    }
    let ends = ["event: run-end", "\"state\":\"ended\""];
    assert!(ends.iter().any(|end| events.contains(end)), "{events}");
    drop(pipe);
    let done = env.ended_goal(&goal);
    assert_eq!((&done["status"], &done["result"]), (&json!("done"), &json!("Oats, at 2.40.")));
    let (status, _) = daemon.rest(&env, &steer, &json!({"text": "more"}));
    assert_eq!(status, 409, "a run that has ended is not steered");
    daemon.stop(&env).0.code(0);
}

#[test]
fn a_goal_that_is_cancelled_stops_its_run_and_notifies_no_person() {
    let env = TestEnv::new();
    let slow = SlowTool::new(&env);
    let model = env.script("script", "  - calls: [{tool: slow, args: {}}]\n  - say: Never.\n");
    let serve = ["--model", &model, "--tools", "mine", "--policy", "auto"];
    let daemon = DaemonProcess::start(&env, &serve);
    let goal = env.new_goal("Which grain?");
    slow.started();
    let run = env.running_goal(&goal)["run"].as_str().unwrap().to_owned();
    env.run(&["goal", "cancel", &goal]).code(0);
    let show = || daemon.rest(&env, &format!("GET runs/{run}"), &Value::Null).1;
    let ended = eventually(show, |run| run["state"] == "ended");
    assert_eq!(ended["status"], "stopped", "{ended}");
    let row = eventually(|| env.shown(&["goal", "show", &goal]), |row| row["result"].is_string());
    assert_eq!(row["status"], "cancelled");
    assert_eq!(env.shown(&["notification", "list", "--all"]), json!([]));
    daemon.stop(&env).0.code(0);
}

/// The next daemon goes on with the run, and the person hears of its result once.
#[test]
fn a_goal_goes_on_after_a_kill_and_its_result_arrives_once() {
    let env = TestEnv::new();
    let turns = "  - calls: [{tool: read_file, args: {path: notes.md}}]\n  - delay_ms: 4000\n    expect: {results: [{tool: read_file, outcome: succeeded, contains: oats}]}\n    say: Oats.\n";
    let model = env.script("script", turns);
    let daemon = DaemonProcess::start(&env, &["--model", &model]);
    let goal = env.new_goal("Which grain?");
    let first = env.running_goal(&goal);
    eventually(|| env.shown(&["history"]), |calls| calls[0]["status"] == "succeeded");
    daemon.kill();
    let left = env.shown(&["goal", "show", &goal]);
    assert_eq!((&left["status"], &left["run"]), (&json!("running"), &first["run"]));
    let daemon = DaemonProcess::start(&env, &["--model", &model]);
    let done = env.ended_goal(&goal);
    assert_eq!((&done["status"], &done["result"]), (&json!("done"), &json!("Oats.")), "{done}");
    assert_eq!(done["run"], first["run"], "a goal has one run");
    assert_eq!(env.shown(&["history"]).as_array().unwrap().len(), 1, "a call is made once");
    // Killed once more after the end, nothing is told again.
    daemon.kill();
    let daemon = DaemonProcess::start(&env, &["--model", &model]);
    let other = env.new_goal("And now?");
    env.ended_goal(&other);
    let sent = env.shown(&["notification", "list", "--all"]);
    let of = |goal: &str| -> Vec<Value> {
        let all = sent.as_array().unwrap().iter();
        all.filter(|one| one["tag"] == goal).map(|one| one["message"].clone()).collect()
    };
    assert_eq!((of(&goal), of(&other).len()), (vec![json!("Oats.")], 1), "{sent}");
    daemon.stop(&env).0.code(0);
}

/// A model that deletes a file, which needs a person, and is denied while no person watches.
const DELETES: &str = "  - calls: [{tool: delete_file, args: {path: notes.md}}]\n  - expect: {results: [{tool: delete_file, outcome: denied, contains: The question is in the inbox}]}\n    say: It waits for you.\n";

#[test]
fn what_a_task_wanted_is_carried_out_from_the_inbox() {
    let env = TestEnv::new();
    let model = env.script("script", DELETES);
    let daemon = DaemonProcess::start(&env, &["--model", &model]);
    let task = env.due_task("Tidy");
    let ran = env.ran_task(&task, 1);
    assert_eq!(ran["history"][0]["result"], "It waits for you.", "{ran}");
    let sent = env.shown(&["notification", "list"]);
    assert_eq!(sent[0]["title"], "Waits for you: Tidy", "{sent}");
    // A task that runs again asks once.
    env.run(&["task", "run", &task]).code(0);
    env.ran_task(&task, 2);
    let (status, inbox) = daemon.rest(&env, "GET approvals", &Value::Null);
    assert_eq!((status, inbox["items"].as_array().unwrap().len()), (200, 1), "{inbox}");
    let question = &inbox["items"][0];
    assert_eq!(
        (&question["tool"], &question["channel"], &question["args"]),
        (&json!("delete_file"), &json!("background"), &json!({"path": "notes.md"}))
    );
    assert_eq!(question["conversation"], ran["conversation"]);
    env.run(&["approve", "list"]).code(0).prints(&["delete_file", "notes.md"]);
    // From the terminal.
    let id = question["approval"].as_str().unwrap();
    assert!(env.read("notes.md").is_some());
    env.run(&["approve", "yes", id]).code(0);
    assert_eq!(env.read("notes.md"), None);
    env.run(&["approve", "yes", id]).code(5).says(&["was decided before"]);
    // Over REST, as from the page, for a task that asks for it again.
    env.write("notes.md", "again");
    let task = env.due_task("Tidy again");
    env.ran_task(&task, 1);
    let (_, inbox) = daemon.rest(&env, "GET approvals", &Value::Null);
    let question = &inbox["items"][0];
    let path = format!("POST approvals/{}", question["approval"].as_str().unwrap());
    let yes = json!({"decision": "approve", "nonce": question["nonce"]});
    let (status, decided) = daemon.rest(&env, &path, &yes);
    assert_eq!((status, &decided["goes_on"]), (200, &json!("call")), "{decided}");
    let call = format!("GET calls/{}", decided["call"].as_str().unwrap());
    eventually(|| daemon.rest(&env, &call, &Value::Null).1, |call| call["status"] == "succeeded");
    assert_eq!(env.read("notes.md"), None);
    daemon.stop(&env).0.code(0);
}

/// What was left in the inbox outlives the daemon, and "no" runs nothing.
#[test]
fn what_a_goal_wanted_is_decided_after_a_kill() {
    let env = TestEnv::new();
    let model = env.script("script", DELETES);
    let daemon = DaemonProcess::start(&env, &["--model", &model]);
    let goal = env.new_goal("Tidy up.");
    assert_eq!(env.ended_goal(&goal)["result"], "It waits for you.");
    daemon.kill();
    // Without a daemon, the command itself carries it out.
    let inbox = env.shown(&["approve", "list"]);
    assert_eq!(inbox.as_array().unwrap().len(), 1, "{inbox}");
    env.run(&["approve", "no", inbox[0]["id"].as_str().unwrap()]).code(0);
    assert!(env.read("notes.md").is_some());
    let daemon = DaemonProcess::start(&env, &["--model", &model]);
    let other = env.new_goal("Tidy up now.");
    env.ended_goal(&other);
    daemon.kill();
    let inbox = env.shown(&["approve", "list"]);
    env.run(&["approve", "yes", inbox[0]["id"].as_str().unwrap()]).code(0);
    assert_eq!(env.read("notes.md"), None);
}
