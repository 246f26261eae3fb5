//! The id of this daemon across its restarts, in a file of its folder: in a shared database, the
//! next daemon of the folder takes over the work of a crashed one at once.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use toolcrib_app::LockedFile;
use toolcrib_core::BatchId;

use crate::output::Failure;

/// Name of the file in the daemon's folder.
const FILE: &str = "instance";
/// Maximum number of bytes of the content; an id is shorter.
const MAX_BYTES: usize = 100;

/// Reads the id, or creates one.
///
/// # Errors
/// Exit code 1 if the file cannot be read or written.
pub(super) fn load_or_create(folder: &Path) -> Result<String, Failure> {
    let path = folder.join(FILE);
    let failed = |error: std::io::Error| {
        Failure::run(format!("the file {} cannot be used: {error}", path.display()))
    };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let file = LockedFile::wait(path.clone()).map_err(failed)?;
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error)),
    };
    let known = text.trim();
    if !known.is_empty() && known.len() <= MAX_BYTES {
        return Ok(known.to_owned());
    }
    // Any unique text is suitable; ids are unique across machines.
    let fresh = BatchId::fresh().to_string();
    file.replace(&format!("{fresh}\n")).map_err(failed)?;
    Ok(fresh)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_created_once_for_each_folder() {
        let folder = tempfile::tempdir().unwrap();
        let first = load_or_create(&folder.path().join("a")).unwrap();
        assert_eq!(load_or_create(&folder.path().join("a")).unwrap(), first);
        assert_ne!(load_or_create(&folder.path().join("b")).unwrap(), first);
    }
}
