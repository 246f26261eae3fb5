//! What a call of a folder's tool runs, told apart by its content, so that an approval of one program is none of the next.
//!
//! Covered is the program where it belongs to the tool, and the files that are named to an interpreter. What a program loads by itself
//! is not: nobody but the program knows it.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, OFlags, Stat, fstat, stat};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use toolcrib_core::canonical;

/// Bytes of a file whose content is compared. Scripts stay far below; of a larger program number, size and time of change stand in.
const BYTES: u64 = 8 * 1024 * 1024;

/// What of a file changes with it. The time of change covers content, name and mode.
pub(super) type State = [i128; 5];

pub(super) fn state(stat: &Stat) -> State {
    [
        i128::from(stat.st_ino),
        i128::from(stat.st_mode),
        i128::from(stat.st_size),
        i128::from(stat.st_ctime),
        i128::from(stat.st_ctime_nsec),
    ]
}

/// The words of a command that may name what is run: the program where it lies beside the definition, else what the program is given.
/// A program of the tool's own gets its data as arguments, and those it may change.
pub(super) fn named(command: &[String]) -> &[String] {
    match command {
        [program, ..] if is_beside(program) => command.get(..1).unwrap_or_default(),
        _ => command.get(1..).unwrap_or_default(),
    }
}

fn is_beside(program: &str) -> bool {
    program.contains('/') && !program.starts_with('/')
}

pub(super) fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// What a tool ran when it was loaded.
#[derive(Debug)]
pub(super) struct Runs {
    files: Vec<Ran>,
}

#[derive(Debug)]
struct Ran {
    path: PathBuf,
    state: State,
    content: String,
}

impl Runs {
    /// Looks at what this command runs in this folder.
    pub(super) fn of(folder: &Path, command: &[String]) -> Self {
        let paths = named(command).iter().map(|word| folder.join(word));
        Self { files: paths.filter_map(Ran::of).collect() }
    }

    /// A hash of all that decides what a call runs: folder, command, what stands in for missing configuration, and the programs.
    pub(super) fn digest(
        &self,
        folder: &Path,
        command: &[String],
        defaults: &[(String, String)],
    ) -> String {
        let contents: Vec<&str> = self.files.iter().map(|file| file.content.as_str()).collect();
        canonical::sha256(&json!({
            "folder": folder.to_string_lossy(),
            "command": command,
            "defaults": defaults,
            "contents": contents,
        }))
    }

    /// Whether it still is what it was. One look at each file, as long as nobody touched it.
    pub(super) fn is_same(&self) -> bool {
        self.files.iter().all(Ran::is_same)
    }
}

impl Ran {
    fn of(path: PathBuf) -> Option<Self> {
        let before = stat(&path).ok().filter(is_file)?;
        // A program that may be run and not read is told by its state.
        let content = content(&path).unwrap_or_else(|_| told_by(&state(&before)));
        Some(Self { path, state: state(&before), content })
    }

    fn is_same(&self) -> bool {
        match stat(&self.path) {
            Ok(now) if state(&now) == self.state => true,
            Ok(now) if is_file(&now) => {
                content(&self.path).unwrap_or_else(|_| told_by(&state(&now))) == self.content
            }
            Ok(_) => false,
            // What is gone does not run, and the start says so in better words.
            Err(_) => true,
        }
    }
}

fn told_by(state: &State) -> String {
    format!("{state:?}")
}

fn content(path: &Path) -> io::Result<String> {
    let nonblock = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(nonblock).open(path)?;
    let stat = fstat(&file)?;
    if u64::try_from(stat.st_size).unwrap_or(u64::MAX) > BYTES {
        return Ok(told_by(&state(&stat)));
    }
    let mut bytes = Vec::new();
    file.take(BYTES + 1).read_to_end(&mut bytes)?;
    Ok(canonical::hex(&Sha256::digest(&bytes)))
}
