//! Whether a folder of tools has changed, at the price of one look at each file.

use std::ffi::{CStr, OsStr};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, statat};

use super::{is_passed_over, manifest::MANIFEST};

/// Files of one tool that are looked at; what lies beyond is not what makes a tool.
const FILES: usize = 200;

/// A number that changes when a tool is added, removed or redefined, or its program is replaced or gets or loses its right to be
/// executed: names, sizes, inodes, modes and times of change of every `tool.toml` and every executable file. Equal numbers of two
/// processes mean nothing. What a tool writes into its own folder does not change it.
///
/// Cheap enough to ask before every round: callers attach the source again when it is another number.
#[must_use]
pub fn fingerprint(dir: &Path) -> u64 {
    let Ok(root) = openat(CWD, dir, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) else {
        return 0;
    };
    let Ok(entries) = Dir::read_from(&root) else { return 0 };
    let folders = entries.filter_map(Result::ok).filter(|entry| {
        let name = entry.file_name();
        let may_be_folder = matches!(
            entry.file_type(),
            FileType::Directory | FileType::Symlink | FileType::Unknown
        );
        may_be_folder && !is_passed_over(OsStr::from_bytes(name.to_bytes()))
    });
    // The sum does not depend on the order in which the system lists them.
    folders.fold(1, |sum, entry| sum.wrapping_add(of_tool(&root, entry.file_name())))
}

fn of_tool(root: &OwnedFd, name: &CStr) -> u64 {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = openat(root, name, flags, Mode::empty()) else { return 0 };
    let Ok(entries) = Dir::read_from(&folder) else { return 0 };
    let files = entries.filter_map(Result::ok).filter(|entry| {
        matches!(entry.file_type(), FileType::RegularFile | FileType::Symlink | FileType::Unknown)
    });
    let mut sum = hashed(|hasher| name.hash(hasher));
    for file in files.take(FILES) {
        let Ok(stat) = statat(&folder, file.file_name(), AtFlags::empty()) else { continue };
        let is_manifest = file.file_name().to_bytes() == MANIFEST.as_bytes();
        if is_manifest || stat.st_mode & 0o111 != 0 {
            let one = hashed(|hasher| {
                name.hash(hasher);
                file.file_name().hash(hasher);
                state(&stat).hash(hasher);
            });
            sum = sum.wrapping_add(one);
        }
    }
    sum
}

/// What of a file changes with it. The time of change covers content, name and mode.
fn state(stat: &Stat) -> [i128; 5] {
    [
        i128::from(stat.st_ino),
        i128::from(stat.st_mode),
        i128::from(stat.st_size),
        i128::from(stat.st_ctime),
        i128::from(stat.st_ctime_nsec),
    ]
}

fn hashed(feed: impl FnOnce(&mut DefaultHasher)) -> u64 {
    let mut hasher = DefaultHasher::new();
    feed(&mut hasher);
    hasher.finish()
}
