//! `toolcrib stop`: stops the daemon of this person.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use crate::bootstrap;
use crate::clap_args::StopDaemon;
use crate::config::Env;
use crate::daemon::DaemonPaths;
use crate::daemon::client::{DAEMON_VARIABLE, unreachable};
use crate::output::{self, Failure};

/// Interval for checking whether it has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(crate) fn run(command: &StopDaemon, json: bool) -> Result<u8, Failure> {
    if Env::from_process().text(DAEMON_VARIABLE)?.is_some() {
        return Err(Failure::usage(format!(
            "{DAEMON_VARIABLE} selects a daemon on another machine, where you must stop it; unset the variable to stop the daemon of this machine"
        )));
    }
    bootstrap::block_on(async {
        let none = || unreachable("no daemon is running");
        // The daemon need not respond: one of another version, or one that hangs, is stopped, too.
        let address = DaemonPaths::current()?.running_address()?.ok_or_else(none)?;
        let pid = i32::try_from(address.pid).ok().and_then(Pid::from_raw).ok_or_else(none)?;
        kill_process(pid, Signal::TERM).map_err(|error| {
            Failure::run(format!("cannot signal the process {}: {error}", address.pid))
        })?;
        let begun = Instant::now();
        while is_running(pid) {
            if begun.elapsed() >= command.timeout {
                return Err(Failure::run(format!(
                    "process {} is still stopping; `kill -9 {}` kills it at once, and the next daemon resumes its runs",
                    address.pid, address.pid
                )));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        if json {
            output::print_json(&json!({"stopped": true, "pid": address.pid}), true)?;
        } else {
            output::eprint_line("toolcrib: the daemon has stopped");
        }
        Ok(0)
    })
}

/// Returns whether the signaled process still runs. A zombie does not: its parent may never reap
/// it.
fn is_running(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before the state is in parentheses, and may contain any character
    // (`proc_pid_stat(5)`).
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    test_kill_process(pid).is_ok() && !state.is_some_and(|state| state.starts_with(['Z', 'X']))
}
