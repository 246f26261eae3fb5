//! The processes of a sandbox, read from `/proc`.
#![deny(clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, wait};

use super::raw_syscalls;
use crate::job::Status;

/// Which processes belong to a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessTree {
    /// All visible ones: this is the first process of a pid namespace.
    Namespace,
    /// All descendants of this process, which is their subreaper.
    Descendants,
}

/// Resource usage of one process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) parent: i32,
    pub(super) group: i32,
    /// Whether it is a zombie.
    pub(super) is_over: bool,
    /// CPU ticks of itself and of the children it waited for.
    pub(super) ticks: u64,
    pub(super) threads: u64,
    pub(super) pages: u64,
}

impl ProcessTree {
    /// Returns every process but this one, with its usage.
    pub(super) fn processes(self) -> Vec<(i32, Use)> {
        match self {
            Self::Namespace => {
                all().filter(|pid| *pid != 1).filter_map(|pid| Some((pid, use_of(pid)?))).collect()
            }
            Self::Descendants => descendants(),
        }
    }

    /// Returns every process but this one and those in `kept`, outer before inner; without zombies.
    pub(super) fn except(self, kept: &[Pid]) -> Vec<Pid> {
        let own = getpid().as_raw_nonzero().get();
        let kept: Vec<i32> = kept.iter().map(|pid| pid.as_raw_nonzero().get()).collect();
        let has_no_other = |pid: i32| {
            children(pid).is_some_and(|all| all.iter().all(|child| kept.contains(child)))
        };
        // Usually none is left, and this check is fast. The order matters: an orphan becomes a
        // child of this process.
        if kept.iter().rev().all(|pid| has_no_other(*pid)) && has_no_other(own) {
            return Vec::new();
        }
        let all = self.processes().into_iter();
        all.filter(|(pid, one)| !kept.contains(pid) && *pid != own && !one.is_over)
            .filter_map(|(pid, _)| Pid::from_raw(pid))
            .collect()
    }

    /// Sends a signal to every process but these.
    pub(super) fn signal_except(self, spared: &[Pid], signal: Signal) {
        if spared.is_empty() {
            return self.signal(signal);
        }
        for pid in self.except(spared) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Sends a signal to every process.
    pub(super) fn signal(self, signal: Signal) {
        match self {
            Self::Namespace => raw_syscalls::signal_all(signal),
            Self::Descendants => {
                for (pid, _) in self.processes() {
                    if let Some(pid) = Pid::from_raw(pid) {
                        let _ = kill_process(pid, signal);
                    }
                }
            }
        }
    }

    /// Kills every process. Process groups are killed with one call each, so that their processes
    /// cannot fork in between; everything is stopped first, because there may be several groups.
    pub(super) fn kill(self) {
        if self == Self::Descendants {
            let own = rustix::process::getpgrp();
            let mut seen = 0;
            // Each pass finds the processes that were created during the previous one; a few passes
            // are enough for processes that cannot run.
            for _ in 0..64 {
                let processes = self.processes();
                let groups: BTreeSet<i32> = processes.iter().map(|(_, one)| one.group).collect();
                for group in groups.into_iter().filter_map(Pid::from_raw).filter(|one| *one != own)
                {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                if processes.len() <= seen {
                    break;
                }
                seen = processes.len();
                self.signal(Signal::STOP);
            }
        }
        self.signal(Signal::KILL);
    }
}

/// Returns a process and its only child: an external backend and the first process in its sandbox.
pub(super) fn only_child_chain(outer: Pid) -> Vec<Pid> {
    let inner = match children(outer.as_raw_nonzero().get()).as_deref() {
        Some([inner]) => Pid::from_raw(*inner),
        _ => None,
    };
    std::iter::once(outer).chain(inner).collect()
}

/// Returns the program in an external backend: the child of its first process that was the second
/// process there. Its number is not reused while it lives.
pub(super) fn second_of(backend: &[Pid]) -> Option<Pid> {
    let [_, first] = backend else { return None };
    let is_second = |pid: &i32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        numbers.is_some_and(|numbers| numbers.split_whitespace().next_back() == Some("2"))
    };
    let found = children(first.as_raw_nonzero().get())?.into_iter().find(is_second);
    found.and_then(Pid::from_raw)
}

/// Reaps every child that has ended. Returns whether any child is left.
pub(super) fn reap(main: Option<Pid>, status: &mut Option<Status>) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, how))) => {
                if Some(pid) == main {
                    let signal = || Status::Signalled(how.terminating_signal().unwrap_or(9));
                    *status = Some(how.exit_status().map_or_else(signal, Status::Exited));
                }
            }
            Ok(None) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Returns the ids of all processes.
fn all() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn descendants() -> Vec<(i32, Use)> {
    let own = getpid().as_raw_nonzero().get();
    let mut found = Vec::new();
    let mut open = vec![own];
    while let Some(pid) = open.pop() {
        let Some(children) = children(pid) else { return by_parents(own) };
        for child in children {
            if let Some(uses) = use_of(child) {
                found.push((child, uses));
                open.push(child);
            }
        }
    }
    found
}

/// Returns the children of a process; `None` if this kernel does not list them. A process that has
/// ended has none.
pub(super) fn children(pid: i32) -> Option<Vec<i32>> {
    let mut children = Vec::new();
    // Link count of the folder: itself, its parent, and one per thread. Most processes have one
    // thread.
    if rustix::fs::stat(format!("/proc/{pid}/task")).is_ok_and(|stat| stat.st_nlink == 3) {
        let mut text = [0; 1024];
        let list = File::open(format!("/proc/{pid}/task/{pid}/children"));
        let read = list.and_then(|mut list| list.read(&mut text)).unwrap_or(text.len());
        // A full buffer may be truncated.
        if let Some(text) = text.get(..read).filter(|text| text.len() < 1000) {
            let words = text.split(u8::is_ascii_whitespace);
            let numbers =
                words.filter_map(|word| std::str::from_utf8(word).ok()?.parse::<i32>().ok());
            children.extend(numbers);
            return Some(children);
        }
    }
    for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let list: PathBuf = task.path().join("children");
        match fs::read_to_string(&list) {
            Ok(text) => {
                children.extend(text.split_whitespace().filter_map(|n| n.parse::<i32>().ok()));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && task.path().exists() => {
                return None;
            }
            Err(_) => {}
        }
    }
    Some(children)
}

/// Returns the descendants, computed from the parent id of every process.
fn by_parents(own: i32) -> Vec<(i32, Use)> {
    let uses: BTreeMap<i32, Use> = all().filter_map(|pid| Some((pid, use_of(pid)?))).collect();
    let is_ours = |mut pid: i32| {
        // No chain is longer than the number of processes.
        for _ in 0..=uses.len() {
            match uses.get(&pid) {
                Some(one) if one.parent == own => return true,
                Some(one) => pid = one.parent,
                None => return false,
            }
        }
        false
    };
    uses.iter().filter(|(pid, _)| is_ours(**pid)).map(|(pid, one)| (*pid, *one)).collect()
}

fn use_of(pid: i32) -> Option<Use> {
    read_use(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Counts the processes and threads of this user, as `RLIMIT_NPROC` does.
pub(super) fn count_user_tasks() -> u64 {
    let own = rustix::process::getuid().as_raw();
    let is_ours =
        |pid: &i32| rustix::fs::stat(format!("/proc/{pid}")).is_ok_and(|stat| stat.st_uid == own);
    all().filter(is_ours).filter_map(use_of).map(|one| one.threads).sum()
}

/// Parses `/proc/PID/stat`, proc_pid_stat(5). The program's name may contain anything, so parsing
/// starts after its end.
fn read_use(line: &str) -> Option<Use> {
    let (_, rest) = line.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // The first field here is field 3 of the manual.
    let number = |nth: usize| fields.get(nth - 3).and_then(|field| field.parse::<i64>().ok());
    let count = |nth| number(nth).and_then(|n| u64::try_from(n).ok());
    let ticks = [14, 15, 16, 17].map(count).into_iter().sum::<Option<u64>>()?;
    Some(Use {
        parent: i32::try_from(number(4)?).ok()?,
        group: i32::try_from(number(5)?).ok()?,
        is_over: matches!(fields.first(), Some(&"Z" | &"X")),
        ticks,
        threads: count(20)?,
        pages: count(24)?,
    })
}

/// Returns the proportional set size of a process in bytes; `None` if it may not be read.
pub(super) fn proportional(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Returns the bytes that a process, and the children it waited for, wrote to disk: from
/// `/proc/PID/io`, proc_pid_io(5).
///
/// # Errors
/// It has ended, or may not be read.
pub(super) fn written(pid: i32) -> io::Result<u64> {
    read_written(&File::open(format!("/proc/{pid}/io"))?)
}

/// Returns the same from a file that was opened before.
pub(super) fn read_written(file: &File) -> io::Result<u64> {
    let mut bytes = [0; 512];
    let read = file.read_at(&mut bytes, 0)?;
    let text = String::from_utf8_lossy(bytes.get(..read).unwrap_or_default());
    let line = text.lines().find_map(|line| line.strip_prefix("write_bytes:"));
    line.and_then(|line| line.trim().parse().ok()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whatever_the_program_is_called() {
        let line = |name: &str| {
            format!(
                "7 ({name}) S 3 7 7 0 -1 4194560 100 0 0 0 5 6 7 8 20 0 2 0 99 1000 42 18446744073709551615"
            )
        };
        let expected =
            Some(Use { parent: 3, group: 7, is_over: false, ticks: 26, threads: 2, pages: 42 });
        for name in ["sh", "a b", "x) R 1 (y", "", "7 ("] {
            assert_eq!(read_use(&line(name)), expected, "{name:?}");
        }
        for broken in
            ["", "7 (sh", "7 (sh) S 3", "7 (sh) S x 7 7 0 -1 4 1 0 0 0 5 6 7 8 20 0 2 0 9 1 42"]
        {
            assert_eq!(read_use(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn both_ways_find_the_same_descendants() {
        let mut child =
            std::process::Command::new("/bin/sh").args(["-c", "sleep 60 & wait"]).spawn().unwrap();
        let own = getpid().as_raw_nonzero().get();
        let pid = i32::try_from(child.id()).unwrap();
        let below = |found: Vec<(i32, Use)>| {
            let mut found: Vec<i32> = found.into_iter().map(|(pid, _)| pid).collect();
            found.sort_unstable();
            found
        };
        // The shell starts its child only after it becomes visible.
        let (mut by_list, mut by_parent) = (Vec::new(), Vec::new());
        for _ in 0..2000 {
            (by_list, by_parent) = (below(descendants()), below(by_parents(own)));
            if by_list.len() >= 2 && by_list == by_parent {
                break;
            }
            std::thread::yield_now();
        }
        for (pid, _) in by_parents(own).into_iter().filter(|(_, one)| one.parent == pid) {
            let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(by_list.contains(&pid) && by_list == by_parent, "{by_list:?} {by_parent:?}");
    }
}
