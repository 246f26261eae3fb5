//! Lanes: the same work on several databases at once.

use std::time::Instant;

use crate::args::Options;
use crate::disk_shim::Shim;
use crate::error::Result;
use crate::report::Tally;
use crate::trial::Trial;

/// Does the work on every lane, each with a disk of its own, and adds up what they found.
pub(crate) fn run_parallel<D: Into<Option<Shim>>>(
    options: &Options,
    disk: impl Fn() -> Result<D> + Sync,
    work: impl Fn(&mut Trial) -> Result<()> + Sync,
) -> Result<Tally> {
    let start = Instant::now();
    let mut sum = Tally { seed: options.seed, ..Tally::default() };
    let one_lane = |number: u32| {
        let mut lane = Trial::new(options.seed.wrapping_add(number.into()), disk()?.into())?;
        work(&mut lane)?;
        Ok(lane.tally)
    };
    let one_lane = &one_lane;
    let lanes: Vec<Result<Tally>> = std::thread::scope(|scope| {
        let lanes: Vec<_> =
            (0..options.lanes).map(|number| scope.spawn(move || one_lane(number))).collect();
        let broke = |_| Err("a lane broke".into());
        lanes.into_iter().map(|lane| lane.join().unwrap_or_else(broke)).collect()
    });
    for tally in lanes {
        sum.add(tally?);
    }
    sum.seconds = start.elapsed().as_secs_f64();
    Ok(sum)
}
