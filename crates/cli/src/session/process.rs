//! Which process works on a run, so that another one can tell whether it still does.

use std::fs;

use serde::{Deserialize, Serialize};

/// A process of this machine. Its start tells it from a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    pid: u32,
    /// The machine's boot and the process's start in ticks since then; `None` where the system does not say.
    born: Option<String>,
}

impl Process {
    /// This process.
    pub(crate) fn this() -> Self {
        let pid = std::process::id();
        Self { pid, born: born(pid) }
    }

    /// Whether it still runs. Where the system says too little, a process of that number is taken for it.
    pub(crate) fn is_alive(&self) -> bool {
        let now = born(self.pid);
        match (&self.born, &now) {
            (Some(then), Some(now)) => then == now,
            (Some(_), None) => false,
            (None, _) => exists(self.pid),
        }
    }
}

/// The start time is the 22nd field of `/proc/PID/stat`; the second one, the name in parentheses, may hold anything.
fn born(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    // A zombie works on nothing any more.
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let start = fields.nth(18)?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    (state != "Z").then(|| format!("{} {start}", boot.trim()))
}

#[cfg(unix)]
fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

#[cfg(not(unix))]
fn exists(_pid: u32) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_another_birth_is_not() {
        let this = Process::this();
        assert!(this.is_alive());
        let other = Process { born: Some("some other boot 1".to_owned()), ..this };
        assert!(!other.is_alive());
    }
}
