//! Whether a folder of tools has changed, at the price of one look at each file.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};

use super::runs::{self, State, is_file, state};
use super::threads::side_by_side;
use super::{is_passed_over, manifest, manifest::MANIFEST};

/// Files of one tool that are looked at; what lies beyond is not what makes a tool.
const FILES: usize = 200;

/// A number that changes when a tool is added, removed or redefined, or its program is replaced or gets or loses its right to be
/// executed: names, sizes, inodes, modes and times of change of every `tool.toml`, every executable file and every script that a command
/// names. Equal numbers of two processes mean nothing. What a tool writes into its own folder does not change it.
///
/// Cheap enough to ask before every round: callers attach the source again when it is another number.
#[must_use]
pub fn fingerprint(dir: &Path) -> u64 {
    Commands::default().fingerprint(dir)
}

/// The files that definitions name, known as long as a definition stays as it is: reading it is the dear part.
#[derive(Debug, Clone, Default)]
pub(super) struct Commands(Arc<Mutex<HashMap<PathBuf, Named>>>);

/// The state of a definition, and the words of its command that may name a file.
type Named = (State, Arc<[String]>);

impl Commands {
    /// See [`fingerprint`].
    pub(super) fn fingerprint(&self, dir: &Path) -> u64 {
        of(dir, self)
    }

    /// The words of a tool's command that may name a file, by its definition in this state.
    fn named(&self, folder: &Path, now: State) -> Arc<[String]> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(folder) {
            Some((then, words)) if *then == now => Arc::clone(words),
            _ => {
                let words: Arc<[String]> = runs::named(&manifest::command(folder)).into();
                known.insert(folder.to_owned(), (now, Arc::clone(&words)));
                words
            }
        }
    }
}

fn of(dir: &Path, commands: &Commands) -> u64 {
    let Ok(root) = openat(CWD, dir, FOLDER, Mode::empty()) else { return 0 };
    let Ok(entries) = Dir::read_from(&root) else { return 0 };
    let folders = entries.filter_map(Result::ok).filter(|entry| {
        use FileType::{Directory, Symlink, Unknown};
        matches!(entry.file_type(), Directory | Symlink | Unknown)
            && !is_passed_over(OsStr::from_bytes(entry.file_name().to_bytes()))
    });
    let names: Vec<CString> = folders.map(|entry| entry.file_name().to_owned()).collect();
    let one = |name: &CString| of_tool(&root, dir, name, commands).unwrap_or_default();
    // The sum does not depend on the order in which the system lists them.
    side_by_side(&names, one).into_iter().fold(1, u64::wrapping_add)
}

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

fn of_tool(
    root: &OwnedFd,
    dir: &Path,
    name: &CStr,
    commands: &Commands,
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
            named = Some(commands.named(&path, state(&stat)));
        }
        if stat.st_mode & 0o111 != 0 || is_definition {
            let one = hashed(|hasher| {
                name.hash(hasher);
                file.file_name().hash(hasher);
                state(&stat).hash(hasher);
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
                state(&stat).hash(hasher);
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
