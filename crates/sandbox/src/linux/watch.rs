//! What a sandbox uses, looked at again and again where the kernel does not bound it for all its processes together.
#![deny(clippy::indexing_slicing)]

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use super::cgroup::Group;
use super::plan::{Amounts, How, View};
use super::root::open_really;
use super::sys;
use super::tree::{self, Tree};
use crate::job::Stop;

/// How often it is looked. What is used between two looks is beyond the limit.
pub(super) const LOOK: Duration = Duration::from_millis(10);

/// Bytes of the disk that one file needs at least, its own entry included: what a limit on bytes means for their number.
const BYTES_OF_A_FILE: u64 = 4096;

/// Fewest files that a limit means.
const FEWEST_FILES: u64 = 10_000;

/// The watch over one sandbox.
pub(super) struct Watch {
    tree: Tree,
    amounts: Amounts,
    begun: Instant,
    disks: Vec<Disk>,
    scratch: Option<OwnedFd>,
    /// What this process and those that it reaped wrote. It may not be opened any more when this process hides itself.
    own: Option<File>,
    page: u64,
    ticks: u64,
}

/// A file system that may be written to.
struct Disk {
    folder: OwnedFd,
    device: u64,
    free: u64,
    free_files: u64,
}

impl Watch {
    /// Begins to look. `scratch` is where temporary files are, if that is a file system of its own.
    pub(super) fn new(
        tree: Tree,
        amounts: Amounts,
        views: &[View],
        scratch: Option<&Path>,
        own: Option<File>,
    ) -> Self {
        let mut disks: Vec<Disk> = Vec::new();
        let changed = views.iter().filter(|view| view.how == How::Write && amounts.disk.is_some());
        for disk in changed.filter_map(|view| Disk::of(view.path())) {
            if !disks.iter().any(|other| other.device == disk.device) {
                disks.push(disk);
            }
        }
        Self {
            tree,
            amounts,
            begun: Instant::now(),
            disks,
            scratch: scratch.and_then(|path| open_really(path).ok()),
            own,
            page: rustix::param::page_size() as u64,
            ticks: sys::ticks_per_second(),
        }
    }

    /// Whether anything is bounded that only a look can bound.
    pub(super) fn is_needed(&self) -> bool {
        let Amounts { memory, processes, cpu, disk, .. } = self.amounts;
        memory.is_some() || processes.is_some() || cpu.is_some() || disk.is_some()
    }

    /// When the time is over.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.amounts.wall.and_then(|wall| self.begun.checked_add(wall))
    }

    /// Looks: which limit is exceeded? A group says of some what all in it used.
    pub(super) fn look(&self, group: Option<&Group>) -> Option<Stop> {
        let processes = self.tree.processes();
        let threads: u64 = processes.iter().map(|(_, one)| one.threads).sum();
        if self.amounts.processes.is_some_and(|most| threads > u64::from(most)) {
            return Some(Stop::Processes);
        }
        let ticks: u64 = processes.iter().map(|(_, one)| one.ticks).sum();
        let cpu = || Duration::from_millis(ticks * 1000 / self.ticks) + sys::time_of_children();
        let used = |most: &Duration| group.and_then(Group::cpu).unwrap_or_else(cpu) > *most;
        if self.amounts.cpu.filter(used).is_some() {
            return Some(Stop::Cpu);
        }
        if group.is_some_and(Group::is_out_of_memory) {
            return Some(Stop::Memory);
        }
        let scratch = self.scratch();
        if self.amounts.memory.is_some_and(|most| self.memory(&processes, scratch, most) > most) {
            return Some(Stop::Memory);
        }
        let too_full = self.amounts.disk.is_some_and(|most| self.fills(&processes, scratch, most));
        too_full.then_some(Stop::Disk)
    }

    /// Bytes of temporary files.
    fn scratch(&self) -> u64 {
        let stat = self.scratch.as_ref().and_then(|folder| rustix::fs::fstatvfs(folder).ok());
        stat.map_or(0, |stat| stat.f_blocks.saturating_sub(stat.f_bfree) * stat.f_frsize)
    }

    /// Bytes of memory. Counted quickly, where pages that several share count for each; and with care where that seems too much.
    fn memory(&self, processes: &[(i32, tree::Use)], scratch: u64, most: u64) -> u64 {
        let quick = scratch + processes.iter().map(|(_, one)| one.pages * self.page).sum::<u64>();
        if quick <= most {
            return quick;
        }
        let careful = |(pid, one): &(i32, tree::Use)| {
            tree::proportional(*pid).unwrap_or(one.pages * self.page)
        };
        scratch + processes.iter().map(careful).sum::<u64>()
    }

    /// Whether the disk filled up by more than this, and by these processes: others may write too.
    fn fills(&self, processes: &[(i32, tree::Use)], scratch: u64, most: u64) -> bool {
        let (mut bytes, mut files) = (0, 0);
        for disk in &self.disks {
            let Ok(now) = rustix::fs::fstatvfs(&disk.folder) else { continue };
            bytes += disk.free.saturating_sub(now.f_bfree * now.f_frsize);
            files += disk.free_files.saturating_sub(now.f_ffree);
        }
        if files > (most / BYTES_OF_A_FILE).max(FEWEST_FILES) {
            return true;
        }
        if bytes + scratch <= most {
            return false;
        }
        let Some(Ok(mut own)) = self.own.as_ref().map(tree::read_written) else { return true };
        for (pid, _) in processes {
            match tree::written(*pid) {
                Ok(written) => own += written,
                // It hides what it does.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return true,
                // It is gone, and its parent has its count.
                Err(_) => {}
            }
        }
        own + scratch > most
    }
}

impl Disk {
    fn of(path: &Path) -> Option<Self> {
        let folder = open_really(path).ok()?;
        let device = rustix::fs::fstat(&folder).ok()?.st_dev;
        let stat = rustix::fs::fstatvfs(&folder).ok()?;
        let free = stat.f_bfree * stat.f_frsize;
        Some(Self { folder, device, free, free_files: stat.f_ffree })
    }
}
