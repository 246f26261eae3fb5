//! The unix socket: for processes of this user only, in a folder that other users cannot access.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _,
};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

use crate::start_error::StartError;

/// Maximum number of bytes of a path that every system accepts (`sockaddr_un` of macOS holds 104
/// with the final zero).
pub const SOCKET_PATH_BYTES: usize = 103;

/// A listening socket; its file is removed on drop.
pub(super) struct BoundSocket {
    pub(super) listener: UnixListener,
    path: PathBuf,
    /// Inode of the created file: a file of another daemon at this path is not removed.
    inode: u64,
}

impl BoundSocket {
    /// Listens. The socket of a dead daemon is replaced; the socket of a running one is an error.
    pub(super) fn bind(path: &Path) -> Result<Self, StartError> {
        let words = |words: &str| {
            StartError::Listen(format!("the socket {} cannot be used: {words}", path.display()))
        };
        let failed = |error: io::Error| words(&error.to_string());
        if path.as_os_str().len() > SOCKET_PATH_BYTES {
            return Err(words(&format!(
                "its path has more than {SOCKET_PATH_BYTES} bytes; choose a shorter one"
            )));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        check_private(folder.unwrap_or(Path::new("."))).map_err(|error| words(&error))?;
        remove_stale(path).map_err(|error| words(&error))?;
        let listener = UnixListener::bind(path).map_err(failed)?;
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
        let inode = fs::symlink_metadata(path).map_err(failed)?.ino();
        Ok(Self { listener, path: path.to_owned(), inode })
    }
}

impl Drop for BoundSocket {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|about| about.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Creates the folder (mode 0700), or checks that other users cannot access it: until the socket
/// has its mode, only the folder protects it.
fn check_private(folder: &Path) -> Result<(), String> {
    let failed = |error: io::Error| error.to_string();
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let about = fs::metadata(folder).map_err(failed)?;
    let folder = folder.display();
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(format!("its folder {folder} belongs to another user"));
    }
    if about.mode() & 0o077 != 0 {
        return Err(format!("other users can enter its folder; run `chmod 700 {folder}`"));
    }
    Ok(())
}

/// Removes a socket without a listener.
fn remove_stale(path: &Path) -> Result<(), String> {
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    if !about.file_type().is_socket() {
        return Err("a file of this name exists and is not a socket; remove it".to_owned());
    }
    match UnixStream::connect(path) {
        Ok(_) => Err("another daemon listens on it; `toolcrib stop` ends it".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|error| error.to_string())
        }
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &Path) -> String {
        BoundSocket::bind(path).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_a_live_one_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/socket");
        let first = BoundSocket::bind(&path).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert!(refused(&path).contains("another daemon"));
        drop(first);
        assert!(!path.exists());
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let second = BoundSocket::bind(&path).unwrap();
        // A socket of another process at the same path is not removed.
        fs::remove_file(&path).unwrap();
        let other = std::os::unix::net::UnixListener::bind(&path).unwrap();
        drop(second);
        assert!(path.exists());
        drop(other);
    }

    #[tokio::test]
    async fn unsafe_places_are_refused_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "mine").unwrap();
        assert!(refused(&file).contains("not a socket"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
        assert!(refused(&folder.path().join("x".repeat(120))).contains("shorter"));
        let open = folder.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
        assert!(refused(&open.join("socket")).contains("chmod 700"));
    }
}
