//! Attribute changes (mode, times, owner) that a sandboxed program requests: reads the arguments
//! from its memory, resolves the file as it would, and applies the change to the resolved file.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, Timespec, Timestamps, openat2};

use super::plan::{Access, PathView};
use super::raw_syscalls::{self, SyscallNotification};

/// Maximum path length of the kernel, including the terminating zero.
const LONGEST_PATH: usize = 4096;

/// Number of fchmodat2(2), which libc does not define.
const FCHMODAT2: libc::c_long = 452;

/// A system call that changes an attribute of a file, with the position of its arguments.
pub(super) struct AttributeCall {
    file: File,
    what: ChangeKind,
}

/// How a call names its file.
enum File {
    Descriptor,
    Path { follows: bool },
    At { follows: bool, empty: bool },
}

/// The requested change.
#[derive(Clone, Copy)]
enum ChangeKind {
    Mode(u64),
    /// Address of two timestamps; 0 means the current time.
    Times(u64),
    Owner(u64, u64),
}

/// A change with its resolved file.
pub(super) struct ResolvedChange {
    file: OwnedFd,
    what: ChangeValue,
}

enum ChangeValue {
    Mode(Mode),
    Times(Timestamps),
    Owner(u32, u32),
}

impl AttributeCall {
    /// Decodes a notification; `None` for another call.
    pub(super) fn from_notification(question: &SyscallNotification) -> Option<Self> {
        let [_, b, c, d, e, _] = question.arguments;
        let flag = |flags: u64, flag: i32| flags & u64::from(flag.unsigned_abs()) != 0;
        let at = |flags: u64| File::At {
            follows: !flag(flags, libc::AT_SYMLINK_NOFOLLOW),
            empty: flag(flags, libc::AT_EMPTY_PATH),
        };
        let (file, what) = match libc::c_long::from(question.call) {
            libc::SYS_fchmod => (File::Descriptor, ChangeKind::Mode(b)),
            libc::SYS_fchmodat => (at(0), ChangeKind::Mode(c)),
            FCHMODAT2 => (at(d), ChangeKind::Mode(c)),
            libc::SYS_fchown => (File::Descriptor, ChangeKind::Owner(b, c)),
            libc::SYS_fchownat => (at(e), ChangeKind::Owner(c, d)),
            // Without a path the call refers to the descriptor.
            libc::SYS_utimensat if b == 0 => (File::Descriptor, ChangeKind::Times(c)),
            libc::SYS_utimensat => (at(d), ChangeKind::Times(c)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_chmod => (File::Path { follows: true }, ChangeKind::Mode(b)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_chown => (File::Path { follows: true }, ChangeKind::Owner(b, c)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_lchown => (File::Path { follows: false }, ChangeKind::Owner(b, c)),
            _ => return None,
        };
        Some(Self { file, what })
    }

    /// Reads the arguments from the caller's memory and opens the file.
    pub(super) fn resolve(&self, question: &SyscallNotification) -> io::Result<ResolvedChange> {
        let [a, b, ..] = question.arguments;
        let pid = question.pid;
        let file = match self.file {
            File::Descriptor => descriptor(pid, a)?,
            File::Path { follows } => {
                find(pid, u64::from(libc::AT_FDCWD.cast_unsigned()), &text(pid, a)?, follows)?
            }
            File::At { follows, empty } => {
                let path = text(pid, b)?;
                match path.as_os_str().is_empty() {
                    true if empty => base(pid, a)?,
                    true => return Err(io::Error::from_raw_os_error(libc::ENOENT)),
                    false => find(pid, a, &path, follows)?,
                }
            }
        };
        let what = match self.what {
            ChangeKind::Mode(mode) => ChangeValue::Mode(Mode::from_raw_mode(low(mode) & 0o1777)),
            ChangeKind::Times(address) => ChangeValue::Times(times(pid, address)?),
            ChangeKind::Owner(user, group) => ChangeValue::Owner(low(user), low(group)),
        };
        Ok(ResolvedChange { file, what })
    }
}

impl ResolvedChange {
    /// Applies the change, if the file may be changed.
    pub(super) fn apply(self, may_change: impl FnOnce(&Path) -> bool) -> io::Result<()> {
        let here = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        let refused = || io::Error::from_raw_os_error(libc::EPERM);
        if let ChangeValue::Owner(user, group) = self.what {
            // Without the capability to change owners, a call can only confirm the current owner.
            let stat = rustix::fs::fstat(&self.file)?;
            let same = |wanted: u32, is: u32| wanted == u32::MAX || wanted == is;
            let is_so = same(user, stat.st_uid) && same(group, stat.st_gid);
            return if is_so { Ok(()) } else { Err(refused()) };
        }
        if !may_change(&fs::read_link(&here)?) {
            return Err(refused());
        }
        match self.what {
            ChangeValue::Mode(mode) => rustix::fs::chmod(&here, mode)?,
            ChangeValue::Times(times) => {
                rustix::fs::utimensat(CWD, &here, &times, AtFlags::empty())?;
            }
            ChangeValue::Owner(..) => {}
        }
        Ok(())
    }
}

/// Returns whether a file at this path may be changed: the innermost view decides.
pub(super) fn may_change(views: &[PathView], path: &Path) -> bool {
    let views = views.iter().filter(|view| path.starts_with(view.path()));
    let inner = views.max_by_key(|view| view.path().components().count());
    inner.is_some_and(|view| view.how == Access::Write)
}

fn low(argument: u64) -> u32 {
    u32::try_from(argument & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}

/// Reads a path from the memory of a process.
fn text(pid: u32, address: u64) -> io::Result<PathBuf> {
    let bytes = raw_syscalls::read_memory(pid, address, LONGEST_PATH)?;
    let end = bytes.iter().position(|byte| *byte == 0);
    let end = end.ok_or_else(|| io::Error::from_raw_os_error(libc::ENAMETOOLONG))?;
    Ok(OsString::from_vec(bytes.into_iter().take(end).collect()).into())
}

/// Reads two timestamps from the memory of a process; `None` means the current time.
fn times(pid: u32, address: u64) -> io::Result<Timestamps> {
    const NOW: i64 = libc::UTIME_NOW;
    let now = Timespec { tv_sec: 0, tv_nsec: NOW };
    if address == 0 {
        return Ok(Timestamps { last_access: now, last_modification: now });
    }
    let bytes = raw_syscalls::read_memory(pid, address, 32)?;
    let fault = || io::Error::from_raw_os_error(libc::EFAULT);
    let mut numbers = bytes.chunks_exact(8).map(|eight| eight.try_into().map(i64::from_ne_bytes));
    let mut number = || numbers.next().and_then(Result::ok).ok_or_else(fault);
    let mut time = || Ok::<_, io::Error>(Timespec { tv_sec: number()?, tv_nsec: number()? });
    Ok(Timestamps { last_access: time()?, last_modification: time()? })
}

/// Opens the file of another process's descriptor.
fn descriptor(pid: u32, number: u64) -> io::Result<OwnedFd> {
    let path = format!("/proc/{pid}/fd/{}", low(number).cast_signed());
    let opened =
        openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::empty());
    opened.map_err(|_| io::Error::from_raw_os_error(libc::EBADF))
}

/// Opens the folder that a relative path of a process starts from.
fn base(pid: u32, number: u64) -> io::Result<OwnedFd> {
    if low(number).cast_signed() != libc::AT_FDCWD {
        return descriptor(pid, number);
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(openat2(CWD, format!("/proc/{pid}/cwd"), flags, Mode::empty(), ResolveFlags::empty())?)
}

/// Resolves a path of a process, which has the same root as this one.
fn find(pid: u32, folder: u64, path: &Path, follows: bool) -> io::Result<OwnedFd> {
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    if !follows {
        flags |= OFlags::NOFOLLOW;
    }
    if let Some(number) = own_descriptor(path) {
        return descriptor(pid, number);
    }
    let base = if path.is_absolute() { None } else { Some(base(pid, folder)?) };
    // Magic links of `/proc` would refer to this process.
    let resolve = ResolveFlags::NO_MAGICLINKS;
    Ok(match base {
        Some(base) => openat2(base, path, flags, Mode::empty(), resolve)?,
        None => openat2(CWD, path, flags, Mode::empty(), resolve)?,
    })
}

/// Returns the descriptor that a path in a process's own `/proc` refers to: the C library uses such
/// a path to change the mode of a file without following symlinks.
fn own_descriptor(path: &Path) -> Option<u64> {
    let number = path.strip_prefix("/proc/self/fd").or_else(|_| path.strip_prefix("/dev/fd"));
    let number = number.or_else(|_| path.strip_prefix("/proc/thread-self/fd")).ok()?.to_str()?;
    number.parse::<u32>().ok().map(u64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_view_decides_what_may_be_changed() {
        let view = |path: &str, how| PathView { path: path.into(), from: None, how };
        let views = [
            view("/usr", Access::Read),
            view("/ws", Access::Write),
            view("/ws/kept", Access::Read),
            view("/ws/kept/open", Access::Write),
            view("/ws/secret", Access::Hidden),
        ];
        for (path, expected) in [
            ("/ws", true),
            ("/ws/file", true),
            ("/ws/kept/file", false),
            ("/ws/kept/open/file", true),
            ("/ws/secret/file", false),
            ("/ws2/file", false),
            ("/usr/file", false),
            ("/", false),
            ("pipe:[7]", false),
        ] {
            assert_eq!(may_change(&views, Path::new(path)), expected, "{path}");
        }
    }
}
