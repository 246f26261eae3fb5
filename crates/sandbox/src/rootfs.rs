//! Alternative root file system for sandboxed programs.

use std::path::PathBuf;

/// Where the home folder is mounted inside.
pub const ROOTFS_HOME: &str = "/root";

/// A folder with a complete system, such as Alpine Linux, that is `/` for a program. The program is
/// root inside: it owns the files in the folder, may chroot, and changes of ownership are reported
/// as successful without effect. Outside it has only the rights of the user.
///
/// It requires [`Level::Namespace`](crate::Level::Namespace). If a policy allows
/// [`Level::None`](crate::Level::None), `proot` emulates it if installed, without isolation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rootfs {
    /// The folder on the host. Mount points for the policy's paths are created in it if missing.
    pub folder: PathBuf,
    /// Whether the system may be changed, as package managers do.
    pub writable: bool,
    /// A host folder that is visible as [`ROOTFS_HOME`] and writable.
    pub home: Option<PathBuf>,
}
