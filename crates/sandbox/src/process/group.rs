//! A process group, from its start until nothing of it is left.

#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
#[cfg(target_os = "linux")]
use tokio::io::unix::AsyncFd;
use tokio::process::Child;
use tokio::runtime::Handle;

use super::GRACE;

/// How often a leader is looked at where the system cannot tell when it ends.
const LOOK: Duration = Duration::from_millis(5);

/// A leader that was started in a group of its own and is not reaped yet, so that its number still is the group's.
pub(super) struct Group {
    leader: Option<Leader>,
}

struct Leader {
    child: Child,
    pid: Pid,
    #[cfg(target_os = "linux")]
    ended: Option<AsyncFd<OwnedFd>>,
}

/// Readable when this process has ended; `None` = the kernel cannot tell (Linux before 5.3, some containers).
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

impl Group {
    /// The group of a child that was started as its leader.
    pub(super) fn of(child: Child) -> Self {
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let leader = pid.map(|pid| Leader {
            child,
            pid,
            #[cfg(target_os = "linux")]
            ended: end_of(pid),
        });
        Self { leader }
    }

    /// Waits until the leader ended, and leaves it unreaped.
    pub(super) async fn ended(&self) {
        let Some(leader) = &self.leader else { return };
        #[cfg(target_os = "linux")]
        if let Some(ended) = &leader.ended {
            // An error of the readiness itself leaves the second way.
            let _ = ended.readable().await;
        }
        while !leader.has_ended() {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Asks every process of the group to end; one that is stopped goes on, so that it can.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
    }

    /// Kills every process of the group, and the leader wherever it went.
    pub(super) fn kill(&mut self) {
        self.signal(Signal::KILL);
        if let Some(leader) = &mut self.leader {
            let _ = leader.child.start_kill();
        }
    }

    /// Reaps the leader, which must have ended or been killed; `None` = not in this time, then the runtime does it.
    pub(super) async fn reap(mut self, time: Duration) -> Option<ExitStatus> {
        let mut leader = self.leader.take()?;
        tokio::time::timeout(time, leader.child.wait()).await.ok()?.ok()
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = &self.leader {
            // Fails only when the group is gone.
            let _ = kill_process_group(leader.pid, signal);
        }
    }
}

impl Leader {
    fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error means that there is no such child any more.
        !matches!(waitid(WaitId::Pid(self.pid), look), Ok(None))
    }
}

/// A call that was given up: the group gets its grace in the background, or none where no runtime is left.
impl Drop for Group {
    fn drop(&mut self) {
        if self.leader.is_none() {
            return;
        }
        let given_up = GivenUp(Self { leader: self.leader.take() });
        if let Ok(runtime) = Handle::try_current() {
            given_up.0.terminate();
            runtime.spawn(given_up.end());
        }
    }
}

/// A group that is killed on every way out.
struct GivenUp(Group);

impl GivenUp {
    async fn end(mut self) {
        let _ = tokio::time::timeout(GRACE, self.0.ended()).await;
        self.0.kill();
        let group = Group { leader: self.0.leader.take() };
        group.reap(super::REAP).await;
    }
}

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.kill();
        // The runtime, or whoever reaps for a process that ends, does the rest.
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
        let mut group = Group::of(child);
        group.leader.as_mut().unwrap().ended = None;
        group.ended().await;
        assert_eq!(group.reap(super::super::REAP).await.and_then(|s| s.code()), Some(7));
    }
}
