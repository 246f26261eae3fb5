//! How long something takes: CPU time of this process, so that a busy neighbour counts less; the
//! best of several rounds.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// CPU time of the whole process so far.
pub(crate) fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// CPU nanoseconds of one `work`, the median of `rounds` rounds of `times` each.
pub(crate) fn cpu_nanos(rounds: usize, times: u32, mut work: impl FnMut()) -> f64 {
    work();
    median((0..rounds).map(|_| {
        let begun = cpu();
        (0..times).for_each(|_| work());
        (cpu() - begun).as_nanos() as f64 / f64::from(times)
    }))
}

/// CPU milliseconds of one `work`, the median of `rounds`; what it returns is freed afterwards.
pub(crate) fn cpu_ms<T>(rounds: usize, mut work: impl FnMut() -> T) -> f64 {
    drop(work());
    median((0..rounds).map(|_| {
        let begun = cpu();
        let made = work();
        let taken = (cpu() - begun).as_secs_f64() * 1000.0;
        drop(made);
        taken
    }))
}

/// Wall milliseconds of one `work`, the median of `rounds`.
pub(crate) fn wall_ms(rounds: usize, mut work: impl FnMut()) -> f64 {
    work();
    median((0..rounds).map(|_| {
        let begun = Instant::now();
        work();
        begun.elapsed().as_secs_f64() * 1000.0
    }))
}

pub(crate) fn median(samples: impl Iterator<Item = f64>) -> f64 {
    let mut samples: Vec<f64> = samples.collect();
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}
