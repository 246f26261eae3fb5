//! Processes that tools leave behind are adopted: a tool that cuts itself off from its parents stays a descendant of the daemon, which is how
//! the socket knows it ([`super::ancestry`]). What is adopted must be buried, too.

#[cfg(target_os = "linux")]
pub(super) use linux::{adopt, bury};

/// Elsewhere there is no such thing.
#[cfg(not(target_os = "linux"))]
pub(super) fn adopt() {}

/// Elsewhere there is nobody to bury.
#[cfg(not(target_os = "linux"))]
pub(super) async fn bury() {
    std::future::pending().await
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeSet;
    use std::fs;
    use std::time::Duration;

    use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};

    /// A process that ended is buried when it was still there at the look before: whoever started it waits for it sooner.
    const LOOKED: Duration = Duration::from_secs(30);

    /// From now on, processes whose parents end become children of this one.
    pub(in crate::listen) fn adopt() {
        if let Err(error) = set_child_subreaper(Some(getpid())) {
            tracing::warn!(%error, "processes that tools leave behind cannot be adopted");
        }
    }

    /// Buries those that nobody waits for, for ever.
    pub(in crate::listen) async fn bury() {
        let mut seen = BTreeSet::new();
        loop {
            tokio::time::sleep(LOOKED).await;
            let ended = tokio::task::spawn_blocking(ended).await.unwrap_or_default();
            for pid in ended.intersection(&seen) {
                wait_for(*pid);
            }
            seen = ended;
        }
    }

    pub(super) fn wait_for(pid: i32) {
        if let Some(pid) = Pid::from_raw(pid) {
            // It is our child and has ended, so that nothing else can have its number.
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }

    /// Children that have ended and that nobody has waited for.
    pub(super) fn ended() -> BTreeSet<i32> {
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

    use super::linux::{adopt, ended, wait_for};

    #[test]
    fn a_process_whose_parent_ended_is_a_child_and_is_buried() {
        adopt();
        // A shell that starts another process and ends at once.
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 0.05 > /dev/null & echo $!"]).stdout(Stdio::piped());
        let output = shell.output().unwrap();
        let pid: i32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !ended().contains(&pid) {
            assert!(std::time::Instant::now() < until, "{pid} was not adopted");
            std::thread::yield_now();
        }
        wait_for(pid);
        assert!(!ended().contains(&pid));
    }
}
