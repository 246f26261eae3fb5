//! The clocks of the daemons: one for each, which the trial sets (see `shim/clock.c`).

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};

use crate::error::Result;
use crate::preload_library::PreloadLibrary;

const SOURCE: &str = include_str!("../../../shim/clock.c");
/// How far all clocks are set ahead at most, in seconds. A claim on a task, 60 s, ends by it.
const AHEAD: i64 = 150;
/// How far all clocks are set back at most, in seconds.
const BACK: i64 = 60;
/// How far one daemon's clock is from the others at most, in seconds.
const SKEW: i64 = 90;
/// By how much all clocks are set ahead at the end, in seconds: no claim holds any more.
const FINAL: i64 = 240;

/// The clocks of all daemons.
pub(super) struct Clocks {
    library: PreloadLibrary,
    files: Vec<PathBuf>,
    /// Seconds that all clocks are ahead of the real one.
    common: i64,
    /// Seconds that each daemon's clock is ahead of that.
    skews: Vec<i64>,
}

impl Clocks {
    /// Clocks that show the real time.
    pub(super) fn new(daemons: u32, folder: &Path) -> Result<Self> {
        let library = PreloadLibrary::compile(SOURCE)?;
        let files: Vec<PathBuf> =
            (0..daemons).map(|node| folder.join(format!("clock-{node}"))).collect();
        for file in &files {
            fs::write(file, 0_i64.to_ne_bytes())?;
        }
        let skews = vec![0; files.len()];
        Ok(Self { library, files, common: 0, skews })
    }

    /// The variables of each daemon.
    pub(super) fn variables(&self) -> Vec<Vec<(&'static str, PathBuf)>> {
        let one = |file: &PathBuf| {
            vec![("LD_PRELOAD", self.library.path.clone()), ("CRASH_CLOCK", file.clone())]
        };
        self.files.iter().map(one).collect()
    }

    /// What a daemon's clock shows.
    pub(super) fn now(&self, node: usize) -> Timestamp {
        let ahead = self.common + self.skews.get(node).copied().unwrap_or_default();
        Timestamp::now().saturating_add(SignedDuration::from_secs(ahead)).unwrap_or(Timestamp::MAX)
    }

    /// Sets some clocks, or none; what was done.
    pub(super) fn change(&mut self, rng: &mut Rng) -> Result<&'static str> {
        let done = match rng.u8(..8) {
            0..=1 => return Ok("clocks_left_alone"),
            2..=4 => {
                self.common += rng.i64(5..=AHEAD);
                "clocks_set_ahead"
            }
            5 => {
                self.common -= rng.i64(1..=BACK);
                "clocks_set_back"
            }
            _ => {
                let node = rng.usize(..self.skews.len());
                if let Some(skew) = self.skews.get_mut(node) {
                    *skew = rng.i64(-SKEW..=SKEW);
                }
                "clocks_of_one_daemon_set"
            }
        };
        self.write()?;
        Ok(done)
    }

    /// Sets all clocks to one time at which no claim of before holds.
    pub(super) fn end_claims(&mut self) -> Result<()> {
        self.common += FINAL;
        self.skews.fill(0);
        self.write()
    }

    fn write(&self) -> Result<()> {
        for (file, skew) in self.files.iter().zip(&self.skews) {
            let nanos = (self.common + skew).saturating_mul(1_000_000_000);
            // In place: the daemons have mapped the file.
            OpenOptions::new().write(true).open(file)?.write_all_at(&nanos.to_ne_bytes(), 0)?;
        }
        Ok(())
    }
}
