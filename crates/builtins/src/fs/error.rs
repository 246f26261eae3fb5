//! Why a file operation was refused or failed, and the sentence that the model reads.

use rustix::io::Errno;
use toolcrib_core::{ErrorType, ToolError};

/// A failed file operation: the path as the caller wrote it, and what was wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {fault}")]
pub struct FsError {
    /// The path as the caller wrote it; never a resolved path of the machine.
    pub path: String,
    /// What was wrong.
    pub fault: Fault,
}

/// What was wrong with a path, a file or a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The text is no usable path: empty, with NUL, too long or too deep.
    #[error("not a usable path: {0}")]
    BadPath(&'static str),
    /// Outside every root, through a link that leads outside, or Toolcrib's own state. One fault for all of them, whether
    /// the target exists or not.
    #[error("not inside the roots")]
    Outside,
    /// Beyond a mount point inside a root.
    #[error("on another file system")]
    OtherMount,
    /// More than [`crate::fs::beneath::MAX_LINKS`] symbolic links.
    #[error("too many symbolic links")]
    Loop,
    /// A FIFO, socket or device.
    #[error("not a plain file: {0}")]
    Special(&'static str),
    /// Nothing there.
    #[error("not found")]
    NotFound,
    /// A folder where a file is needed.
    #[error("is a folder")]
    IsDir,
    /// No folder where one is needed.
    #[error("is not a folder")]
    NotDir,
    /// Something is there already.
    #[error("exists")]
    Exists,
    /// A folder with something in it.
    #[error("folder not empty")]
    NotEmpty,
    /// Not writable, or in a folder that is not.
    #[error("read-only")]
    ReadOnly,
    /// Appending would change the file under its other names.
    #[error("has {0} hard links")]
    HardLinks(u64),
    /// More than a tool takes; the text says what to do.
    #[error("too large: {0}")]
    TooLarge(String),
    /// Changed by somebody else while it was worked on.
    #[error("changed meanwhile")]
    Changed,
    /// Source and target are, or lie in, each other.
    #[error("source and target overlap")]
    Overlap,
    /// Source and target are on different file systems.
    #[error("different file systems")]
    CrossDevice,
    /// Somebody stopped the call.
    #[error("cancelled")]
    Cancelled,
    /// Another change holds the workspace for too long.
    #[error("workspace is busy")]
    Busy,
    /// The journal cannot record the change, so it was not made.
    #[error("undo journal: {0}")]
    Journal(String),
    /// The operating system says no.
    #[error("{0}")]
    Os(Errno),
}

impl Fault {
    /// The same with the path it belongs to.
    pub fn at(self, path: impl Into<String>) -> FsError {
        FsError { path: path.into(), fault: self }
    }
}

impl From<Errno> for Fault {
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

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Errno::from_io_error(&error).map_or(Self::Os(Errno::IO), Self::from)
    }
}

impl From<FsError> for ToolError {
    fn from(FsError { path: p, fault }: FsError) -> Self {
        use ErrorType::{
            Cancelled, ExecutionError, FileNotFound, FileTooLarge, PathNotAllowed, ValidationError,
        };
        let (kind, text) = match fault {
            Fault::BadPath(why) => (
                ValidationError,
                format!("The path cannot be used: {why}. Give a path like notes/today.md."),
            ),
            Fault::Outside => (
                PathNotAllowed,
                format!(
                    "The path {p} is not allowed: it is not inside the folders that file tools may use. Use a path relative to the workspace folder."
                ),
            ),
            Fault::OtherMount => (
                PathNotAllowed,
                format!(
                    "The path {p} is not allowed: it lies on another file system that is mounted inside the workspace. Use a path that is not below a mount point."
                ),
            ),
            Fault::Loop => (
                PathNotAllowed,
                format!("The path {p} runs through a loop of symbolic links. Use another path."),
            ),
            Fault::Special(what) => (
                PathNotAllowed,
                format!("{p} is a {what}, not a plain file. File tools work on plain files only."),
            ),
            Fault::NotFound => (FileNotFound, format!("File not found: {p}")),
            Fault::IsDir => (
                ValidationError,
                format!(
                    "{p} is a folder, not a file. Use list_dir to see what is in it, or give the path of a file."
                ),
            ),
            Fault::NotDir => (
                ValidationError,
                format!("{p} is not a folder, or a part of its path is a file. Check the path with list_dir."),
            ),
            Fault::Exists => (
                ExecutionError,
                format!("{p} exists already. Choose another path, or set overwrite to true to replace a file."),
            ),
            Fault::NotEmpty => (
                ExecutionError,
                format!("The folder {p} is not empty. Set recursive to true to delete it with everything in it."),
            ),
            Fault::ReadOnly => (
                ExecutionError,
                format!("{p} is read-only, or its folder is. Nothing was changed. Write to another path."),
            ),
            Fault::HardLinks(n) => (
                ExecutionError,
                format!(
                    "{p} has {n} hard links: appending would change the file under its other names too. Nothing was changed. Use write_file with mode overwrite, which leaves the other names as they are."
                ),
            ),
            Fault::TooLarge(why) => (FileTooLarge, format!("{p} is too large: {why}")),
            Fault::Changed => (
                ExecutionError,
                format!("{p} was changed by somebody else at the same moment. Nothing was written. Read it again and repeat the call."),
            ),
            Fault::Overlap => (
                ValidationError,
                format!("Source and target of {p} are the same, or one lies inside the other. Choose another target."),
            ),
            Fault::CrossDevice => (
                ExecutionError,
                format!("{p} cannot be moved to another file system. Use copy_path, then delete_file."),
            ),
            Fault::Cancelled => (Cancelled, "The call was stopped.".to_owned()),
            Fault::Busy => (
                ExecutionError,
                "Another change in this workspace takes long. Nothing was changed. Try again later.".to_owned(),
            ),
            Fault::Journal(why) => {
                return Self::execution(
                    "The change could not be recorded for undo, so it was not made. Tell the person that the undo journal cannot be written.",
                )
                .with_detail(format!("undo journal: {why}"));
            }
            Fault::Os(Errno::ACCESS | Errno::PERM) => (
                ExecutionError,
                format!("The operating system does not permit this access to {p}. Use another path."),
            ),
            Fault::Os(Errno::NOSPC | Errno::DQUOT) => {
                (ExecutionError, format!("There is no space left to write {p}. Nothing was changed."))
            }
            Fault::Os(errno) => (
                ExecutionError,
                format!("The operation on {p} failed: {errno}. Check the path with file_info."),
            ),
        };
        Self::new(kind, text)
    }
}
