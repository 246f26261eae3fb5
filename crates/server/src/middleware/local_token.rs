//! The token of this machine, in a file that only the owner's user can read; it has the role owner.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use toolcrib_app::LockedFile;

use super::token_format;
use crate::start_error::StartError;

/// Name of the file in the daemon's folder.
const FILE: &str = "token";
/// Maximum number of bytes to read from the file: more than a token, so that other content is
/// detected.
const BYTES: u64 = 256;

/// Reads the token of this folder, or creates one. The folder gets the mode 0700.
pub(super) fn load_or_create(folder: &Path) -> Result<String, StartError> {
    let unusable = |error: &dyn std::fmt::Display| {
        StartError::Listen(format!("the folder {} cannot be used: {error}", folder.display()))
    };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| unusable(&e))?;
    let mode = fs::metadata(folder).map_err(|e| unusable(&e))?.permissions().mode();
    if mode & 0o077 != 0 {
        fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(|e| unusable(&e))?;
    }
    let path = folder.join(FILE);
    match read(&path)? {
        Some(token) => Ok(token),
        None => {
            let token = token_format::generate().map_err(|e| unusable(&e))?;
            let file = LockedFile::wait(path.clone()).map_err(|e| unusable(&e))?;
            // Another daemon may have created the file meanwhile.
            if let Some(token) = read(&path)? {
                return Ok(token);
            }
            file.replace(&format!("{token}\n")).map_err(|e| unusable(&e))?;
            Ok(token)
        }
    }
}

/// Reads the token. `None` if the file does not exist or is empty.
fn read(path: &Path) -> Result<Option<String>, StartError> {
    let refused = |why: &str| {
        let path = path.display();
        StartError::Listen(format!(
            "the token file {path} {why}; delete it, and the daemon creates a new token"
        ))
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened: Result<OwnedFd, io::Error> =
        rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from);
    let file = match opened {
        Ok(file) => fs::File::from(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(&format!("cannot be read ({error})"))),
    };
    let about = file.metadata().map_err(|error| refused(&error.to_string()))?;
    if !about.is_file() || about.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused("is not a file of the user that the daemon runs as"));
    }
    if about.mode() & 0o077 != 0 {
        return Err(refused("is readable by other users, who may know the token"));
    }
    let mut text = String::new();
    file.take(BYTES).read_to_string(&mut text).map_err(|error| refused(&error.to_string()))?;
    match text.trim() {
        "" => Ok(None),
        token if token_format::is_token(token) => Ok(Some(token.to_owned())),
        _ => Err(refused("holds no token")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode_of(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn it_is_created_once_and_again_when_it_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("state/daemon");
        let first = load_or_create(&folder).unwrap();
        assert_eq!(load_or_create(&folder).unwrap(), first);
        assert_eq!((mode_of(&folder), mode_of(&folder.join(FILE))), (0o700, 0o600));
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(load_or_create(&folder).unwrap(), first);
        assert_eq!(mode_of(&folder), 0o700);
        fs::remove_file(folder.join(FILE)).unwrap();
        let second = load_or_create(&folder).unwrap();
        assert_ne!(second, first);
        fs::write(folder.join(FILE), "").unwrap();
        assert_ne!(load_or_create(&folder).unwrap(), second);
    }

    /// Checks that the daemon refuses to start with this text in the error.
    fn check(spoil: impl FnOnce(&Path), words: &str) {
        let folder = tempfile::tempdir().unwrap();
        load_or_create(folder.path()).unwrap();
        spoil(&folder.path().join(FILE));
        let error = load_or_create(folder.path()).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("delete it"), "{error}");
    }

    #[test]
    fn unsafe_token_files_are_refused() {
        let open = |mode| {
            move |path: &Path| {
                fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            }
        };
        check(open(0o640), "other users");
        check(open(0o604), "other users");
        check(|path| fs::write(path, "tcb_short").unwrap(), "holds no token");
        check(|path| fs::write(path, [0xff, 0xfe]).unwrap(), "UTF-8");
        let elsewhere = |path: &Path| {
            fs::rename(path, path.with_file_name("elsewhere")).unwrap();
            std::os::unix::fs::symlink("elsewhere", path).unwrap();
        };
        check(elsewhere, "cannot be read");
        let folder = |path: &Path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        };
        check(folder, "is not a file");
    }
}
