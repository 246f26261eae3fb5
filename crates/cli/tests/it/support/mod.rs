//! Support for all tests of the binary.

mod blocking_tool;
mod fake_provider;
mod http_server;
pub(crate) mod matrix_server;
mod model_responses;
pub(crate) mod oauth_mcp_server;
mod place_database;
mod pty;
mod scripted_model;
pub(crate) mod sms_gateway;
pub(crate) mod telegram_server;
mod test_app;
mod test_daemon;
mod test_env;
mod web_server;

pub(crate) use blocking_tool::SlowTool;
pub(crate) use fake_provider::{Provider, Reply};
pub(crate) use model_responses::{Ask, FORMATS, ask, body, results, stream};
pub(crate) use place_database::place_database;
pub(crate) use pty::Terminal;
pub(crate) use scripted_model::of_type;
pub(crate) use test_app::{Manner, Signed, TestApp, parse_answer};
pub(crate) use test_daemon::DaemonProcess;
pub(crate) use test_env::{Ended, TestEnv, end};
pub(crate) use web_server::Server;

use std::time::{Duration, Instant};

use serde_json::Value;

/// Longest wait for what another process does; generous, because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a condition holds; otherwise, the test fails.
#[track_caller]
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "it never came: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Parses a text that must be one JSON document.
#[track_caller]
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Parses a text that must be JSON lines.
#[track_caller]
pub(crate) fn lines(text: &str) -> Vec<Value> {
    text.lines().map(json).collect()
}

/// Returns a text of JSON lines.
pub(crate) fn feed(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}
