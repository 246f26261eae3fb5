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
