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
    let Ok(root) = openat(CWD, dir, FOLDER, Mode::empty()) else { return 0 };
    let Ok(entries) = Dir::read_from(&root) else { return 0 };
    let folders = entries.filter_map(Result::ok).filter(|entry| {
        use FileType::{Directory, Symlink, Unknown};
        matches!(entry.file_type(), Directory | Symlink | Unknown)
            && !is_passed_over(OsStr::from_bytes(entry.file_name().to_bytes()))
    });
    // The sum does not depend on the order in which the system lists them.
    folders.fold(1, |sum, entry| {
        sum.wrapping_add(of_tool(&root, entry.file_name()).unwrap_or_default())
    })
}

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

fn of_tool(root: &OwnedFd, name: &CStr) -> rustix::io::Result<u64> {
    use FileType::{RegularFile, Symlink, Unknown};
    let mut folder = Dir::new(openat(root, name, FOLDER, Mode::empty())?)?;
    let mut sum = hashed(|hasher| name.hash(hasher));
    let mut left = FILES;
    while let Some(Ok(file)) = folder.read() {
        if left == 0 {
            break;
        }
        if !matches!(file.file_type(), RegularFile | Symlink | Unknown) {
            continue;
        }
        left -= 1;
        let Ok(stat) = statat(folder.fd()?, file.file_name(), AtFlags::empty()) else { continue };
        if stat.st_mode & 0o111 != 0 || file.file_name().to_bytes() == MANIFEST.as_bytes() {
            let one = hashed(|hasher| {
                name.hash(hasher);
                file.file_name().hash(hasher);
                state(&stat).hash(hasher);
            });
            sum = sum.wrapping_add(one);
        }
    }
    Ok(sum)
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
