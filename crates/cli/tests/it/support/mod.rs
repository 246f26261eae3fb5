//! What every test of the binary needs.

mod daemon;
mod env;
mod model;
pub(crate) mod protected;
mod provider;
mod pty;
mod script;
mod server;
mod slow;

pub(crate) use daemon::DaemonProcess;
pub(crate) use env::{Ended, TestEnv, end};
pub(crate) use model::{Ask, FORMATS, ask, body, results, stream};
pub(crate) use provider::{Provider, Reply};
pub(crate) use pty::Terminal;
pub(crate) use script::of_type;
pub(crate) use server::Server;
pub(crate) use slow::SlowTool;

use serde_json::Value;

/// Parses a text that has to be one JSON document.
#[track_caller]
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Parses a text that has to be JSON lines.
#[track_caller]
pub(crate) fn lines(text: &str) -> Vec<Value> {
    text.lines().map(json).collect()
}

/// A text of JSON lines.
pub(crate) fn feed(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}
