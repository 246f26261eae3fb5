//! Errors of file operations, and the sentences that the model reads.

use rustix::io::Errno;
use toolcrib_core::{ErrorType, ToolError};

/// A failed file operation: the path as the caller wrote it, and the cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {fault}")]
pub struct FsError {
    /// The path as the caller wrote it; never a resolved path of the machine.
    pub path: String,
    /// The cause.
    pub fault: FsErrorKind,
}

/// Why a path, a file or a change was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FsErrorKind {
    /// The path text is unusable: empty, with NUL, too long or too deep.
    #[error("not a usable path: {0}")]
    BadPath(&'static str),
    /// Outside every root, reached through a link that leads outside, or in Toolcrib's own state.
    /// One error for all of them, so that it does not reveal whether the target exists.
    #[error("not inside the roots")]
    Outside,
    /// A rule denies it; the text is the rule.
    #[error("denied by {0}")]
    Denied(String),
    /// Beyond a mount point inside a root.
    #[error("on another file system")]
    OtherMount,
    /// More than [`crate::fs::resolve::MAX_LINKS`] symbolic links.
    #[error("too many symbolic links")]
    Loop,
    /// A FIFO, socket or device.
    #[error("not a plain file: {0}")]
    Special(&'static str),
    /// The path does not exist.
    #[error("not found")]
    NotFound,
    /// A folder where a file is needed.
    #[error("is a folder")]
    IsDir,
    /// Not a folder where one is needed.
    #[error("is not a folder")]
    NotDir,
    /// The target exists already.
    #[error("exists")]
    Exists,
    /// The folder is not empty.
    #[error("folder not empty")]
    NotEmpty,
    /// Read-only, or in a read-only folder.
    #[error("read-only")]
    ReadOnly,
    /// Appending would change the file under its other names.
    #[error("has {0} hard links")]
    HardLinks(u64),
    /// Over a limit; the text says what to do.
    #[error("too large: {0}")]
    TooLarge(String),
    /// Another process changed the file during the operation.
    #[error("changed meanwhile")]
    Changed,
    /// Another program executes the file on its own; the text says what to do.
    #[error("executed by another program: {0}")]
    Executed(String),
    /// Source and target are the same, or one lies in the other.
    #[error("source and target overlap")]
    Overlap,
    /// Source and target are on different file systems.
    #[error("different file systems")]
    CrossDevice,
    /// The call was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Another change holds the workspace lock for too long.
    #[error("workspace is busy")]
    Busy,
    /// The undo journal cannot record the change, so it was not made.
    #[error("undo journal: {0}")]
    Journal(String),
    /// An error of the operating system.
    #[error("{0}")]
    Os(Errno),
}

impl FsErrorKind {
    /// Adds the path that the error belongs to.
    pub fn at(self, path: impl Into<String>) -> FsError {
        FsError { path: path.into(), fault: self }
    }
}

impl From<Errno> for FsErrorKind {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::NotFound,
            Errno::NOTDIR => Self::NotDir,
            Errno::ISDIR => Self::IsDir,
            Errno::EXIST => Self::Exists,
            Errno::NOTEMPTY => Self::NotEmpty,
            Errno::ROFS => Self::ReadOnly,
            Errno::LOOP => Self::Loop,
            Errno::NAMETOOLONG => Self::BadPath("a name in it is too long"),
            Errno::INVAL => Self::BadPath("the file system does not take this name"),
            other => Self::Os(other),
        }
    }
}

impl From<std::io::Error> for FsErrorKind {
    fn from(error: std::io::Error) -> Self {
        Errno::from_io_error(&error).map_or(Self::Os(Errno::IO), Self::from)
    }
}

impl From<FsError> for ToolError {
    fn from(FsError { path: p, fault }: FsError) -> Self {
        use ErrorType::{
            Cancelled, ExecutionError, FileNotFound, FileTooLarge, PathNotAllowed, PolicyDenied,
            ValidationError,
        };
        let (kind, text) = match fault {
            FsErrorKind::BadPath(why) => (
                ValidationError,
                format!("The path cannot be used: {why}. Give a path like notes/today.md."),
            ),
            FsErrorKind::Outside => (
                PathNotAllowed,
                format!(
                    "The path {p} is not allowed: it is not inside the folders that file tools may use. Use a path relative to the workspace folder."
                ),
            ),
            FsErrorKind::OtherMount => (
                PathNotAllowed,
                format!(
                    "The path {p} is not allowed: it lies on another file system that is mounted inside the workspace. Use a path that is not below a mount point."
                ),
            ),
            FsErrorKind::Loop => (
                PathNotAllowed,
                format!("The path {p} runs through a loop of symbolic links. Use another path."),
            ),
            FsErrorKind::Special(what) => (
                PathNotAllowed,
                format!("{p} is a {what}, not a plain file. File tools work on plain files only."),
            ),
            FsErrorKind::NotFound => (FileNotFound, format!("File not found: {p}")),
            FsErrorKind::IsDir => (
                ValidationError,
                format!(
                    "{p} is a folder, not a file. Use list_dir to see what is in it, or give the path of a file."
                ),
            ),
            FsErrorKind::NotDir => (
                ValidationError,
                format!("{p} is not a folder, or a part of its path is a file. Check the path with list_dir."),
            ),
            FsErrorKind::Exists => (
                ExecutionError,
                format!("{p} exists already. Choose another path, or set overwrite to true to replace a file."),
            ),
            FsErrorKind::NotEmpty => (
                ExecutionError,
                format!("The folder {p} is not empty. Set recursive to true to delete it with everything in it."),
            ),
            FsErrorKind::ReadOnly => (
                ExecutionError,
                format!("{p} is read-only, or its folder is. Nothing was changed. Write to another path."),
            ),
            FsErrorKind::HardLinks(n) => (
                ExecutionError,
                format!(
                    "{p} has {n} hard links: appending would change the file under its other names too. Nothing was changed. Use write_file with mode overwrite, which leaves the other names as they are."
                ),
            ),
            FsErrorKind::TooLarge(why) => (FileTooLarge, format!("{p} is too large: {why}")),
            FsErrorKind::Changed => (
                ExecutionError,
                format!("{p} was changed by another program at the same moment. Nothing was written. Read it again and repeat the call."),
            ),
            FsErrorKind::Executed(why) => (PathNotAllowed, why),
            FsErrorKind::Overlap => (
                ValidationError,
                format!("Source and target of {p} are the same, or one lies inside the other. Choose another target."),
            ),
            FsErrorKind::CrossDevice => (
                ExecutionError,
                format!("{p} cannot be moved to another file system. Use copy_path, then delete_file."),
            ),
            FsErrorKind::Cancelled => (Cancelled, "The call was stopped.".to_owned()),
            FsErrorKind::Busy => (
                ExecutionError,
                "Another change in this workspace takes long. Nothing was changed. Try again later.".to_owned(),
            ),
            FsErrorKind::Denied(rule) => (
                PolicyDenied,
                format!("{p} is not allowed: the rule {rule} denies it. Do not retry it."),
            ),
            FsErrorKind::Journal(why) => {
                return Self::execution(
                    "The change could not be recorded for undo, so it was not made. Tell the person that the undo journal cannot be written.",
                )
                .with_detail(format!("undo journal: {why}"));
            }
            FsErrorKind::Os(Errno::ACCESS | Errno::PERM) => (
                ExecutionError,
                format!("The operating system does not permit this access to {p}. Use another path."),
            ),
            FsErrorKind::Os(Errno::NOSPC | Errno::DQUOT) => {
                (ExecutionError, format!("There is no space left to write {p}. Nothing was changed."))
            }
            FsErrorKind::Os(errno) => (
                ExecutionError,
                format!("The operation on {p} failed: {errno}. Check the path with file_info."),
            ),
        };
        Self::new(kind, text)
    }
}
