//! cgroup v2 groups: one group for each sandbox, if systemd delegated the cgroup of this process.
//!
//! The program is created inside its group, because moving a process into one later delays every
//! fork on the machine for milliseconds. The supervisor stays outside, so that it can kill the
//! whole group. A group is optional: without it the limit watch and the isolation are the same.
#![deny(clippy::indexing_slicing)]

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, mkdirat, openat, unlinkat};

use super::plan::Amounts;
use crate::Level;

/// Controllers that limit a group as a whole. CPU time is counted for every group.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];

/// Prefix of our groups, followed by the process id of their creator.
const NAME: &str = "toolcrib-";

/// Extended attributes that systemd sets on a delegated folder (`Delegate=`).
const DELEGATED: [&str; 2] = ["user.delegate", "trusted.delegate"];

/// A cgroup in which groups can be created.
pub(super) struct CgroupParent {
    path: PathBuf,
    folder: OwnedFd,
    /// The [`CONTROLLERS`] that are available in groups here.
    controllers: Vec<&'static str>,
    /// Process id of this process, outside of namespaces.
    maker: u32,
}

/// Returns where this process may create groups, determined once, or the reason why it may not.
pub(super) fn parent() -> &'static Result<CgroupParent, String> {
    static PLACE: OnceLock<Result<CgroupParent, String>> = OnceLock::new();
    PLACE.get_or_init(|| {
        let read =
            |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
        let (mounts, own) = (read("/proc/self/mountinfo")?, read("/proc/self/cgroup")?);
        let own = own_folder(&mounts, &own).ok_or("this process is in no group of version 2")?;
        let found = CgroupParent::find(&own)?;
        found.remove_left();
        Ok(found)
    })
}

/// Returns the parent cgroup for a sandbox of this level: only if a group limits something, or if
/// nothing else could kill all processes at once.
pub(super) fn parent_for(level: Level) -> Option<&'static CgroupParent> {
    let place = parent().as_ref().ok()?;
    (level < Level::Namespace || !place.controllers.is_empty()).then_some(place)
}

impl CgroupParent {
    /// Finds the folder itself, or the delegated folder that contains it.
    fn find(own: &Path) -> Result<Self, String> {
        let mut first = Self::open_if_delegated(own);
        let around = own.parent().filter(|around| is_delegated(around));
        if let Some(around) = around
            && first.as_ref().map_or(0, |place| place.controllers.len()) < CONTROLLERS.len()
            && let Ok(place) = Self::open_if_delegated(around)
        {
            first = Ok(place);
        }
        first.map_err(|error| format!("{} was not handed to this user: {error}", own.display()))
    }

    fn open_if_delegated(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, path, flags, Mode::empty())?;
        for file in [".", "cgroup.procs"] {
            accessat(&folder, file, Access::WRITE_OK, AtFlags::EACCESS)?;
        }
        let words = |file: &str| fs::read_to_string(path.join(file)).unwrap_or_default();
        let there = words("cgroup.controllers");
        let control = path.join("cgroup.subtree_control");
        for wanted in CONTROLLERS.iter().filter(|wanted| has(&there, wanted)) {
            // Fails if the folder itself contains processes.
            let _ = fs::write(&control, format!("+{wanted}"));
        }
        let on = words("cgroup.subtree_control");
        let controllers = CONTROLLERS.into_iter().filter(|name| has(&on, name)).collect();
        Ok(Self { path: path.to_owned(), folder, controllers, maker: std::process::id() })
    }

    /// Removes the groups of earlier processes that were killed, after ending their remaining
    /// processes. A group whose processes have not ended yet is removed the next time.
    fn remove_left(&self) {
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let maker = name.to_str().and_then(|name| name.strip_prefix(NAME)?.split('-').next());
            if maker.is_some_and(|maker| !Path::new("/proc").join(maker).exists()) {
                let _ = fs::write(entry.path().join("cgroup.kill"), "1");
                let _ = fs::remove_dir(entry.path());
            }
        }
    }

    /// Describes the available controllers, for people.
    pub(super) fn description(&self) -> String {
        let path = self.path.display();
        match self.controllers.as_slice() {
            [] => format!(
                "{path}: kills all processes at the level reduced; this host provides no cgroup limits"
            ),
            on => format!(
                "{path}: {} by the kernel, and everything is killed as one",
                on.join(" and ")
            ),
        }
    }

    pub(super) fn bounds(&self, controller: &str) -> bool {
        self.controllers.contains(&controller)
    }
}

/// The cgroup of one sandbox. Dropping it removes it if it is empty.
pub(super) struct Cgroup {
    place: &'static CgroupParent,
    name: String,
    folder: OwnedFd,
    kill: File,
    cpu: File,
    memory: Option<File>,
}

impl Cgroup {
    /// Creates a group with these limits.
    pub(super) fn new(place: &'static CgroupParent, amounts: &Amounts) -> io::Result<Self> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let name = format!("{NAME}{}-{:x}", place.maker, now.map_or(0, |now| now.as_nanos()));
        mkdirat(&place.folder, &name, Mode::RWXU | Mode::RGRP | Mode::XGRP)?;
        let made = Self::open(place, &name, amounts);
        if made.is_err() {
            let _ = unlinkat(&place.folder, &name, AtFlags::REMOVEDIR);
        }
        made
    }

    fn open(place: &'static CgroupParent, name: &str, amounts: &Amounts) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(&place.folder, name, flags, Mode::empty())?;
        let file = |name: &str, how: OFlags| -> io::Result<File> {
            Ok(openat(&folder, name, how | OFlags::CLOEXEC, Mode::empty())?.into())
        };
        let set = |name: &str, most: String| -> io::Result<()> {
            file(name, OFlags::WRONLY)?.write_all_at(most.as_bytes(), 0)
        };
        if let Some(bytes) = amounts.memory.filter(|_| place.bounds("memory")) {
            set("memory.max", bytes.to_string())?;
            // Not every kernel counts swap.
            let _ = set("memory.swap.max", "0".to_owned());
        }
        if let Some(count) = amounts.processes.filter(|_| place.bounds("pids")) {
            set("pids.max", count.to_string())?;
        }
        let memory = place.bounds("memory").then(|| file("memory.events", OFlags::RDONLY));
        let (kill, cpu) = (file("cgroup.kill", OFlags::WRONLY)?, file("cpu.stat", OFlags::RDONLY)?);
        Ok(Self { place, name: name.to_owned(), kill, cpu, memory: memory.transpose()?, folder })
    }

    /// Returns the descriptor for creating a process in the group.
    pub(super) fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Kills everything in the group atomically, so that no new process can be missed.
    pub(super) fn kill(&self) {
        let _ = self.kill.write_all_at(b"1", 0);
    }

    /// Returns the CPU time of all current and former processes of the group.
    pub(super) fn cpu(&self) -> Option<Duration> {
        number(&self.cpu, "usage_usec").map(Duration::from_micros)
    }

    /// Returns whether the kernel killed a process of the group for lack of memory.
    pub(super) fn is_out_of_memory(&self) -> bool {
        self.memory.as_ref().and_then(|events| number(events, "oom_kill")).is_some_and(|n| n > 0)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = unlinkat(&self.place.folder, &self.name, AtFlags::REMOVEDIR);
    }
}

/// Returns the cgroup folder of a process, from the contents of its mountinfo and cgroup files.
fn own_folder(mounts: &str, groups: &str) -> Option<PathBuf> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        if kind.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let below = Path::new(own).strip_prefix(root).ok()?;
        // Joining an empty path would append a slash.
        let point = Path::new(point);
        Some(if below == Path::new("") { point.to_owned() } else { point.join(below) })
    })
}

/// Returns whether systemd delegated this folder.
fn is_delegated(path: &Path) -> bool {
    let mut value = [0_u8; 8];
    DELEGATED.iter().any(|name| {
        let read = rustix::fs::getxattr(path, *name, &mut value[..]);
        read.is_ok_and(|length| value.get(..length) == Some(b"1"))
    })
}

fn has(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|one| one == word)
}

/// Returns the number after a key in a file with one key per line.
fn number(file: &File, word: &str) -> Option<u64> {
    let mut text = [0_u8; 1024];
    let read = file.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(text.get(..read)?).ok()?;
    text.lines().find_map(|line| line.strip_prefix(word)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_group_is_found_where_its_tree_is_mounted() {
        let mounts = "25 30 0:22 / /proc rw - proc proc rw\n\
            31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
            32 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let check = |mounts: &str, groups: &str, expected: Option<&str>| {
            assert_eq!(own_folder(mounts, groups), expected.map(PathBuf::from), "{groups}");
        };
        let service = "0::/user.slice/user@1000.service/app.slice/toolcrib.service/daemon\n";
        let at = "/sys/fs/cgroup/user.slice/user@1000.service/app.slice/toolcrib.service/daemon";
        check(mounts, service, Some(at));
        check(mounts, "4:memory:/a\n0::/\n", Some("/sys/fs/cgroup"));
        check(mounts, "4:memory:/a\n", None);
        check("25 30 0:22 / /proc rw - proc proc rw\n", "0::/\n", None);
        // A container that sees only its part of the tree, and a process outside of it.
        let part = "32 25 0:26 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        check(part, "0::/docker/1/x\n", Some("/sys/fs/cgroup/x"));
        check(part, "0::/docker/2\n", None);
    }

    #[test]
    fn numbers_of_a_file() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, b"usage_usec 1200\nuser_usec 1\noom_kill 3\n").unwrap();
        assert_eq!(number(&file, "usage_usec"), Some(1200));
        assert_eq!(number(&file, "oom_kill"), Some(3));
        assert_eq!(number(&file, "oom"), None);
        assert_eq!(number(&file, "nothing"), None);
    }

    /// Runs on this host, if it delegates a cgroup.
    #[test]
    fn a_group_is_made_killed_as_one_and_removed() {
        let place = match parent() {
            Ok(place) => place,
            Err(why) => return eprintln!("NOT TRIED: {why}"),
        };
        let amounts = Amounts {
            memory: Some(64 << 20),
            processes: Some(20),
            cpu: None,
            file_size: None,
            disk: None,
            wall: None,
        };
        let group = Cgroup::new(place, &amounts).unwrap();
        let path = place.path.join(&group.name);
        for (controller, file, most) in
            [("memory", "memory.max", "67108864"), ("pids", "pids.max", "20")]
        {
            if place.bounds(controller) {
                assert_eq!(fs::read_to_string(path.join(file)).unwrap().trim(), most);
            }
        }
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        fs::write(path.join("cgroup.procs"), child.id().to_string()).unwrap();
        assert!(group.cpu().is_some() && !group.is_out_of_memory());
        group.kill();
        let status = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
        drop(group);
        assert!(!path.exists());
    }
}
