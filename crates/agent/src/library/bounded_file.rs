//! Bounded file reading: limited size, UTF-8, and never through a link that leaves its folder.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Size limit of a file, in bytes (256 KB).
pub(super) const MAX_BYTES: u64 = 256 * 1024;

/// Reads the text of `path`, which must be inside `folder` after links are resolved: an untrusted
/// project must not make the model read other files of this machine.
///
/// # Errors
/// The problem, as a sentence fragment.
pub(super) fn read(folder: &Path, path: &Path) -> Result<String, String> {
    let bytes = bytes(folder, path, MAX_BYTES)?;
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())?;
    if text.contains('\0') {
        return Err("is not text: it holds NUL bytes".to_owned());
    }
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// Reads the bytes of `path`, at most `most`, under the same rule.
///
/// # Errors
/// The problem, as a sentence fragment.
pub(super) fn bytes(folder: &Path, path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let real = path.canonicalize().map_err(unreadable)?;
    if !real.starts_with(folder.canonicalize().map_err(unreadable)?) {
        return Err("is a link that leads out of its folder".to_owned());
    }
    let file = fs::File::open(&real).map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    if !meta.is_file() {
        return Err("is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > most {
        return Err(format!("is longer than {} KB", most / 1024));
    }
    Ok(bytes)
}

/// Lists the entries of a folder by name, without hidden ones; a missing folder has none.
///
/// # Errors
/// The problem, as a sentence fragment.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let listing = match fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut paths = Vec::new();
    for entry in listing {
        let entry = entry.map_err(unreadable)?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}
