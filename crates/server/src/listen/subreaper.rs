//! Makes the daemon a child subreaper: a process that detaches from its parents stays a descendant
//! of the daemon, so that [`crate::peer_process`] recognizes tools on the socket. The daemon must
//! also reap adopted processes.

#[cfg(target_os = "linux")]
pub(super) use linux::{enable, end_tools, reap};

/// Other systems have no subreapers.
#[cfg(not(target_os = "linux"))]
pub(super) fn enable() {}

/// Other systems have no subreapers, so there is nothing to reap.
#[cfg(not(target_os = "linux"))]
pub(super) async fn reap() {
    std::future::pending().await
}

/// Other systems do not mark the programs of tools.
#[cfg(not(target_os = "linux"))]
pub(super) async fn end_tools() {}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeSet;
    use std::fs;
    use std::time::Duration;

    use rustix::process::{
        Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid,
    };
    use tokio::signal::unix::{SignalKind, signal};
    use toolcrib_sandbox::process::is_tool_process;

    /// A process that is still a zombie after this time is reaped: the code that started a process
    /// waits for it sooner.
    const REAP_DELAY: Duration = Duration::from_millis(250);

    /// Maximum time to wait for killed programs. Only a program that is stuck in the kernel needs
    /// longer.
    const END: Duration = Duration::from_secs(5);

    /// Interval of killing: programs may fork between two passes.
    const KILL_INTERVAL: Duration = Duration::from_millis(5);

    /// Makes this process the parent of descendants whose parents end from now on.
    pub(in crate::listen) fn enable() {
        if let Err(error) = set_child_subreaper(Some(getpid())) {
            tracing::warn!(%error, "orphaned processes of tools cannot be adopted");
        }
    }

    /// Reaps adopted zombies, forever.
    pub(in crate::listen) async fn reap() {
        let mut child_ended = match signal(SignalKind::child()) {
            Ok(child_ended) => child_ended,
            Err(error) => {
                tracing::warn!(%error, "ended processes of tools cannot be reaped");
                return std::future::pending().await;
            }
        };
        loop {
            child_ended.recv().await;
            loop {
                let seen = exited_children_now().await;
                if seen.is_empty() {
                    break;
                }
                tokio::time::sleep(REAP_DELAY).await;
                for pid in exited_children_now().await.intersection(&seen) {
                    reap_pid(*pid);
                }
            }
        }
    }

    async fn exited_children_now() -> BTreeSet<i32> {
        tokio::task::spawn_blocking(exited_children).await.unwrap_or_default()
    }

    /// Kills the programs of tools that this process adopted. No other component ends them, and
    /// this process no longer runs calls.
    pub(in crate::listen) async fn end_tools() {
        let killing = async {
            while tokio::task::spawn_blocking(kill_tools).await.unwrap_or(false) {
                tokio::time::sleep(KILL_INTERVAL).await;
            }
        };
        if tokio::time::timeout(END, killing).await.is_err() {
            tracing::warn!("a program of a tool was killed and has not ended");
        }
    }

    /// Kills the children that run for tools, with their descendants; returns whether there were
    /// any. Programs below a helper have separate supervisors.
    fn kill_tools() -> bool {
        let mut open = children_of(getpid().as_raw_nonzero().get());
        open.retain(|pid| is_tool_process(*pid) == Some(true) && !has_ended(*pid));
        let has_tools = !open.is_empty();
        while let Some(pid) = open.pop() {
            open.extend(children_of(pid));
            if let Some(pid) = Pid::from_raw(pid) {
                // A process id is reused only after its process was reaped; only the process that
                // was found here reaps these programs.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        has_tools
    }

    fn children_of(pid: i32) -> Vec<i32> {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let children =
            tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        let parse = |line: String| -> Vec<i32> {
            line.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
        };
        children.flat_map(parse).collect()
    }

    pub(super) fn reap_pid(pid: i32) {
        if let Some(pid) = Pid::from_raw(pid) {
            // A zombie keeps its process id, so the id cannot belong to another process.
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }

    /// Returns the children that are zombies.
    pub(super) fn exited_children() -> BTreeSet<i32> {
        let own = getpid().as_raw_nonzero().get();
        children_of(own).into_iter().filter(|pid| has_ended(*pid)).collect()
    }

    fn has_ended(pid: i32) -> bool {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::linux::{enable, exited_children, reap_pid};

    #[test]
    fn an_orphaned_process_is_adopted_and_reaped() {
        enable();
        // A shell starts another process and ends at once.
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 0.05 > /dev/null & echo $!"]).stdout(Stdio::piped());
        let output = shell.output().unwrap();
        let pid: i32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !exited_children().contains(&pid) {
            assert!(std::time::Instant::now() < until, "{pid} was not adopted");
            std::thread::yield_now();
        }
        reap_pid(pid);
        assert!(!exited_children().contains(&pid));
    }
}
