//! The mark of programs that run for tools. It identifies them regardless of their later actions.
//!
//! A program can leave its session, change its name and environment, and outlive the process that
//! started it; the process list then does not distinguish it from a program of the person. The hard
//! limit of `RLIMIT_RTTIME` does: a program inherits it, only a process with `CAP_SYS_RESOURCE` can
//! raise it (setrlimit(2)), and it affects only the realtime scheduling of programs that run for
//! hundreds of thousands of years.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Hard limit of a marked program, in microseconds, if this process has no limit.
const MARKED: u64 = i64::MAX.unsigned_abs();

/// The line of `/proc/PID/limits`, proc_pid_limits(5).
const LINE: &str = "Max realtime timeout";

/// Marks this process and all its descendants. Two system calls, safe between fork and exec.
///
/// # Errors
/// The error of the system.
pub(crate) fn mark_this_process() -> io::Result<()> {
    let now = getrlimit(Resource::Rttime);
    let hard = now.maximum.map_or(MARKED, |limit| limit.saturating_sub(1));
    let soft = now.current.map_or(hard, |limit| limit.min(hard));
    Ok(setrlimit(Resource::Rttime, Rlimit { current: Some(soft), maximum: Some(hard) })?)
}

/// Returns whether a process runs for a tool: it, or a process that it descends from, was marked by
/// a process like this one. `None` if that cannot be determined, because the process has ended or
/// the system hides it.
#[must_use]
pub fn is_tool_process(pid: i32) -> Option<bool> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let own = getrlimit(Resource::Rttime).maximum.unwrap_or(u64::MAX);
    Some(hard_limit(&text)? < own)
}

/// Parses the hard limit in such a file; `u64::MAX` if there is none.
fn hard_limit(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(LINE))?;
    match line.split_whitespace().nth(1)? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hard_limit_is_read() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
            Max realtime priority     0                    0                    \n\
            Max realtime timeout      unlimited            9223372036854775807  us        \n";
        assert_eq!(hard_limit(text), Some(MARKED));
        assert_eq!(hard_limit("Max realtime timeout unlimited unlimited us"), Some(u64::MAX));
        for broken in ["", "Max realtime timeout", "Max realtime timeout 1 x us"] {
            assert_eq!(hard_limit(broken), None, "{broken:?}");
        }
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(is_tool_process(own), Some(false));
        assert_eq!(is_tool_process(0), None);
    }
}
