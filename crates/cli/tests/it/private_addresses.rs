//! An address of the person's own network asks for an approval if a person can be asked.

use serde_json::json;

use crate::support::{Server, TestEnv};

/// Returns the id of the waiting question.
fn asked(env: &TestEnv) -> String {
    env.inbox(&[])[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_private_address_is_asked_about_and_an_approval_opens_it_for_this_call() {
    let (env, server) = (TestEnv::new(), Server::start());
    let get = json!({"url": server.url("/status.json")});
    for tool in ["http_request", "fetch_url"] {
        let (_, code) = env.call(tool, &get, &["--on-ask", "fail", "--policy", "auto"]);
        assert_eq!(code, 6, "no preset and no rule answers this");
        let id = asked(&env);
        let shown = env.run(&["approve", "show", &id]).code(0);
        let reason = format!("it would reach {}, which is not allowed yet", server.target());
        assert!(shown.stdout.contains(&reason), "{}", shown.stdout);
        env.run(&["approve", "yes", &id]).code(0);
    }
    assert_eq!(server.seen(), ["GET /status.json", "GET /status.json"]);
    env.call("fetch_url", &get, &["--on-ask", "fail"]);
    env.run(&["approve", "no", &asked(&env)]);
    assert_eq!(server.seen().len(), 2);
}

/// `approve always` remembers this address and no other one.
#[test]
fn a_remembered_approval_of_a_private_address_covers_no_other_address() {
    let (env, server, other) = (TestEnv::new(), Server::start(), Server::start());
    let get = |server: &Server| json!({"url": server.url("/status.json")});
    env.run(&["rules", "add", "allow", "fetch_url"]).code(0);
    assert_eq!(env.call("fetch_url", &get(&server), &["--on-ask", "fail"]).1, 6);
    env.run(&["approve", "always", &asked(&env)]).code(0);
    assert_eq!(env.call("fetch_url", &get(&server), &["--on-ask", "fail"]).1, 0);
    assert_eq!(env.call("fetch_url", &get(&other), &["--on-ask", "fail"]).1, 6);
    assert_eq!((server.seen().len(), other.seen().len()), (2, 0));
}

/// Addresses of metadata services, link-local addresses, and disguised names and addresses are
/// refused without asking.
#[test]
fn what_no_person_should_open_by_a_click_is_refused_without_a_question() {
    let env = TestEnv::new();
    for url in [
        "http://169.254.169.254/latest/meta-data/",
        "http://169.254.1.1/",
        "http://[fe80::1]/",
        "http://localhost:8080/",
        "http://printer.local/",
        "http://0.0.0.0/",
        "http://0x7f.1/",
        "http://2130706433/",
        "http://[::ffff:10.0.0.1]/",
        "http://127.0.0.1:25/",
        "http://user@10.0.0.1/",
    ] {
        let (reply, code) = env.call("fetch_url", &json!({"url": url}), &["--on-ask", "fail"]);
        assert_ne!(reply["outcome"], "succeeded", "{url}: {reply}");
        assert_ne!(code, 6, "{url}: {reply}");
    }
    assert!(env.inbox(&[]).is_empty());
}
