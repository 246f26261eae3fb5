//! Another system than the host's for a program to run in.

use std::path::PathBuf;

/// Where the home folder is seen inside (seed 000: the sandbox's `/root`).
pub const ROOT_HOME: &str = "/root";

/// A folder with a whole system in it, such as Alpine Linux, that is `/` for a program. In there the program is root: it owns what is in the
/// folder, may change its root once more, and is told that files change owners, which they do not. Outside it is nobody but who started it.
///
/// Only [`Level::Namespace`](crate::Level::Namespace) can give it. Where a policy asks for nothing ([`Level::None`](crate::Level::None)), `proot` shows it, if
/// that is installed, and keeps nothing apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The folder on the host. Folders for what a policy names are made in it where they are missing.
    pub folder: PathBuf,
    /// Whether the system may be changed, as a package manager does.
    pub writable: bool,
    /// A folder of the host that is seen as [`ROOT_HOME`], and may be changed.
    pub home: Option<PathBuf>,
}
