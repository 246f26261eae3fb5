//! Reads regular files up to a size limit.

use std::io::Read as _;

use rustix::fs::{OFlags, Stat};

use toolcrib_core::PathAccess;

use super::error::{FsError, FsErrorKind};
use super::resolve::{LinkPolicy, ResolvedPath};
use super::roots::Roots;

/// Opens the regular file at a path of the caller; returns it and its size in bytes.
///
/// # Errors
/// [`FsError`]: outside the roots, denied by a rule, missing, a folder, or a special file.
pub fn open(roots: &Roots, path: &str) -> Result<(std::fs::File, u64), FsError> {
    let spot = roots.resolve(path, LinkPolicy::Follow)?;
    roots.denials().check(PathAccess::Read, &spot).map_err(|fault| fault.at(path))?;
    let (file, stat) = open_regular_file(&spot).map_err(|fault| fault.at(path))?;
    Ok((file, size(&stat)))
}

/// Opens the regular file at a resolved path.
pub(super) fn open_regular_file(spot: &ResolvedPath) -> Result<(std::fs::File, Stat), FsErrorKind> {
    spot.open_file(OFlags::RDONLY)
}

/// Reads the regular file at a resolved path if it has at most `max` bytes.
pub(super) fn read_bounded(spot: &ResolvedPath, max: u64) -> Result<(Vec<u8>, Stat), FsErrorKind> {
    let (file, stat) = open_regular_file(spot)?;
    let too_large = || FsErrorKind::TooLarge(format!("it has more than {max} bytes."));
    if size(&stat) > max {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max { Err(too_large()) } else { Ok((bytes, stat)) }
}

/// Returns the size in bytes.
pub(crate) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}
