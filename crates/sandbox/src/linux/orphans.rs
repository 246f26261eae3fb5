//! Processes that outlived their supervisor: the helper adopts and kills them.
//!
//! Only a program without isolation can kill its supervisor. Its descendants then become children
//! of the helper, which is the next subreaper above them.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};

use super::process_tree;
use super::raw_syscalls::Forked;

/// Interval between attempts to kill orphans: they may fork in between.
const KILL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };

/// How long to wait for killed processes. Only one that is stuck in the kernel needs longer.
const END: Duration = Duration::from_secs(5);

/// The supervisors that a helper started.
#[derive(Default)]
pub(super) struct Supervisors(Vec<Forked>);

impl Supervisors {
    /// Makes this process adopt the descendants of its children.
    pub(super) fn adopt_orphans() {
        // Refused only by kernels before 3.4.
        let _ = set_child_subreaper(Some(getpid()));
    }

    pub(super) fn add(&mut self, supervisor: Forked) {
        self.0.push(supervisor);
    }

    /// Waits until the socket is readable, and kills orphans meanwhile.
    ///
    /// # Errors
    /// The error of poll(2).
    pub(super) fn wait_for(&mut self, socket: &OwnedFd) -> io::Result<()> {
        let mut has_orphans = false;
        loop {
            let mut all = vec![PollFd::new(socket, PollFlags::IN)];
            all.extend(self.0.iter().map(|one| PollFd::new(&one.pidfd, PollFlags::IN)));
            match poll(&mut all, has_orphans.then_some(&KILL_INTERVAL)) {
                Err(rustix::io::Errno::INTR) => continue,
                waited => waited?,
            };
            let mut is_ready = all.iter().map(|one| !one.revents().is_empty());
            let is_asked = is_ready.next() == Some(true);
            let ended: Vec<bool> = is_ready.collect();
            drop(all);
            if has_orphans || ended.contains(&true) {
                let mut ended = ended.into_iter();
                self.0.retain(|_| !ended.next().unwrap_or(false));
                has_orphans = self.kill_orphans();
            }
            if is_asked {
                return Ok(());
            }
        }
    }

    /// Kills every child that is not a supervisor, with its descendants; returns whether there were
    /// any.
    fn kill_orphans(&self) -> bool {
        let own = getpid().as_raw_nonzero().get();
        let is_supervisor =
            |pid: &i32| self.0.iter().any(|one| one.pid.as_raw_nonzero().get() == *pid);
        let children = process_tree::children(own).unwrap_or_default();
        let mut open: Vec<i32> = children.into_iter().filter(|pid| !is_supervisor(pid)).collect();
        let has_orphans = !open.is_empty();
        while let Some(pid) = open.pop() {
            open.extend(process_tree::children(pid).unwrap_or_default());
            if let Some(pid) = Pid::from_raw(pid) {
                // The kernel reuses a process id only after the parent has reaped the process. The
                // parent is this process or an orphan that this loop found.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        has_orphans
    }

    /// Kills the remaining orphans after the supervisors have ended, when no more programs will be
    /// started.
    pub(super) fn end(self) {
        let begun = Instant::now();
        let now = Timespec::default();
        let runs = |one: &Forked| {
            !matches!(poll(&mut [PollFd::new(&one.pidfd, PollFlags::IN)], Some(&now)), Ok(1))
        };
        while (self.kill_orphans() || self.0.iter().any(runs)) && begun.elapsed() < END {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
