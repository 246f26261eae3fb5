//! Changes of modes, times and owners that a program asks for: read from its memory, looked up as it would, and made at what was found.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, Timespec, Timestamps, openat2};

use super::plan::{How, View};
use super::sys::{self, Question};

/// Longest path that the kernel takes, its zero included.
const LONGEST_PATH: usize = 4096;

/// Of fchmodat2(2), which libc does not name.
const FCHMODAT2: libc::c_long = 452;

/// A call that changes something about a file: where its arguments say what.
pub(super) struct Change {
    file: File,
    what: What,
}

/// Where a call says which file it means.
enum File {
    Descriptor,
    Path { follows: bool },
    At { follows: bool, empty: bool },
}

/// What is to be changed.
#[derive(Clone, Copy)]
enum What {
    Mode(u64),
    /// The address of two times, or nothing for now.
    Times(u64),
    Owner(u64, u64),
}

/// A change whose file was found.
pub(super) struct Wanted {
    file: OwnedFd,
    what: Made,
}

enum Made {
    Mode(Mode),
    Times(Timestamps),
    Owner(u32, u32),
}

impl Change {
    /// What a question is about; `None` = something else.
    pub(super) fn of(question: &Question) -> Option<Self> {
        let [_, b, c, d, e, _] = question.arguments;
        let flag = |flags: u64, flag: i32| flags & u64::from(flag.unsigned_abs()) != 0;
        let at = |flags: u64| File::At {
            follows: !flag(flags, libc::AT_SYMLINK_NOFOLLOW),
            empty: flag(flags, libc::AT_EMPTY_PATH),
        };
        let (file, what) = match libc::c_long::from(question.call) {
            libc::SYS_fchmod => (File::Descriptor, What::Mode(b)),
            libc::SYS_fchmodat => (at(0), What::Mode(c)),
            FCHMODAT2 => (at(d), What::Mode(c)),
            libc::SYS_fchown => (File::Descriptor, What::Owner(b, c)),
            libc::SYS_fchownat => (at(e), What::Owner(c, d)),
            // Without a path it means the descriptor.
            libc::SYS_utimensat if b == 0 => (File::Descriptor, What::Times(c)),
            libc::SYS_utimensat => (at(d), What::Times(c)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_chmod => (File::Path { follows: true }, What::Mode(b)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_chown => (File::Path { follows: true }, What::Owner(b, c)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_lchown => (File::Path { follows: false }, What::Owner(b, c)),
            _ => return None,
        };
        Some(Self { file, what })
    }

    /// Reads what is wanted from the memory of whoever asks, and finds the file.
    pub(super) fn read(&self, question: &Question) -> io::Result<Wanted> {
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
            What::Mode(mode) => Made::Mode(Mode::from_raw_mode(low(mode) & 0o1777)),
            What::Times(address) => Made::Times(times(pid, address)?),
            What::Owner(user, group) => Made::Owner(low(user), low(group)),
        };
        Ok(Wanted { file, what })
    }
}

impl Wanted {
    /// Makes the change, if the file may be changed.
    pub(super) fn make(self, may_change: impl FnOnce(&Path) -> bool) -> io::Result<()> {
        let here = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        let refused = || io::Error::from_raw_os_error(libc::EPERM);
        if let Made::Owner(user, group) = self.what {
            // Whoever has no right to give files away can only say what is so already.
            let stat = rustix::fs::fstat(&self.file)?;
            let same = |wanted: u32, is: u32| wanted == u32::MAX || wanted == is;
            let is_so = same(user, stat.st_uid) && same(group, stat.st_gid);
            return if is_so { Ok(()) } else { Err(refused()) };
        }
        if !may_change(&fs::read_link(&here)?) {
            return Err(refused());
        }
        match self.what {
            Made::Mode(mode) => rustix::fs::chmod(&here, mode)?,
            Made::Times(times) => rustix::fs::utimensat(CWD, &here, &times, AtFlags::empty())?,
            Made::Owner(..) => {}
        }
        Ok(())
    }
}

/// Whether a file at this path may be changed: the innermost view decides.
pub(super) fn may_change(views: &[View], path: &Path) -> bool {
    let views = views.iter().filter(|view| path.starts_with(view.path()));
    let inner = views.max_by_key(|view| view.path().components().count());
    inner.is_some_and(|view| view.how == How::Write)
}

fn low(argument: u64) -> u32 {
    u32::try_from(argument & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}

/// A path in the memory of a process.
fn text(pid: u32, address: u64) -> io::Result<PathBuf> {
    let bytes = sys::read_memory(pid, address, LONGEST_PATH)?;
    let end = bytes.iter().position(|byte| *byte == 0);
    let end = end.ok_or_else(|| io::Error::from_raw_os_error(libc::ENAMETOOLONG))?;
    Ok(OsString::from_vec(bytes.into_iter().take(end).collect()).into())
}

/// Two times in the memory of a process; none = now.
fn times(pid: u32, address: u64) -> io::Result<Timestamps> {
    const NOW: i64 = libc::UTIME_NOW;
    let now = Timespec { tv_sec: 0, tv_nsec: NOW };
    if address == 0 {
        return Ok(Timestamps { last_access: now, last_modification: now });
    }
    let bytes = sys::read_memory(pid, address, 32)?;
    let fault = || io::Error::from_raw_os_error(libc::EFAULT);
    let mut numbers = bytes.chunks_exact(8).map(|eight| eight.try_into().map(i64::from_ne_bytes));
    let mut number = || numbers.next().and_then(Result::ok).ok_or_else(fault);
    let mut time = || Ok::<_, io::Error>(Timespec { tv_sec: number()?, tv_nsec: number()? });
    Ok(Timestamps { last_access: time()?, last_modification: time()? })
}

/// The file that an open descriptor of a process means.
fn descriptor(pid: u32, number: u64) -> io::Result<OwnedFd> {
    let path = format!("/proc/{pid}/fd/{}", low(number).cast_signed());
    let opened =
        openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::empty());
    opened.map_err(|_| io::Error::from_raw_os_error(libc::EBADF))
}

/// The folder that a relative path of a process begins at.
fn base(pid: u32, number: u64) -> io::Result<OwnedFd> {
    if low(number).cast_signed() != libc::AT_FDCWD {
        return descriptor(pid, number);
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(openat2(CWD, format!("/proc/{pid}/cwd"), flags, Mode::empty(), ResolveFlags::empty())?)
}

/// The file that a path means to a process. It has the same root as this one.
fn find(pid: u32, folder: u64, path: &Path, follows: bool) -> io::Result<OwnedFd> {
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    if !follows {
        flags |= OFlags::NOFOLLOW;
    }
    if let Some(number) = own_descriptor(path) {
        return descriptor(pid, number);
    }
    let base = if path.is_absolute() { None } else { Some(base(pid, folder)?) };
    // Links of `/proc` would mean this process.
    let resolve = ResolveFlags::NO_MAGICLINKS;
    Ok(match base {
        Some(base) => openat2(base, path, flags, Mode::empty(), resolve)?,
        None => openat2(CWD, path, flags, Mode::empty(), resolve)?,
    })
}

/// The descriptor that a path below a process's own `/proc` means: how the C library changes the mode of what a link must not lead to.
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
        let view = |path: &str, how| View { path: path.into(), from: None, how };
        let views = [
            view("/usr", How::Read),
            view("/ws", How::Write),
            view("/ws/kept", How::Read),
            view("/ws/kept/open", How::Write),
            view("/ws/secret", How::Hidden),
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
