//! Makes the daemon a child subreaper: a process that detaches from its parents stays a descendant
//! of the daemon, which is how [`crate::peer_process`] recognizes tools on the socket. Adopted
//! processes must be reaped, too.

#[cfg(target_os = "linux")]
pub(super) use linux::{enable, reap};

/// Other systems have no subreapers.
#[cfg(not(target_os = "linux"))]
pub(super) fn enable() {}

/// Other systems have no subreapers, so there is nothing to reap.
#[cfg(not(target_os = "linux"))]
pub(super) async fn reap() {
    std::future::pending().await
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeSet;
    use std::fs;
    use std::time::Duration;

    use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};

    /// A zombie is reaped if it was one at the sweep before: the code that started a process waits
    /// for it sooner.
    const SWEEP_INTERVAL: Duration = Duration::from_secs(30);

    /// From now on, descendants whose parents end become children of this process.
    pub(in crate::listen) fn enable() {
        if let Err(error) = set_child_subreaper(Some(getpid())) {
            tracing::warn!(%error, "orphaned processes of tools cannot be adopted");
        }
    }

    /// Reaps adopted zombies, forever.
    pub(in crate::listen) async fn reap() {
        let mut seen = BTreeSet::new();
        loop {
            tokio::time::sleep(SWEEP_INTERVAL).await;
            let ended = tokio::task::spawn_blocking(exited_children).await.unwrap_or_default();
            for pid in ended.intersection(&seen) {
                reap_pid(*pid);
            }
            seen = ended;
        }
    }

    pub(super) fn reap_pid(pid: i32) {
        if let Some(pid) = Pid::from_raw(pid) {
            // A zombie keeps its process id, so the id cannot belong to another process.
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }

    /// Children that are zombies.
    pub(super) fn exited_children() -> BTreeSet<i32> {
        let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let children =
            tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        let pids = children.flat_map(|line| {
            line.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()
        });
        pids.filter(|pid| has_ended(*pid)).collect()
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
        // A shell that starts another process and ends at once.
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
