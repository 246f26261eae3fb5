//! Process groups: signals, waits for and cleans up a group from its start to its end.

#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
#[cfg(target_os = "linux")]
use tokio::io::unix::AsyncFd;
use tokio::process::Child;
use tokio::runtime::Handle;

/// Time between `SIGTERM` and `SIGKILL` of a group.
pub const GRACE: Duration = Duration::from_millis(500);

/// How long to wait for a killed leader. Only a process that is stuck in the kernel needs longer;
/// it is reaped when it ends.
pub(super) const REAP: Duration = Duration::from_secs(2);

/// Poll interval if the system cannot report the end of a leader.
const LOOK: Duration = Duration::from_millis(5);

/// A group whose leader has not been reaped, so that its process id still identifies the group.
pub(super) struct ProcessGroup {
    leader: Option<Leader>,
}

struct Leader {
    child: Child,
    pid: Pid,
    #[cfg(target_os = "linux")]
    ended: Option<AsyncFd<OwnedFd>>,
}

/// Readable when the process has ended; `None` if pidfds are not available (Linux before 5.3, some
/// containers).
#[cfg(target_os = "linux")]
#[expect(
    deprecated,
    reason = "the way without `unsafe`; an owned descriptor stays open and the same"
)]
fn end_of(pid: Pid) -> Option<AsyncFd<OwnedFd>> {
    use rustix::process::{PidfdFlags, pidfd_open};
    let fd = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    AsyncFd::with_interest(fd, tokio::io::Interest::READABLE).ok()
}

impl ProcessGroup {
    /// Creates the group of a child that was started as its leader.
    pub(super) fn from_child(child: Child) -> Self {
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let leader = pid.map(|pid| Leader {
            child,
            pid,
            #[cfg(target_os = "linux")]
            ended: end_of(pid),
        });
        Self { leader }
    }

    /// Waits until the leader has ended, without reaping it.
    pub(super) async fn ended(&self) {
        let Some(leader) = &self.leader else { return };
        #[cfg(target_os = "linux")]
        if let Some(ended) = &leader.ended {
            // If waiting for readiness fails, polling continues.
            let _ = ended.readable().await;
        }
        while !leader.has_ended() {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Sends `SIGTERM` to every process of the group; stopped processes are continued, so that they
    /// can end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
    }

    /// Kills every process of the group, and the leader even if it left the group.
    pub(super) fn kill(&mut self) {
        self.signal(Signal::KILL);
        if let Some(leader) = &mut self.leader {
            let _ = leader.child.start_kill();
        }
    }

    /// Reaps the leader, which must have ended or been killed. `None` after the timeout; the
    /// runtime then reaps it.
    pub(super) async fn reap(mut self, time: Duration) -> Option<ExitStatus> {
        let mut leader = self.leader.take()?;
        tokio::time::timeout(time, leader.child.wait()).await.ok()?.ok()
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = &self.leader {
            // Fails only if the group is gone.
            let _ = kill_process_group(leader.pid, signal);
        }
    }
}

impl Leader {
    fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error means that the child does not exist any more.
        !matches!(waitid(WaitId::Pid(self.pid), look), Ok(None))
    }
}

/// An abandoned call: the group gets its grace period in the background, or none if there is no
/// runtime.
impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if self.leader.is_none() {
            return;
        }
        let given_up = AbandonedGroup(Self { leader: self.leader.take() });
        if let Ok(runtime) = Handle::try_current() {
            given_up.0.terminate();
            runtime.spawn(given_up.end());
        }
    }
}

/// A group that is killed on every exit path.
struct AbandonedGroup(ProcessGroup);

impl AbandonedGroup {
    async fn end(mut self) {
        let _ = tokio::time::timeout(GRACE, self.0.ended()).await;
        self.0.kill();
        let group = ProcessGroup { leader: self.0.leader.take() };
        group.reap(REAP).await;
    }
}

impl Drop for AbandonedGroup {
    fn drop(&mut self) {
        self.0.kill();
        // The runtime, or the init process, reaps it.
        self.0.leader = None;
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_end_is_seen_where_the_kernel_does_not_tell_it() {
        let child = tokio::process::Command::new("/bin/sh")
            .args(["-c", "exit 7"])
            .process_group(0)
            .spawn()
            .unwrap();
        let mut group = ProcessGroup::from_child(child);
        group.leader.as_mut().unwrap().ended = None;
        group.ended().await;
        assert_eq!(group.reap(REAP).await.and_then(|s| s.code()), Some(7));
    }
}
