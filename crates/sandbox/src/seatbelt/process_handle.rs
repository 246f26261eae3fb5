//! Supervises a program in its own process group on macOS: orders, timeout and end.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};
use toolcrib_net::BoxFuture;

use crate::backend::{ControlOrder, Handle, KillChildrenResult};
use crate::egress::{Proxy, RefusedHost};
use crate::job::{JobResult, LimitHit, Status};
use crate::process::GRACE;
use crate::{Level, SandboxError};

/// Effectively never.
const NEVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Number of attempts to kill all processes but the program, before they count as multiplying too
/// fast.
const SWEEPS: usize = 20;

/// Messages to the supervising task.
enum Order {
    Tell(ControlOrder),
    Sweep(oneshot::Sender<KillChildrenResult>),
}

/// Handle of one program. Dropping it kills its whole group.
pub(super) struct SeatbeltHandle {
    orders: mpsc::UnboundedSender<Order>,
    over: watch::Receiver<Option<(Status, Option<LimitHit>)>>,
    level: Level,
    proxy: Option<Proxy>,
}

impl SeatbeltHandle {
    pub(super) fn new(
        child: Child,
        level: Level,
        wall: Option<Duration>,
        scratch: Scratch,
        proxy: Option<Proxy>,
    ) -> Self {
        let (orders, ordered) = mpsc::unbounded_channel();
        let (tell, over) = watch::channel(None);
        tokio::spawn(async move {
            let ended = keep(child, ordered, wall).await;
            drop(scratch);
            tell.send_replace(Some(ended));
        });
        Self { orders, over, level, proxy }
    }
}

/// Supervises a group until its leader has ended and the rest is killed.
async fn keep(
    mut child: Child,
    mut orders: mpsc::UnboundedReceiver<Order>,
    wall: Option<Duration>,
) -> (Status, Option<LimitHit>) {
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let signal = |signal: Signal| {
        if let Some(leader) = leader {
            // Fails only if the group is gone.
            let _ = kill_process_group(leader, signal);
        }
    };
    let mut stopped = None;
    let mut deadline = Instant::now() + wall.unwrap_or(NEVER);
    let status = loop {
        let order = tokio::select! {
            biased;
            status = child.wait() => break status.ok(),
            () = sleep_until(deadline) => None,
            order = orders.recv() => Some(order),
        };
        match order {
            // The timeout has expired, or the grace period after `SIGTERM` is over.
            None if stopped.is_some() => {
                signal(Signal::KILL);
                deadline = Instant::now() + NEVER;
            }
            None => {
                (stopped, deadline) = (Some(LimitHit::Time), Instant::now() + GRACE);
                signal(Signal::TERM);
                signal(Signal::CONT);
            }
            Some(Some(Order::Tell(ControlOrder::End))) if stopped.is_none() => {
                (stopped, deadline) = (Some(LimitHit::Killed), Instant::now() + GRACE);
                signal(Signal::TERM);
                signal(Signal::CONT);
            }
            Some(Some(Order::Tell(ControlOrder::Signal(number)))) => {
                if let Some(named) = Signal::from_named_raw(number) {
                    signal(named);
                }
            }
            Some(Some(Order::Tell(ControlOrder::End | ControlOrder::Wake))) => {}
            Some(Some(Order::Sweep(answer))) => {
                let _ = answer.send(sweep(leader).await);
            }
            // The caller has dropped the handle.
            Some(Some(Order::Tell(ControlOrder::Kill)) | None) => {
                stopped = stopped.or(Some(LimitHit::Killed));
                signal(Signal::KILL);
                // A closed channel is always ready.
                let _ = child.wait().await;
            }
        }
    };
    signal(Signal::KILL);
    let killed = Status::Signalled(Signal::KILL.as_raw());
    let status = status.map_or(killed, |status| match (status.code(), status.signal()) {
        (Some(code), _) => Status::Exited(code),
        (None, signal) => Status::Signalled(signal.unwrap_or(Signal::KILL.as_raw())),
    });
    (status, stopped)
}

/// Kills the processes of the group and the leader's descendants, except the leader.
async fn sweep(leader: Option<Pid>) -> KillChildrenResult {
    let Some(leader) = leader else { return KillChildrenResult::Gone };
    let mut killed = std::collections::BTreeSet::new();
    for _ in 0..SWEEPS {
        let Ok(others) = others(leader).await else { return KillChildrenResult::Breeds };
        if others.is_empty() {
            return KillChildrenResult::Killed(u32::try_from(killed.len()).unwrap_or(u32::MAX));
        }
        for pid in others {
            let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
            killed.insert(pid);
        }
    }
    KillChildrenResult::Breeds
}

/// Returns the processes in the leader's group and its descendants, without itself and without
/// zombies.
async fn others(leader: Pid) -> io::Result<Vec<i32>> {
    let ps = tokio::process::Command::new("/bin/ps")
        .args(["-A", "-o", "pid=,ppid=,pgid=,stat="])
        .output();
    let listed = String::from_utf8_lossy(&ps.await?.stdout).into_owned();
    Ok(group_members(&listed, leader.as_raw_nonzero().get()))
}

fn group_members(listed: &str, leader: i32) -> Vec<i32> {
    let rows: Vec<(i32, i32, i32)> = listed
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let mut number = || words.next()?.parse().ok();
            let row = (number()?, number()?, number()?);
            (!words.next()?.starts_with('Z')).then_some(row)
        })
        .collect();
    let mut found = vec![leader];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        at += 1;
        for (pid, ppid, group) in &rows {
            if (*ppid == parent || *group == leader) && !found.contains(pid) {
                found.push(*pid);
            }
        }
    }
    found.split_off(1)
}

impl Handle for SeatbeltHandle {
    fn wait(&mut self) -> BoxFuture<'_, Result<JobResult, SandboxError>> {
        Box::pin(async move {
            let gone =
                || SandboxError::Helper(io::Error::other("no supervisor watches it any more"));
            let over = self.over.wait_for(Option::is_some).await.map_err(|_| gone())?;
            let (status, stopped) = (*over).ok_or_else(gone)?;
            drop(over);
            if let Some(proxy) = &self.proxy {
                proxy.close();
            }
            let refused = self.refused();
            // CPU time is not measured here.
            Ok(JobResult { status, stopped, level: self.level, cpu: Duration::ZERO, refused })
        })
    }

    fn kill_children(&mut self) -> BoxFuture<'_, Result<KillChildrenResult, SandboxError>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let _ = self.orders.send(Order::Sweep(answer));
            Ok(answered.await.unwrap_or(KillChildrenResult::Gone))
        })
    }

    fn refused(&self) -> Vec<RefusedHost> {
        self.proxy.as_ref().map(Proxy::refused).unwrap_or_default()
    }

    fn send_order(&self, order: ControlOrder) {
        // The task may have ended.
        let _ = self.orders.send(Order::Tell(order));
    }
}

/// A private folder for temporary files. Dropping it removes it.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new() -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        let folder = std::env::temp_dir().canonicalize()?;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_nanos());
        let path = folder.join(format!("toolcrib-sandbox-{}-{now:x}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_with_what_left_it() {
        let listed = "  1 0 1 Ss\n 10 1 10 S\n 11 10 10 S+\n 12 11 12 S\n 13 12 12 Z\n 14 1 10 R\n 20 1 20 S\nodd\n";
        let check = |leader: i32, expected: &[i32]| {
            let mut found = group_members(listed, leader);
            found.sort_unstable();
            assert_eq!(found, expected);
        };
        check(10, &[11, 12, 14]);
        check(20, &[]);
        check(99, &[]);
    }
}
