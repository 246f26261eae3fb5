//! Bytes of plain files, bounded.

use std::io::Read as _;

use rustix::fs::{OFlags, Stat};

use super::beneath::{Last, Spot};
use super::error::{Fault, FsError};
use super::roots::Roots;

/// The open plain file at a path of the caller, and its size in bytes.
///
/// # Errors
/// [`FsError`]: outside, missing, a folder, or something that is no plain file.
pub fn open(roots: &Roots, path: &str) -> Result<(std::fs::File, u64), FsError> {
    let spot = roots.resolve(path, Last::Follow)?;
    let (file, stat) = open_at(&spot).map_err(|fault| fault.at(path))?;
    Ok((file, size(&stat)))
}

/// The open plain file at a spot.
pub(super) fn open_at(spot: &Spot) -> Result<(std::fs::File, Stat), Fault> {
    spot.open_file(OFlags::RDONLY)
}

/// All bytes of the plain file at a spot, when there are at most `max`.
pub(super) fn all(spot: &Spot, max: u64) -> Result<(Vec<u8>, Stat), Fault> {
    let (file, stat) = open_at(spot)?;
    let too_large = || Fault::TooLarge(format!("it has more than {max} bytes."));
    if size(&stat) > max {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max { Err(too_large()) } else { Ok((bytes, stat)) }
}

/// Size in bytes.
pub(crate) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}
