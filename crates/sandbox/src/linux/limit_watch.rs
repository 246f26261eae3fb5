//! Limit watch: periodically checks the resource usage of a sandbox where the kernel has no limit
//! for all its processes together.
#![deny(clippy::indexing_slicing)]

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use super::cgroup::Cgroup;
use super::mount_namespace::open_no_symlinks;
use super::plan::{Access, Amounts, PathView};
use super::process_tree::{self, ProcessTree};
use super::raw_syscalls;
use crate::job::LimitHit;

/// Interval between checks. Usage can exceed a limit for this long.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Minimum disk bytes of one file including its directory entry: converts a limit on bytes to a
/// number of files.
const BYTES_OF_A_FILE: u64 = 4096;

/// Minimum of the derived limit on files.
const FEWEST_FILES: u64 = 10_000;

/// The watch of one sandbox.
pub(super) struct LimitWatch {
    tree: ProcessTree,
    amounts: Amounts,
    begun: Instant,
    disks: Vec<Disk>,
    scratch: Option<OwnedFd>,
    /// I/O counters of this process and the processes it reaped. Opened early, because it cannot be
    /// opened after this process becomes non-dumpable.
    own: Option<File>,
    page: u64,
    ticks: u64,
}

/// A writable file system.
struct Disk {
    folder: OwnedFd,
    device: u64,
    free: u64,
    free_files: u64,
}

impl LimitWatch {
    /// Starts the watch. `scratch` is the folder of temporary files, if it is a file system of its
    /// own.
    pub(super) fn new(
        tree: ProcessTree,
        amounts: Amounts,
        views: &[PathView],
        scratch: Option<&Path>,
        own: Option<File>,
    ) -> Self {
        let mut disks: Vec<Disk> = Vec::new();
        let changed =
            views.iter().filter(|view| view.how == Access::Write && amounts.disk.is_some());
        for disk in changed.filter_map(|view| Disk::for_path(view.path())) {
            if !disks.iter().any(|other| other.device == disk.device) {
                disks.push(disk);
            }
        }
        Self {
            tree,
            amounts,
            begun: Instant::now(),
            disks,
            scratch: scratch.and_then(|path| open_no_symlinks(path).ok()),
            own,
            page: rustix::param::page_size() as u64,
            ticks: rustix::param::clock_ticks_per_second(),
        }
    }

    /// Returns whether any limit needs the watch.
    pub(super) fn is_needed(&self) -> bool {
        let Amounts { memory, processes, cpu, disk, .. } = self.amounts;
        memory.is_some() || processes.is_some() || cpu.is_some() || disk.is_some()
    }

    /// Returns the wall-clock deadline.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.amounts.wall.and_then(|wall| self.begun.checked_add(wall))
    }

    /// Checks the limits and returns the first that is exceeded. A cgroup provides some of the
    /// totals.
    pub(super) fn check(&self, group: Option<&Cgroup>) -> Option<LimitHit> {
        let processes = self.tree.processes();
        let threads: u64 = processes.iter().map(|(_, one)| one.threads).sum();
        if self.amounts.processes.is_some_and(|most| threads > u64::from(most)) {
            return Some(LimitHit::Processes);
        }
        let ticks: u64 = processes.iter().map(|(_, one)| one.ticks).sum();
        let cpu =
            || Duration::from_millis(ticks * 1000 / self.ticks) + raw_syscalls::time_of_children();
        let used = |most: &Duration| group.and_then(Cgroup::cpu).unwrap_or_else(cpu) > *most;
        if self.amounts.cpu.filter(used).is_some() {
            return Some(LimitHit::Cpu);
        }
        if group.is_some_and(Cgroup::is_out_of_memory) {
            return Some(LimitHit::Memory);
        }
        let scratch = self.scratch();
        if self.amounts.memory.is_some_and(|most| self.memory(&processes, scratch, most) > most) {
            return Some(LimitHit::Memory);
        }
        let too_full = self.amounts.disk.is_some_and(|most| self.fills(&processes, scratch, most));
        too_full.then_some(LimitHit::Disk)
    }

    /// Returns the bytes of temporary files.
    fn scratch(&self) -> u64 {
        let stat = self.scratch.as_ref().and_then(|folder| rustix::fs::fstatvfs(folder).ok());
        stat.map_or(0, |stat| stat.f_blocks.saturating_sub(stat.f_bfree) * stat.f_frsize)
    }

    /// Returns the used bytes of memory: first a fast estimate, in which shared pages count for
    /// every process; if that exceeds the limit, the exact value.
    fn memory(&self, processes: &[(i32, process_tree::Use)], scratch: u64, most: u64) -> u64 {
        let quick = scratch + processes.iter().map(|(_, one)| one.pages * self.page).sum::<u64>();
        if quick <= most {
            return quick;
        }
        let careful = |(pid, one): &(i32, process_tree::Use)| {
            process_tree::proportional(*pid).unwrap_or(one.pages * self.page)
        };
        scratch + processes.iter().map(careful).sum::<u64>()
    }

    /// Returns whether the disk usage grew by more than the limit because of these processes; other
    /// processes may write too.
    fn fills(&self, processes: &[(i32, process_tree::Use)], scratch: u64, most: u64) -> bool {
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
        let Some(Ok(mut own)) = self.own.as_ref().map(process_tree::read_written) else {
            return true;
        };
        for (pid, _) in processes {
            match process_tree::written(*pid) {
                Ok(written) => own += written,
                // It hides its counters.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return true,
                // It has ended, and its parent has its counters.
                Err(_) => {}
            }
        }
        own + scratch > most
    }
}

impl Disk {
    fn for_path(path: &Path) -> Option<Self> {
        let folder = open_no_symlinks(path).ok()?;
        let device = rustix::fs::fstat(&folder).ok()?.st_dev;
        let stat = rustix::fs::fstatvfs(&folder).ok()?;
        let free = stat.f_bfree * stat.f_frsize;
        Some(Self { folder, device, free, free_files: stat.f_ffree })
    }
}
