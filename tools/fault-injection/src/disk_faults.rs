//! Power cuts, and disks that fail: each load runs on the disk of `shim/disk.c`.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::args::Options;
use crate::disk_shim::{DiskFault, Shim};
use crate::error::Result;
use crate::parallel_trials::run_parallel;
use crate::power_cut::LostWrites;
use crate::report::Tally;

/// Cuts the power so many times; half of them lose everything that was not synced, half some
/// sectors of it.
pub(crate) fn cuts(options: &Options, cuts: u32) -> Result<Tally> {
    let left = AtomicU32::new(0);
    run_parallel(options, Shim::build, |lane| {
        loop {
            let cut = left.fetch_add(1, Ordering::Relaxed);
            if cut >= cuts {
                return lane.close();
            }
            match cut % 2 {
                0 => lane.cut("everything", DiskFault::None, LostWrites::Everything)?,
                _ => lane.cut("some sectors", DiskFault::None, LostWrites::SomeSectors)?,
            };
        }
    })
}

/// Cuts the power at each of the first changes that a process makes to a new database; once, all
/// is lost that was not synced, and twice some sectors of it.
pub(crate) fn creation_cuts(options: &Options, changes: u32) -> Result<Tally> {
    let next = AtomicU32::new(0);
    run_parallel(options, Shim::build, |lane| {
        loop {
            let cut = next.fetch_add(1, Ordering::Relaxed);
            if cut >= changes * 3 {
                return lane.close();
            }
            let fault = DiskFault::Cut(cut / 3 + 1);
            match cut % 3 {
                0 => lane.cut("everything", fault, LostWrites::Everything)?,
                _ => lane.cut("some sectors", fault, LostWrites::SomeSectors)?,
            };
        }
    })
}

/// Faults of the disk, each with the first number it comes at and the step to the next.
type Series = (&'static str, fn(u32) -> DiskFault, u32, u32);
const SERIES: [Series; 5] = [
    ("sync fails", DiskFault::Sync, 1, 1),
    ("syncs fail on", DiskFault::SyncsFrom, 1, 3),
    ("write fails", DiskFault::Write, 1, 7),
    ("writes fail on", DiskFault::WritesFrom, 1, 21),
    ("disk is full", DiskFault::Full, 4_096, 40_000),
];

/// The n-th sync, write or byte fails, for larger and larger n, until a load comes through
/// untouched (reliability 2.1, Lesson).
pub(crate) fn anomalies(options: &Options) -> Result<Tally> {
    let tasks: Vec<AtomicU32> =
        SERIES.iter().map(|(_, _, first, _)| AtomicU32::new(*first)).collect();
    run_parallel(options, Shim::build, |lane| {
        for ((name, fault, _, step), next) in SERIES.iter().zip(&tasks) {
            while lane.cut(
                name,
                fault(next.fetch_add(*step * options.step, Ordering::Relaxed)),
                LostWrites::Everything,
            )? {}
        }
        lane.close()
    })
}
