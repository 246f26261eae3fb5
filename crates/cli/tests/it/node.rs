//! `toolcrib node`: another machine offers its tools to a daemon. Both are real processes.

use std::net::{Ipv4Addr, TcpListener};

use serde_json::{Value, json};

use crate::support::{self, DaemonProcess, TestEnv, eventually};

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn code(env: &TestEnv) -> String {
    let new = support::json(&env.run(&["app", "pair", "--json"]).code(0).stdout);
    new["code"].as_str().unwrap().to_owned()
}

/// Starts the node `attic` with two tools.
fn start(far: &TestEnv, listen: &str, more: &[&str]) -> DaemonProcess {
    let node = ["node", "--json", "--offer", "read_file", "--offer", "write_file"];
    let place = ["--name", "attic", "--listen", listen];
    DaemonProcess::spawn(far.command(&[&node[..], &place[..], more].concat()))
}

#[test]
fn a_node_offers_its_chosen_tools_under_the_rules_of_both_machines() {
    let (home, far) = (TestEnv::new(), TestEnv::new());
    let daemon = DaemonProcess::start(&home, &[]);
    far.write("letter.txt", "From the attic.");
    far.write("secret.txt", "Only here.");
    far.own("rules.toml", "[[rules]]\neffect = \"deny\"\nrule = \"Read(secret.txt)\"\n");
    let listen = format!("127.0.0.1:{}", free_port());
    let code = code(&home);
    let pair = ["--pair", &code, "--daemon", &daemon.url()];
    let node = start(&far, &listen, &pair);
    let fingerprint = node.ready["fingerprint"].as_str().unwrap().to_owned();
    // The daemon shows the same fingerprint, and the risks that the tools have there.
    home.run(&["app", "confirm"]).code(2).says(&[&fingerprint, "if_attic__write_file"]);
    home.run(&["app", "confirm", "--fingerprint", &fingerprint, "--risk", "read_file=safe"])
        .code(0)
        .prints(&["attic at http://127.0.0.1", "connected", "if_attic__read_file (risk safe)"]);

    let read = |path: &str| home.call("if_attic__read_file", &json!({ "path": path }), &[]);
    let (letter, exit) = read("letter.txt");
    assert_eq!(exit, 0, "{letter}");
    assert!(letter.to_string().contains("From the attic."), "{letter}");
    // The rules of the node hold for the calls of the daemon.
    let (secret, exit) = read("secret.txt");
    assert_eq!(exit, 1, "{secret}");
    assert!(!secret.to_string().contains("Only here."), "{secret}");
    // The rules of the daemon hold too: a tool that changes something asks there.
    let new = json!({"path": "new.txt", "content": "x"});
    let (_, exit) = home.call("if_attic__write_file", &new, &[]);
    assert_ne!(exit, 0);
    assert_eq!(far.read("new.txt"), None);
    let (written, exit) = home.call("if_attic__write_file", &new, &["--policy", "auto"]);
    assert_eq!((exit, far.read("new.txt").as_deref()), (0, Some("x")), "{written}");
    // Both machines have the call in their history.
    home.run(&["history"]).code(0).prints(&["if_attic__write_file"]);
    far.run(&["history"]).code(0).prints(&["write_file"]);

    // The keys outlive the process, and a stranger's request reaches nothing.
    node.kill();
    eventually("the end of the node", || read("letter.txt").1 != 0);
    let node = start(&far, &listen, &[]);
    eventually("the node is back", || read("letter.txt").1 == 0);
    let request = "GET /capabilities HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n";
    let answer = stranger(&listen, request);
    assert!(answer.starts_with("HTTP/1.1 401") && !answer.contains("read_file"), "{answer}");
    home.run(&["app", "revoke", "attic"]).code(0);
    assert_eq!(read("letter.txt").0["error_type"], "tool_not_found");
    node.kill();
    assert_eq!(daemon.stop(&home).1, 0);
}

/// Sends a request without a signature.
fn stranger(address: &str, request: &str) -> String {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_node_that_cannot_be_paired_says_why() {
    let (home, far) = (TestEnv::new(), TestEnv::new());
    let node = ["node", "--offer", "read_file", "--listen", "127.0.0.1:0"];
    far.run(&node).code(2).says(&["not paired", "toolcrib app pair"]);
    far.run(&["node", "--offer", "read_fil", "--listen", "127.0.0.1:0"])
        .code(4)
        .says(&["read_fil", "read_file"]);
    far.run(&["node"]).code(2).says(&["--offer"]);
    let pair = |code: &str, daemon: &str, more: &[&str]| {
        far.run(&[&node[..], &["--pair", code, "--daemon", daemon], more].concat())
    };
    pair("ABCD-EFGH", "http://example.org", &[]).code(2).says(&["needs https"]);
    pair("ABCD-EFGH", "http://127.0.0.1:1", &["--name", "attic"])
        .code(1)
        .says(&["the daemon at http://127.0.0.1:1"]);
    let daemon = DaemonProcess::start(&home, &[]);
    pair("ABCD-EFGH", &daemon.url(), &["--name", "The Attic"]).code(2).says(&["name of an app"]);
    pair("ABCD-EFGH", &daemon.url(), &["--name", "attic"]).code(1).says(&["code"]);
    let (_, waiting) = daemon.rest(&home, "GET pairings", &Value::Null);
    assert_eq!(waiting["items"].as_array().map(Vec::len), Some(0), "{waiting}");
    far.run(&node).code(2).says(&["not paired"]);
    assert_eq!(daemon.stop(&home).1, 0);
}
