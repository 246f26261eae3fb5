//! The machine: its clock, its time zone, and the limit on open files.

use std::fs;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rustix::process::{Resource, getrlimit};

use super::Finding;
use crate::bootstrap;
use crate::output::Failure;

const CLOCK: &str = "clock";
/// A clock before this time is wrong: no version of this program is older.
const EARLIEST: &str = "2026-01-01T00:00:00Z";
/// A file whose modification time is further in the future was changed with another clock.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(300);
/// Number of files that a daemon with many clients opens.
const MIN_OPEN_FILES: u64 = 4_096;

pub(super) fn check() -> Result<Vec<Finding>, Failure> {
    let mut found = vec![clock()?];
    match TimeZone::try_system() {
        Ok(zone) => {
            let name = zone.iana_name().unwrap_or("without a name").to_owned();
            found.push(Finding::ok(CLOCK, format!("the time zone is {name}")));
        }
        Err(error) => found.push(
            Finding::warn(CLOCK, format!("the time zone is unknown: {error}"))
                .with_fix("set TZ, such as TZ=Europe/Vienna"),
        ),
    }
    found.push(open_file_limit());
    Ok(found)
}

fn clock() -> Result<Finding, Failure> {
    let now = Timestamp::now();
    if EARLIEST.parse::<Timestamp>().is_ok_and(|earliest| now < earliest) {
        return Ok(Finding::fail(CLOCK, format!("the clock shows {now}, which is in the past"))
            .with_fix("set the clock; tokens, deadlines and the audit log depend on it"));
    }
    let log = bootstrap::database_path()?.with_extension("db-wal");
    let newest = [bootstrap::database_path()?, log]
        .iter()
        .filter_map(|path| fs::metadata(path).ok()?.modified().ok())
        .max();
    let ahead = newest.and_then(|newest| newest.duration_since(SystemTime::now()).ok());
    Ok(match ahead.filter(|ahead| *ahead > MAX_CLOCK_SKEW) {
        Some(ahead) => Finding::warn(
            CLOCK,
            format!(
                "the database was written {} s in the future: the clock was set back",
                ahead.as_secs()
            ),
        )
        .with_fix("set the clock; deadlines of questions depend on it"),
        None => {
            Finding::ok(CLOCK, format!("the time is {}", now.strftime("%Y-%m-%d %H:%M:%S UTC")))
        }
    })
}

fn open_file_limit() -> Finding {
    const NAME: &str = "limits";
    let limit = getrlimit(Resource::Nofile);
    // A daemon raises the soft limit to the hard one.
    match limit.maximum {
        Some(most) if most < MIN_OPEN_FILES => Finding::warn(
            NAME,
            format!("a process may have {most} files open, which limits the number of clients"),
        )
        .with_fix("raise the limit: `ulimit -Hn`, or LimitNOFILE= of the service"),
        Some(most) => Finding::ok(NAME, format!("a process may have {most} files open")),
        None => Finding::ok(NAME, "the number of open files is unlimited"),
    }
}
