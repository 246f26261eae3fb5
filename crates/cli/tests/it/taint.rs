//! Taint of a run through the binary: it asks before it sends data, in the same process, in the
//! next run of the conversation, and when another process resumes it.

use serde_json::{Value, json};

use crate::support::{self, Server, TestEnv, of_type};

/// Returns a model that reads a page and then sends data, followed by `then`.
fn reads_and_sends(server: &Server, then: &str) -> String {
    format!(
        r#"
  - calls: [{{tool: fetch_url, args: {{url: "{}"}}}}]
  - calls: [{{tool: http_request, args: {{url: "{}", method: POST, body: buy oats}}}}]
{then}"#,
        server.url("/page.html"),
        server.url("/status.json")
    )
}

fn sends(server: &Server) -> String {
    format!(
        r#"
  - calls: [{{tool: http_request, args: {{url: "{}", method: POST, body: buy oats}}}}]
  - say: I stop here.
"#,
        server.url("/status.json")
    )
}

const STOPS: &str = "  - say: I stop here.\n";

impl TestEnv {
    /// Runs `run` with the mildest policy and access to this server; returns the events.
    #[track_caller]
    fn taints(&self, server: &Server, turns: &str, more: &[&str], code: i32) -> Vec<Value> {
        let target = server.target();
        let fixed = ["--policy", "auto", "--allow-net", &target, "--json"];
        support::lines(&self.play(turns, &[&fixed, more].concat()).code(code).stdout)
    }
}

/// Returns the reason for the refusal of the call, as the model read it.
#[track_caller]
fn refusal(events: &[Value]) -> String {
    let denied: Vec<&Value> =
        events.iter().filter(|event| event["state"] == "output-denied").collect();
    assert_eq!(denied.len(), 1, "{events:#?}");
    assert_eq!(denied[0]["tool"], "http_request");
    denied[0]["output"]["message"].as_str().unwrap().to_owned()
}

#[track_caller]
fn says_why(text: &str, server: &Server) {
    let read = format!(
        "this run has read text from outside (fetch_url {}, call_",
        server.url("/page.html")
    );
    assert!(text.contains(&read), "{text}");
    assert!(
        text.contains("and http_request sends something outside or changes something there"),
        "{text}"
    );
}

#[test]
fn a_run_that_has_read_a_page_is_asked_before_it_sends() {
    let (env, server) = (TestEnv::new(), Server::start());
    // Without reading, the same policy lets it send.
    env.taints(&server, &sends(&server), &["--on-ask", "deny"], 0);
    assert_eq!(server.seen(), ["POST /status.json buy oats"]);

    let turns = reads_and_sends(&server, STOPS);
    let events = env.taints(&server, &turns, &["--on-ask", "deny"], 5);
    says_why(&refusal(&events), &server);
    assert_eq!(server.seen()[1..], ["GET /page.html"]);

    // The call reports the labels by which it was evaluated, and the previous call the labels that
    // it raised.
    let calls: Vec<&str> = of_type(&events, "tool")
        .iter()
        .filter(|event| event["state"] == "input-available")
        .map(|event| event["call"].as_str().unwrap())
        .collect();
    let explained = support::json(&env.run(&["explain", calls[1], "--json"]).code(0).stdout);
    let labels = find(&explained, "labels").unwrap();
    assert_eq!(labels["untrusted"]["call"], calls[0], "{explained:#}");
    assert_eq!(labels["untrusted"]["source"], server.url("/page.html"));
    let told = env.run(&["explain", calls[0]]).code(0);
    assert!(format!("{}{}", told.stdout, told.stderr).contains("the run is untrusted"), "{told:?}");
}

/// Returns the first member of this name at any depth.
fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) => map.get(name).or_else(|| map.values().find_map(|v| find(v, name))),
        Value::Array(items) => items.iter().find_map(|item| find(item, name)),
        _ => None,
    }
}

#[test]
fn the_next_run_of_the_conversation_has_read_it_too() {
    let (env, server) = (TestEnv::new(), Server::start());
    // The script of the whole conversation: each run continues where the previous one ended.
    let turns = format!(
        "  - calls: [{{tool: fetch_url, args: {{url: \"{}\"}}}}]\n  - say: Oats.\n  - say: Yes.\n{}",
        server.url("/page.html"),
        sends(&server).trim_start_matches('\n')
    );
    let events = env.taints(&server, &turns, &["--on-ask", "deny"], 0);
    let conversation = events[0]["conversation"].as_str().unwrap().to_owned();
    // A run in between reads nothing itself.
    let on = ["--conversation", &conversation, "--on-ask", "deny"];
    let events = env.taints(&server, &turns, &on, 0);
    assert_eq!(events.last().unwrap()["text"], "Yes.");
    let events = env.taints(&server, &turns, &on, 5);
    says_why(&refusal(&events), &server);
    // Another conversation starts without labels.
    env.taints(&server, &sends(&server), &["--on-ask", "deny"], 0);
    assert_eq!(server.seen(), ["GET /page.html", "POST /status.json buy oats"]);
}

#[test]
fn a_run_that_another_process_goes_on_with_has_read_what_it_had_read() {
    let (env, server) = (TestEnv::new(), Server::start());
    // A question of the model is answered in between, so that the second process evaluates the call
    // again.
    let turns = format!(
        r#"
  - calls: [{{tool: fetch_url, args: {{url: "{}"}}}}]
  - calls: [{{tool: ask_user, args: {{question: Shall I send it?}}}}]
{}"#,
        server.url("/page.html"),
        sends(&server).trim_start_matches('\n')
    );
    let events = env.taints(&server, &turns, &["--on-ask", "fail"], 6);
    let run = of_type(&events, "run-paused")[0]["run"].as_str().unwrap().to_owned();
    let resumed =
        env.run(&["resume", &run, "--answer", "yes", "--on-ask", "fail", "--json"]).code(6);
    let events = support::lines(&resumed.stdout);
    let asked: Vec<&Value> =
        events.iter().filter(|event| event["state"] == "approval-requested").collect();
    assert_eq!(asked.len(), 1, "{events:#?}");
    let reasons = asked[0]["approval"]["reasons"].as_array().unwrap();
    assert_eq!((reasons.len(), &reasons[0]["kind"]), (1, &json!("taint")));
    says_why(reasons[0]["text"].as_str().unwrap(), &server);
    assert_eq!(server.seen(), ["GET /page.html"]);

    // After its approval, the call runs; a third process has the same labels.
    let done = env.run(&["resume", &run, "--approve"]).code(0);
    assert_eq!(done.stdout, "I stop here.\n");
    assert_eq!(server.seen()[1..], ["POST /status.json buy oats"]);
}

#[test]
fn the_owner_says_otherwise_for_a_tool_or_by_an_approval_that_says_so() {
    let (env, server) = (TestEnv::new(), Server::start());
    let turns = reads_and_sends(&server, STOPS);
    env.own("config.toml", "[tools.http_request]\ntaint = false\n");
    env.taints(&server, &turns, &["--on-ask", "deny"], 0);
    assert_eq!(server.seen(), ["GET /page.html", "POST /status.json buy oats"]);
    env.own("config.toml", "");

    env.taints(&server, &turns, &["--on-ask", "fail"], 6);
    let inbox = support::json(&env.run(&["approve", "list", "--json"]).code(0).stdout);
    let id = inbox[0]["id"].as_str().unwrap().to_owned();
    env.run(&["approve", "always", &id]).code(2).says(&["only with --taint"]);
    let glob = format!("url={}", server.url("/*"));
    env.run(&["approve", "always", &id, "--taint", "--only", &glob, "--resume"])
        .code(0)
        .says(&["for reasons taint"]);
    assert_eq!(server.seen().len(), 4);
    env.taints(&server, &turns, &["--on-ask", "deny"], 0);
    assert_eq!(server.seen().len(), 6);
}

/// A memory whose text came from outside is in no prompt; recalled, it makes a run untrusted as the
/// page itself did. The tools of the person's configuration are then asked about, too.
#[test]
fn a_memory_of_a_page_taints_the_run_that_recalls_it() {
    let (env, server) = (TestEnv::new(), Server::start());
    let keep = format!(
        "  - calls: [{{tool: fetch_url, args: {{url: \"{}\"}}}}]\n  - calls: [{{tool: memory_store, args: {{key: oats, content: Oats cost 2.40.}}}}]\n  - say: Kept.\n",
        server.url("/page.html")
    );
    env.taints(&server, &keep, &["--on-ask", "deny"], 0);
    let shown = support::json(&env.run(&["memory", "show", "oats", "--json"]).code(0).stdout);
    let source = shown["untrusted"].as_str().unwrap();
    assert!(source.contains(&server.url("/page.html")), "{shown}");
    // Another conversation does not know it, and may send.
    let model = env.script("script", STOPS);
    let prompt = env.run(&["prompt", "show", "--model", &model]).code(0).stdout;
    assert!(!prompt.contains("2.40"), "{prompt}");
    env.taints(&server, &sends(&server), &["--on-ask", "deny"], 0);
    let recall = "  - calls: [{tool: memory_recall, args: {query: price of oats}}]\n";
    let after = |then: &str| format!("{recall}{}", then.trim_start_matches('\n'));
    let events = env.taints(&server, &after(&sends(&server)), &["--on-ask", "deny"], 5);
    let why = refusal(&events);
    assert!(why.contains("this run has read text from outside (memory_recall "), "{why}");
    assert_eq!(server.seen().len(), 2, "the page, and what the clean run sent");
    // A tool that the person has asked about in such runs.
    let write =
        "  - calls: [{tool: write_file, args: {path: price.txt, content: x}}]\n  - say: Written.\n";
    env.own("config.toml", "[tools.write_file]\ntaint = true\n");
    env.taints(&server, write, &["--on-ask", "deny"], 0);
    std::fs::remove_file(env.root().join("price.txt")).unwrap();
    env.taints(&server, &after(write), &["--on-ask", "deny"], 5);
    assert_eq!(env.read("price.txt"), None);
    // Written anew by the person, it is theirs: it is in the prompt, and the run may send.
    env.run(&["memory", "edit", "oats", "Oats cost 2.50."]).code(0);
    let prompt = env.run(&["prompt", "show", "--model", &model]).code(0).stdout;
    assert!(prompt.contains("Oats cost 2.50."), "{prompt}");
    env.taints(&server, &after(&sends(&server)), &["--on-ask", "deny"], 0);
}

/// The person's own memories in a prompt are private: a run that then reads a page is asked before
/// it fetches another address, which could carry them away.
#[test]
fn memories_in_the_prompt_make_a_run_private() {
    let (env, server) = (TestEnv::new(), Server::start());
    let fetches = format!(
        "  - calls: [{{tool: fetch_url, args: {{url: \"{}\"}}}}]\n  - calls: [{{tool: fetch_url, args: {{url: \"{}\"}}}}]\n  - say: Read.\n",
        server.url("/page.html"),
        server.url("/status.json")
    );
    env.taints(&server, &fetches, &["--on-ask", "deny"], 0);
    env.run(&["memory", "edit", "pin", "The garden gate is 1234."]).code(0);
    env.taints(&server, &fetches, &["--on-ask", "deny"], 5);
    assert_eq!(server.seen(), ["GET /page.html", "GET /status.json", "GET /page.html"]);
}

/// What a page may have dictated runs later, when no person watches: it waits for one first.
#[test]
fn a_task_and_a_goal_of_a_page_wait_for_a_person() {
    let (env, server) = (TestEnv::new(), Server::start());
    let turns = format!(
        "  - calls: [{{tool: fetch_url, args: {{url: \"{}\"}}}}]\n  - calls:\n      - {{tool: schedule_task, args: {{description: Buy, prompt: Buy oats., execute_at: \"2099-01-01T09:00\"}}}}\n      - {{tool: goal_pursuit, args: {{goal: Buy oats now.}}}}\n  - say: Planned.\n",
        server.url("/page.html")
    );
    env.taints(&server, &turns, &["--on-ask", "deny"], 0);
    let shown = |args: &[&str]| {
        let json = support::json(&env.run(&[args, &["--json"]].concat()).code(0).stdout);
        json[0].clone()
    };
    let task = shown(&["task", "list"]);
    assert_eq!(task["status"], "PAUSED", "{task}");
    assert!(task["untrusted"].as_str().unwrap().contains(&server.url("/page.html")), "{task}");
    let goal = shown(&["goal", "list"]);
    assert_eq!(goal["status"], "waiting", "{goal}");
    let sent = env.run(&["notification", "list"]).code(0).stdout;
    for part in
        ["Waits for you: Buy\n", "Waits for you: Buy oats now.", "task resume", "goal resume"]
    {
        assert!(sent.contains(part), "{part}: {sent}");
    }
    env.run(&["task", "resume", task["task"].as_str().unwrap()]).code(0);
    env.run(&["goal", "resume", goal["goal"].as_str().unwrap()]).code(0);
    assert_eq!(shown(&["task", "list"])["status"], "PENDING");
    assert_eq!(shown(&["goal", "list"])["status"], "pending");
}
