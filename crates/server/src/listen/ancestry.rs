//! Is a process on the socket a tool? A tool must not decide about itself, whichever way it was started: what descends from a process that
//! runs tools gets no answer.
//!
//! The daemon adopts what its tools leave behind ([`super::orphans`]), so that a process that cut itself off from its parents is still found
//! here.

/// Words for a tool.
const TOOL: &str = "tools of Toolcrib get no answer on the socket";
/// Words for a process that cannot be looked at.
#[cfg(target_os = "linux")]
const UNSEEN: &str = "it cannot be seen which process this is; use TCP with a token";
/// Steps up that are taken; a longer line of parents is made to hide something.
#[cfg(target_os = "linux")]
const STEPS: usize = 1_000;

/// Why nothing is answered to this process; `None` = nothing speaks against it.
#[cfg(target_os = "linux")]
pub(super) fn refusal(pid: Option<i32>) -> Option<&'static str> {
    let Some(pid) = pid.filter(|pid| *pid > 0) else { return Some(UNSEEN) };
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let exe = exe_of("self");
    judge(pid, own, parent_of, |pid| {
        // By name too: another version of the program runs tools as well.
        exe_of(&pid.to_string()).is_some_and(|of| Some(&of) == exe.as_ref() || of.is_ours_by_name)
    })
}

/// Elsewhere the system does not say who started whom.
#[cfg(not(target_os = "linux"))]
pub(super) fn refusal(_pid: Option<i32>) -> Option<&'static str> {
    let _ = TOOL;
    None
}

/// Walks up from a process. `parent` is `None` for what cannot be seen: there it ends, as that is another user's.
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
    let Some(mut above) = parent(pid) else { return Some(UNSEEN) };
    let mut below = pid;
    for _ in 0..STEPS {
        if above == own || (above > 1 && runs_tools(above)) {
            return Some(TOOL);
        }
        if above <= 1 {
            return None;
        }
        let Some(next) = parent(above) else {
            // It may have ended a moment ago, and what is below has another parent now.
            match parent(below) {
                Some(now) if now != above => {
                    above = now;
                    continue;
                }
                Some(_) => return None,
                None => return Some(UNSEEN),
            }
        };
        (below, above) = (above, next);
    }
    Some(UNSEEN)
}

/// The parent, as `/proc/PID/stat` says it behind the name in parentheses.
#[cfg(target_os = "linux")]
fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The program of a process.
#[cfg(target_os = "linux")]
#[derive(PartialEq, Eq)]
struct Exe {
    device: u64,
    inode: u64,
    is_ours_by_name: bool,
}

/// `None` = it cannot be seen: another user's.
#[cfg(target_os = "linux")]
fn exe_of(process: &str) -> Option<Exe> {
    use std::os::unix::fs::MetadataExt as _;

    let link = format!("/proc/{process}/exe");
    let about = std::fs::metadata(&link).ok()?;
    let path = std::fs::read_link(&link).ok()?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    let is_ours_by_name = name == "toolcrib" || name == "toolcrib (deleted)";
    Some(Exe { device: about.dev(), inode: about.ino(), is_ours_by_name })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Who is refused where 100 is the daemon, 50 another program that runs tools, and each process has this parent.
    fn check(pid: i32, parents: &[(i32, i32)], expected: Option<&str>) {
        let parent = |pid| parents.iter().find(|(of, _)| *of == pid).map(|(_, parent)| *parent);
        assert_eq!(judge(pid, 100, parent, |pid| pid == 50), expected, "{pid} {parents:?}");
    }

    #[test]
    fn whatever_descends_from_a_process_that_runs_tools_is_refused() {
        let tree = [(100, 7), (101, 100), (102, 101), (50, 7), (51, 50), (60, 7), (61, 60), (7, 1)];
        check(100, &tree, None);
        check(60, &tree, None);
        check(61, &tree, None);
        check(7, &tree, None);
        check(1, &[(1, 0)], None);
        // The other program itself is a person's command line.
        check(50, &tree, None);
        check(51, &tree, Some(TOOL));
        check(101, &tree, Some(TOOL));
        check(102, &tree, Some(TOOL));
        check(999, &tree, Some(UNSEEN));
        // Above is somebody else's process.
        check(8, &[(8, 9)], None);
        check(8, &[(8, 9), (9, 8)], Some(UNSEEN));
    }

    #[test]
    fn the_processes_around_a_test_are_seen() {
        let own = i32::try_from(std::process::id()).unwrap();
        let parent = parent_of(own).unwrap();
        assert_eq!(parent, rustix::process::getppid().unwrap().as_raw_nonzero().get());
        assert!(exe_of("self").unwrap() == exe_of(&own.to_string()).unwrap());
        assert_eq!((refusal(None), refusal(Some(0))), (Some(UNSEEN), Some(UNSEEN)));
        assert_eq!(refusal(Some(own)), None);
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let found = refusal(i32::try_from(child.id()).ok());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, Some(TOOL));
    }
}
