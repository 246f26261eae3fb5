//! The log of a daemon: the lines that it must and must not contain.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::support::{self, DaemonProcess, TestEnv};

#[test]
fn calls_and_requests_are_logged_by_shape_alone() {
    let env = TestEnv::new();
    let daemon = DaemonProcess::start(&env, &["--log-format", "json", "--log-file"]);
    let args = r#"{"path": "private-name.txt"}"#;
    env.run(&["tool", "call", "read_file", "--args", args, "--daemon"]).code(1);
    daemon.stop(&env).0.code(0);
    let file = env.outside().join("home/state/logs/toolcrib.log");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text.lines().map(support::json).collect();
    let of =
        |target: &str| lines.iter().filter(|line| line["target"] == target).collect::<Vec<_>>();
    let call = of("toolcrib::calls")[0];
    assert_eq!(
        (&call["tool"], &call["args"]),
        (&"read_file".into(), &"path:text(16)".into()),
        "{call}"
    );
    assert_eq!(call["error"], "file_not_found", "{call}");
    let request = of("toolcrib::access")
        .into_iter()
        .find(|line| line["route"] == "/api/v1/calls" && line["status"].is_u64());
    let request = request.unwrap();
    assert!(request["id"].as_str().unwrap().starts_with("req_"), "{request}");
    assert_eq!(request["method"], "POST");
    assert!(!text.contains("private-name"), "{text}");
}

#[test]
fn what_the_log_cannot_be_is_said_before_anything_begins() {
    let env = TestEnv::new();
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    env.run(&[&serve[..], &["--log-level", "loud=="]].concat())
        .code(2)
        .says(&["is not a log level"]);
    env.run(&[&serve[..], &["--log-format", "xml"]].concat()).code(2);
    let file = env.outside().join("a-file");
    fs::write(&file, "").unwrap();
    let below = file.join("log").display().to_string();
    env.run(&[&serve[..], &["--log-file", &below]].concat()).code(1).says(&["cannot be written"]);
    let mut command = env.command(&serve);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318");
    support::end(command, b"").code(3).says(&["not an http or https URL"]);
}
