//! Power cuts, and disks that fail: each load runs on the disk of `shim/disk.c`.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::Result;
use crate::args::Options;
use crate::cut::Loses;
use crate::lanes::on_lanes;
use crate::report::Tally;
use crate::shim::{Fault, Shim};

/// Cuts the power so many times; half of them lose everything that was not synced, half some sectors of it.
pub(crate) fn cuts(options: &Options, cuts: u32) -> Result<Tally> {
    let left = AtomicU32::new(0);
    on_lanes(options, Shim::build, |lane| {
        loop {
            let cut = left.fetch_add(1, Ordering::Relaxed);
            if cut >= cuts {
                return lane.close();
            }
            match cut % 2 {
                0 => lane.cut("everything", Fault::None, Loses::Everything)?,
                _ => lane.cut("some sectors", Fault::None, Loses::SomeSectors)?,
            };
        }
    })
}

/// Faults of the disk, each with the first number it comes at and the step to the next.
type Series = (&'static str, fn(u32) -> Fault, u32, u32);
const SERIES: [Series; 3] = [
    ("sync fails", Fault::Sync, 1, 1),
    ("write fails", Fault::Write, 1, 7),
    ("disk is full", Fault::Full, 4_096, 40_000),
];

/// The n-th sync, write or byte fails, for larger and larger n, until a load comes through untouched (reliability 2.1, Lesson).
pub(crate) fn anomalies(options: &Options) -> Result<Tally> {
    let tasks: Vec<AtomicU32> =
        SERIES.iter().map(|(_, _, first, _)| AtomicU32::new(*first)).collect();
    on_lanes(options, Shim::build, |lane| {
        for ((name, fault, _, step), next) in SERIES.iter().zip(&tasks) {
            while lane.cut(
                name,
                fault(next.fetch_add(*step * options.step, Ordering::Relaxed)),
                Loses::Everything,
            )? {}
        }
        lane.close()
    })
}
