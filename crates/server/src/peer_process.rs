//! Detects whether a process on the unix socket is a tool. A tool must not approve its own calls,
//! so requests of processes that descend from a process that runs tools are refused.
//!
//! Either of two signs is sufficient: the mark that every program of a tool inherits
//! ([`is_tool_process`]), which remains after the process that started the program has ended; and
//! the ancestors. The daemon is a child subreaper (`listen::subreaper`), so that a process that
//! detached from its parents is still a descendant of the daemon. A process is refused if either
//! sign cannot be read.

#[cfg(target_os = "linux")]
use toolcrib_sandbox::process::is_tool_process;

/// Refusal of a tool.
const TOOL: &str = "requests of tools are refused on the socket";
/// Refusal of a process whose ancestors cannot be read.
#[cfg(target_os = "linux")]
const UNKNOWN: &str = "the process cannot be identified; use TCP with a token";
/// Maximum number of examined ancestors. A longer chain is refused, because it may hide a tool.
#[cfg(target_os = "linux")]
const MAX_ANCESTORS: usize = 1_000;

/// Returns the reason for refusing requests of this process; `None` if they are allowed.
#[cfg(target_os = "linux")]
pub(crate) fn refuse_tool_process(pid: Option<i32>) -> Option<&'static str> {
    let Some(pid) = pid.filter(|pid| *pid > 0) else { return Some(UNKNOWN) };
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    match is_tool_process(pid) {
        None => return Some(UNKNOWN),
        Some(true) => return Some(TOOL),
        Some(false) => {}
    }
    let exe = exe_of("self");
    judge(pid, own, parent_of, |pid| {
        // Compare the name, too: another version of the program also runs tools.
        exe_of(&pid.to_string()).is_some_and(|of| Some(&of) == exe.as_ref() || of.is_toolcrib)
    })
}

/// Accepts every process: other systems do not examine ancestors.
#[cfg(not(target_os = "linux"))]
pub(crate) fn refuse_tool_process(_pid: Option<i32>) -> Option<&'static str> {
    let _ = TOOL;
    None
}

/// Walks up the ancestors of a process. `parent` is `None` for a process that cannot be read: it
/// has ended, or the system hides processes of other users.
#[cfg(target_os = "linux")]
fn judge(
    pid: i32,
    own: i32,
    parent: impl Fn(i32) -> Option<i32>,
    runs_tools: impl Fn(i32) -> bool,
) -> Option<&'static str> {
    if pid == own {
        return None;
    }
    let Some(mut above) = parent(pid) else { return Some(UNKNOWN) };
    let mut below = pid;
    for _ in 0..MAX_ANCESTORS {
        if above == own || (above > 1 && runs_tools(above)) {
            return Some(TOOL);
        }
        if above <= 1 {
            return None;
        }
        let Some(next) = parent(above) else {
            // The process may have just ended, and its child then has another parent.
            match parent(below) {
                Some(now) if now != above => {
                    above = now;
                    continue;
                }
                _ => return Some(UNKNOWN),
            }
        };
        (below, above) = (above, next);
    }
    Some(UNKNOWN)
}

/// Reads the parent from `/proc/PID/stat`, where it follows the name in parentheses.
#[cfg(target_os = "linux")]
fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The executable of a process.
#[cfg(target_os = "linux")]
#[derive(PartialEq, Eq)]
struct Exe {
    device: u64,
    inode: u64,
    is_toolcrib: bool,
}

/// Returns the executable of a process; `None` if it cannot be read because the process belongs to
/// another user.
#[cfg(target_os = "linux")]
fn exe_of(process: &str) -> Option<Exe> {
    use std::os::unix::fs::MetadataExt as _;

    let link = format!("/proc/{process}/exe");
    let about = std::fs::metadata(&link).ok()?;
    let path = std::fs::read_link(&link).ok()?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    let is_toolcrib = name == "toolcrib" || name == "toolcrib (deleted)";
    Some(Exe { device: about.dev(), inode: about.ino(), is_toolcrib })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Checks the refusal of a process, where 100 is the daemon, 50 another process that runs
    /// tools, and `parents` maps each process to its parent.
    fn check(pid: i32, parents: &[(i32, i32)], expected: Option<&str>) {
        let parent = |pid| parents.iter().find(|(of, _)| *of == pid).map(|(_, parent)| *parent);
        assert_eq!(judge(pid, 100, parent, |pid| pid == 50), expected, "{pid} {parents:?}");
    }

    #[test]
    fn descendants_of_a_process_that_runs_tools_are_refused() {
        let tree = [(100, 7), (101, 100), (102, 101), (50, 7), (51, 50), (60, 7), (61, 60), (7, 1)];
        check(100, &tree, None);
        check(60, &tree, None);
        check(61, &tree, None);
        check(7, &tree, None);
        check(1, &[(1, 0)], None);
        // The other process itself is the command line of a person.
        check(50, &tree, None);
        check(51, &tree, Some(TOOL));
        check(101, &tree, Some(TOOL));
        check(102, &tree, Some(TOOL));
        check(999, &tree, Some(UNKNOWN));
        // The system hides the ancestor.
        check(8, &[(8, 9)], Some(UNKNOWN));
        check(8, &[(8, 9), (9, 8)], Some(UNKNOWN));
    }

    #[test]
    fn the_processes_around_a_test_are_recognized() {
        let own = i32::try_from(std::process::id()).unwrap();
        let parent = parent_of(own).unwrap();
        assert_eq!(parent, rustix::process::getppid().unwrap().as_raw_nonzero().get());
        assert!(exe_of("self").unwrap() == exe_of(&own.to_string()).unwrap());
        assert_eq!(
            (refuse_tool_process(None), refuse_tool_process(Some(0))),
            (Some(UNKNOWN), Some(UNKNOWN))
        );
        assert_eq!(refuse_tool_process(Some(own)), None);
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let found = refuse_tool_process(i32::try_from(child.id()).ok());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, Some(TOOL));
    }
}
