//! `toolcrib status`: whether a daemon runs, its addresses, and its activity.

use std::time::Duration;

use serde_json::json;
use toolcrib_core::{Clock as _, SystemClock};
use toolcrib_ops::status::{DaemonRow, DaemonStatus};

use crate::daemon::client::{Client, EXIT_UNREACHABLE, parse_reply};
use crate::daemon::{DaemonPaths, tcp_url};
use crate::output::{self, Failure};
use crate::{bootstrap, session, terminal, time_format};

pub(crate) fn run(json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let Some(client) = Client::connect().await? else {
            if json {
                output::print_json(&json!({"running": false}), true)?;
            } else {
                output::eprint_line(
                    "toolcrib: no daemon is running; start one with `toolcrib serve`",
                );
            }
            return Ok(EXIT_UNREACHABLE);
        };
        let reply = client.get("/api/v1/status").await?;
        let at = listen_addresses(&client)?;
        if json {
            let mut row = json!({"running": true, "at": at});
            if let (Some(row), Some(status)) = (row.as_object_mut(), reply.as_object()) {
                row.extend(status.clone());
            }
            output::print_json(&row, true)?;
            return Ok(0);
        }
        output::print_line(&text(&client, &at, &parse_reply(reply)?))?;
        Ok(0)
    })
}

/// Returns the addresses that it listens on.
fn listen_addresses(client: &Client) -> Result<Vec<String>, Failure> {
    let own = if client.is_own() { DaemonPaths::current()?.running_address()? } else { None };
    let Some(address) = own else { return Ok(vec![client.to_string()]) };
    let socket = address.unix.as_ref().map(|path| path.display().to_string());
    Ok(tcp_url(&address).into_iter().chain(socket).collect())
}

/// Renders one line for each daemon that shares the store.
fn daemon_lines(status: &DaemonStatus) -> Vec<String> {
    let now = SystemClock.now_ms();
    let line = |daemon: &DaemonRow| {
        format!(
            "daemon     {} process {}, version {}, started {} ago, {} {} ago",
            terminal::escape_to_line(&daemon.host),
            daemon.pid,
            terminal::escape_to_line(&daemon.version),
            time_format::format_age(daemon.started_at, now),
            if daemon.alive { "heartbeat" } else { "silent, last heartbeat" },
            time_format::format_age(daemon.heartbeat_at, now),
        )
    };
    status.daemons.iter().map(line).collect()
}

fn text(client: &Client, at: &[String], status: &DaemonStatus) -> String {
    let up = session::format_duration(Duration::from_secs(client.health.up_seconds));
    let workspace = terminal::escape_to_line(status.workspace.as_deref().unwrap_or("none"));
    let calls = &status.calls;
    let mut lines = vec![
        format!("toolcrib {} runs, process {}, for {up}", client.health.version, status.pid),
        format!("listens    {}", at.join(", ")),
        format!("workspace  {workspace}"),
        format!("store      {}", terminal::escape_to_line(&status.store)),
        format!("tools      {} on of {}", status.tools_on, status.tools),
        format!(
            "calls      {} running, {} queued, {} received",
            calls.running, calls.queued, calls.received
        ),
        format!(
            "runs       {} running, {} questions wait for a person",
            status.runs, status.approvals_pending
        ),
    ];
    lines.extend(daemon_lines(status));
    if !status.tools_enabled {
        lines.push(
            "The kill switch is engaged; `toolcrib start-tools` allows tools again.".to_owned(),
        );
    }
    if status.stopping {
        lines.push("It is stopping and accepts no new calls.".to_owned());
    }
    lines.join("\n")
}
