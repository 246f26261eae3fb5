//! Digest of the program that a call of an external tool runs, so that an approval of one program
//! does not cover a changed one.
//!
//! The digest covers the program if it belongs to the tool, and the files passed to an interpreter.
//! It cannot cover code that the program loads itself.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, OFlags, Stat, fstat, stat};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use toolcrib_core::canonical_json;

/// Largest file whose content is hashed. Scripts are far smaller; larger programs are identified by
/// inode, mode, size and change time.
const BYTES: u64 = 8 * 1024 * 1024;

/// File metadata that changes with the file. The change time covers content, name and mode.
pub(super) type FileStamp = [i128; 5];

pub(super) fn file_stamp(stat: &Stat) -> FileStamp {
    [
        i128::from(stat.st_ino),
        i128::from(stat.st_mode),
        i128::from(stat.st_size),
        i128::from(stat.st_ctime),
        i128::from(stat.st_ctime_nsec),
    ]
}

/// Returns the words of a command that may name executed files: only the program if it is in the
/// tool's folder, otherwise the arguments. The arguments of a tool's own program are data, which
/// may change.
pub(super) fn files_to_digest(command: &[String]) -> &[String] {
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

/// The files that a tool ran when it was loaded.
#[derive(Debug)]
pub(super) struct ProgramDigest {
    files: Vec<DigestedFile>,
}

#[derive(Debug)]
struct DigestedFile {
    path: PathBuf,
    state: FileStamp,
    content: String,
}

impl ProgramDigest {
    /// Records the files that this command runs in this folder.
    pub(super) fn new(folder: &Path, command: &[String]) -> Self {
        let paths = files_to_digest(command).iter().map(|word| folder.join(word));
        Self { files: paths.filter_map(DigestedFile::read).collect() }
    }

    /// Hashes everything that determines which code a call runs: folder, command, configuration
    /// defaults and programs.
    pub(super) fn digest(
        &self,
        folder: &Path,
        command: &[String],
        defaults: &[(String, String)],
    ) -> String {
        let contents: Vec<&str> = self.files.iter().map(|file| file.content.as_str()).collect();
        canonical_json::sha256(&json!({
            "folder": folder.to_string_lossy(),
            "command": command,
            "defaults": defaults,
            "contents": contents,
        }))
    }

    /// Returns whether the files are unchanged. Costs one `stat` per file unless one was modified.
    pub(super) fn is_unchanged(&self) -> bool {
        self.files.iter().all(DigestedFile::is_unchanged)
    }
}

impl DigestedFile {
    fn read(path: PathBuf) -> Option<Self> {
        let before = stat(&path).ok().filter(is_file)?;
        // A program may be executable but not readable; its metadata then stands in for its
        // content.
        let content = content(&path).unwrap_or_else(|_| stamp_text(&file_stamp(&before)));
        Some(Self { path, state: file_stamp(&before), content })
    }

    fn is_unchanged(&self) -> bool {
        match stat(&self.path) {
            Ok(now) if file_stamp(&now) == self.state => true,
            Ok(now) if is_file(&now) => {
                content(&self.path).unwrap_or_else(|_| stamp_text(&file_stamp(&now)))
                    == self.content
            }
            Ok(_) => false,
            // A missing file cannot run, and the start reports it with a better message.
            Err(_) => true,
        }
    }
}

fn stamp_text(state: &FileStamp) -> String {
    format!("{state:?}")
}

fn content(path: &Path) -> io::Result<String> {
    let nonblock = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(nonblock).open(path)?;
    let stat = fstat(&file)?;
    if u64::try_from(stat.st_size).unwrap_or(u64::MAX) > BYTES {
        return Ok(stamp_text(&file_stamp(&stat)));
    }
    let mut bytes = Vec::new();
    file.take(BYTES + 1).read_to_end(&mut bytes)?;
    Ok(canonical_json::hex(&Sha256::digest(&bytes)))
}
