//! `toolcrib status`: does a daemon run, where, and what does it do?

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_app::core::{Clock as _, SystemClock};

use crate::daemon::client::{Client, EXIT_UNREACHABLE};
use crate::daemon::{DaemonPaths, tcp_url};
use crate::output::{self, Failure};
use crate::{bootstrap, session, terminal, time_format};

pub(crate) fn run(json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let Some(client) = Client::connect().await? else {
            if json {
                output::print_json(&json!({"running": false}), true)?;
            } else {
                output::eprint_line("toolcrib: no daemon runs; start one with `toolcrib serve`");
            }
            return Ok(EXIT_UNREACHABLE);
        };
        let status = client.get("/api/v1/status").await?;
        let at = listen_addresses(&client)?;
        if json {
            let mut row = json!({"running": true, "at": at});
            if let (Some(row), Some(status)) = (row.as_object_mut(), status.as_object()) {
                row.extend(status.clone());
            }
            output::print_json(&row, true)?;
            return Ok(0);
        }
        output::print_line(&text(&client, &at, &status))?;
        Ok(0)
    })
}

/// Where it listens.
fn listen_addresses(client: &Client) -> Result<Vec<String>, Failure> {
    let own = if client.is_own() { DaemonPaths::current()?.running_address()? } else { None };
    let Some(address) = own else { return Ok(vec![client.to_string()]) };
    let socket = address.unix.as_ref().map(|path| path.display().to_string());
    Ok(tcp_url(&address).into_iter().chain(socket).collect())
}

/// One line for each daemon that shares the store.
fn daemon_lines(status: &Value) -> Vec<String> {
    let daemons = status.get("daemons").and_then(Value::as_array).into_iter().flatten();
    let now = SystemClock.now_ms();
    let line = |daemon: &Value| {
        let word = |key: &str| {
            terminal::escape_to_line(daemon.get(key).and_then(Value::as_str).unwrap_or("unknown"))
        };
        let age = |key: &str| {
            let at = daemon.get(key).and_then(Value::as_i64).unwrap_or(now);
            time_format::format_age(at, now)
        };
        let pid = daemon.get("pid").and_then(Value::as_u64).unwrap_or_default();
        let is_alive = daemon.get("alive") == Some(&Value::Bool(true));
        format!(
            "daemon     {} process {pid}, version {}, started {} ago, {} {} ago",
            word("host"),
            word("version"),
            age("started_at"),
            if is_alive { "heartbeat" } else { "silent, last heartbeat" },
            age("heartbeat_at"),
        )
    };
    daemons.map(line).collect()
}

fn text(client: &Client, at: &[String], status: &Value) -> String {
    let number = |path: &str| status.pointer(path).and_then(Value::as_u64).unwrap_or_default();
    let word = |path: &str| {
        let word = status.pointer(path).and_then(Value::as_str).unwrap_or("none");
        terminal::escape_to_line(word)
    };
    let up = session::format_duration(Duration::from_secs(client.health.up_seconds));
    let mut lines = vec![
        format!("toolcrib {} runs, process {}, for {up}", client.health.version, number("/pid")),
        format!("listens    {}", at.join(", ")),
        format!("workspace  {}", word("/workspace")),
        format!("store      {}", word("/store")),
        format!("tools      {} on of {}", number("/tools_on"), number("/tools")),
        format!(
            "calls      {} running, {} queued, {} received",
            number("/calls/running"),
            number("/calls/queued"),
            number("/calls/received")
        ),
        format!(
            "runs       {} at work, {} questions wait for a person",
            number("/runs"),
            number("/approvals_pending")
        ),
    ];
    lines.extend(daemon_lines(status));
    if status.pointer("/tools_enabled") == Some(&Value::Bool(false)) {
        lines.push("Every tool is stopped; `toolcrib start-tools` lets them run again.".to_owned());
    }
    if status.pointer("/stopping") == Some(&Value::Bool(true)) {
        lines.push("It was told to stop and takes nothing new.".to_owned());
    }
    lines.join("\n")
}
