//! The unix socket: for processes of this user alone, in a folder that nobody else can enter.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _,
};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

use crate::daemon::StartError;

/// Bytes of a path that every system takes (`sockaddr_un` of macOS holds 104 with the zero at its end).
pub const SOCKET_PATH_BYTES: usize = 103;

/// A socket that is listened on; its file is gone when this is dropped.
pub(super) struct Socket {
    pub(super) listener: UnixListener,
    path: PathBuf,
    /// The file that was made: another daemon's in its place is left alone.
    inode: u64,
}

impl Socket {
    /// Listens. What a dead daemon left behind is replaced; a living one's is refused.
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
        closed(folder.unwrap_or(Path::new("."))).map_err(|error| words(&error))?;
        replace_dead(path).map_err(|error| words(&error))?;
        let listener = UnixListener::bind(path).map_err(failed)?;
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
        let inode = fs::symlink_metadata(path).map_err(failed)?.ino();
        Ok(Self { listener, path: path.to_owned(), inode })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|about| about.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes the folder (mode 0700), or sees that nobody else can enter it: between the making of a socket and its mode, the folder is what
/// protects it.
fn closed(folder: &Path) -> Result<(), String> {
    let failed = |error: io::Error| error.to_string();
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let about = fs::metadata(folder).map_err(failed)?;
    let folder = folder.display();
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(format!("its folder {folder} is another user's"));
    }
    if about.mode() & 0o077 != 0 {
        return Err(format!("others can enter its folder; run `chmod 700 {folder}`"));
    }
    Ok(())
}

/// Takes away a socket that nobody listens on.
fn replace_dead(path: &Path) -> Result<(), String> {
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    if !about.file_type().is_socket() {
        return Err("there is a file of this name that is no socket; take it away".to_owned());
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
        Socket::bind(path).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[tokio::test]
    async fn a_dead_socket_is_replaced_and_a_living_one_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/socket");
        let first = Socket::bind(&path).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert!(refused(&path).contains("another daemon"));
        drop(first);
        assert!(!path.exists());
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let second = Socket::bind(&path).unwrap();
        // Somebody else's in its place stays.
        fs::remove_file(&path).unwrap();
        let other = std::os::unix::net::UnixListener::bind(&path).unwrap();
        drop(second);
        assert!(path.exists());
        drop(other);
    }

    #[tokio::test]
    async fn what_cannot_be_safe_is_refused_with_words() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "mine").unwrap();
        assert!(refused(&file).contains("no socket"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
        assert!(refused(&folder.path().join("x".repeat(120))).contains("shorter"));
        let open = folder.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
        assert!(refused(&open.join("socket")).contains("chmod 700"));
    }
}
