//! Detects changes of a tool folder with one `stat` per file.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};

use super::parallel::parallel_map;
use super::program_digest::{self, FileStamp, file_stamp, is_file};
use super::tool_folders::is_skipped;
use super::{manifest, manifest::MANIFEST};

/// Files per tool that are checked; a definition names far fewer.
const FILES: usize = 200;

/// Returns a number that changes when a tool is added, removed or redefined, or when its program is
/// replaced or gains or loses execute permission. It covers names, sizes, inodes, modes and change
/// times of every `tool.toml`, every executable file and every script that a command names. Files
/// that a tool writes into its own folder do not change it. The numbers of two processes cannot be
/// compared.
///
/// It is cheap enough to compute before every round: the caller attaches the source again when the
/// number differs.
#[must_use]
pub fn fingerprint(dir: &Path) -> u64 {
    CommandCache::default().fingerprint(dir)
}

/// The files that definitions name, cached until the definition changes: parsing it is the
/// expensive part.
#[derive(Debug, Clone, Default)]
pub(super) struct CommandCache(Arc<Mutex<HashMap<PathBuf, CachedCommand>>>);

/// File stamp of a definition, and the words of its command that may name a file.
type CachedCommand = (FileStamp, Arc<[String]>);

impl CommandCache {
    /// Same as [`fingerprint()`], with this cache.
    pub(super) fn fingerprint(&self, dir: &Path) -> u64 {
        of_folder(dir, self)
    }

    /// Returns the words of a tool's command that may name a file, from the definition with this
    /// stamp.
    fn named(&self, folder: &Path, now: FileStamp) -> Arc<[String]> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(folder) {
            Some((then, words)) if *then == now => Arc::clone(words),
            _ => {
                let words: Arc<[String]> =
                    program_digest::files_to_digest(&manifest::command(folder)).into();
                known.insert(folder.to_owned(), (now, Arc::clone(&words)));
                words
            }
        }
    }
}

fn of_folder(dir: &Path, commands: &CommandCache) -> u64 {
    let Ok(root) = openat(CWD, dir, FOLDER, Mode::empty()) else { return 0 };
    let Ok(entries) = Dir::read_from(&root) else { return 0 };
    let folders = entries.filter_map(Result::ok).filter(|entry| {
        use FileType::{Directory, Symlink, Unknown};
        matches!(entry.file_type(), Directory | Symlink | Unknown)
            && !is_skipped(OsStr::from_bytes(entry.file_name().to_bytes()))
    });
    let names: Vec<CString> = folders.map(|entry| entry.file_name().to_owned()).collect();
    let one = |name: &CString| of_tool(&root, dir, name, commands).unwrap_or_default();
    // A sum, because the system lists folders in no fixed order.
    parallel_map(&names, one).into_iter().fold(1, u64::wrapping_add)
}

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

fn of_tool(
    root: &OwnedFd,
    dir: &Path,
    name: &CStr,
    commands: &CommandCache,
) -> rustix::io::Result<u64> {
    use FileType::{RegularFile, Symlink, Unknown};
    let mut folder = Dir::new(openat(root, name, FOLDER, Mode::empty())?)?;
    let mut sum = hashed(|hasher| name.hash(hasher));
    let mut named = None;
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
        let is_definition = file.file_name().to_bytes() == MANIFEST.as_bytes();
        if is_definition {
            let path = dir.join(OsStr::from_bytes(name.to_bytes()));
            named = Some(commands.named(&path, file_stamp(&stat)));
        }
        if stat.st_mode & 0o111 != 0 || is_definition {
            let one = hashed(|hasher| {
                name.hash(hasher);
                file.file_name().hash(hasher);
                file_stamp(&stat).hash(hasher);
            });
            sum = sum.wrapping_add(one);
        }
    }
    for word in named.iter().flat_map(|words| words.iter()) {
        let Ok(stat) = statat(folder.fd()?, word.as_str(), AtFlags::empty()) else { continue };
        if is_file(&stat) {
            let one = hashed(|hasher| {
                name.hash(hasher);
                word.hash(hasher);
                file_stamp(&stat).hash(hasher);
            });
            sum = sum.wrapping_add(one);
        }
    }
    Ok(sum)
}

fn hashed(feed: impl FnOnce(&mut DefaultHasher)) -> u64 {
    let mut hasher = DefaultHasher::new();
    feed(&mut hasher);
    hasher.finish()
}
