//! The root folder of a sandbox: a small file system in memory that holds nothing but what the plan names.
//!
//! Everything is found before anything is covered, by descriptors that follow no link, so that nobody can put something else in the
//! place of a path in between.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, symlinkat,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, move_mount, open_tree, unmount,
};

use super::control::Fault;
use super::plan::{Amounts, How, Plan, View};
use super::stranger;
use super::sys;

/// Where temporary files are, inside.
pub(super) const SCRATCH: &str = "/tmp";

/// A folder of the same file system. A policy may cover the other one.
pub(super) const ALSO_SCRATCH: &str = "/dev/shm";

/// Flags of mount_setattr(2).
pub(super) const READ_ONLY: u64 = 1;
/// See [`READ_ONLY`].
pub(super) const NO_SUID: u64 = 2;
/// See [`READ_ONLY`].
pub(super) const NO_DEV: u64 = 4;

/// The devices that are there.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Links of `/dev`, and what they say.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("dev/fd", "/proc/self/fd"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
    ("dev/ptmx", "pts/ptmx"),
];

/// A view that was found.
struct Found<'a> {
    view: &'a View,
    tree: Option<OwnedFd>,
    is_folder: bool,
}

/// Makes the root and moves into it. The caller is the first process of a new pid namespace, in a mount namespace of its own. `strange` is
/// what is seen of [`stranger::FOLDER`], if the plan wants it so.
pub(super) fn enter(plan: &Plan, mut strange: Option<OwnedFd>) -> Result<(), Fault> {
    let find = |view| {
        let is_strange = plan.strange && View::path(view) == Path::new(stranger::FOLDER);
        match strange.take_if(|_| is_strange) {
            Some(tree) => Ok(Found { view, tree: Some(tree), is_folder: true }),
            // The same files as root sees them are not for the program.
            None if is_strange => Err(Fault::host("the system as a stranger sees it")(
                io::Error::other("it is missing"),
            )),
            None => find(view),
        }
    };
    let found: Vec<Found<'_>> = plan.views.iter().map(find).collect::<Result<_, _>>()?;
    let devices =
        DEVICES.map(|name| (name, tree_of(CWD, &Path::new("/dev").join(name), false).ok()));
    let memory = memory(&plan.amounts).map_err(Fault::host("a file system in memory"))?;
    let other = plan.other_root().and(found.first());
    let base = other.and_then(|other| other.tree.as_ref()).unwrap_or(&memory);
    attach(base, CWD, OsStr::new("/tmp")).map_err(Fault::host("mounting the new root"))?;
    rustix::process::chdir("/tmp")
        .map_err(io::Error::from)
        .map_err(Fault::host("entering the new root"))?;
    let root = openat(CWD, ".", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(io::Error::from)
        .map_err(Fault::host("opening the new root"))?;
    let mut late = Vec::new();
    if other.is_some() {
        furnish_other(&root, &memory, devices, &mut late)
    } else {
        furnish(&root, devices)
    }
    .map_err(Fault::host("furnishing the new root"))?;
    let store = if other.is_some() { &memory } else { &root };
    for (index, found) in found.iter().enumerate().skip(usize::from(other.is_some())) {
        place(&root, store, found, index, &mut late).map_err(Fault::path(found.view.path()))?;
    }
    for (at, target) in &plan.links {
        // What lies in a view has its links already.
        let _ = link(&root, Path::new(at), target);
    }
    processes(&root, &plan.amounts).map_err(Fault::host("a /proc of its own"))?;
    // Only these mounts: those on top of them keep what they have.
    let closed = other.is_none_or(|other| other.view.how != How::Write);
    for mount in late.iter().chain(closed.then_some(&root)) {
        sys::set_mount(mount.as_fd(), READ_ONLY | NO_SUID | NO_DEV, false)
            .map_err(Fault::host("closing the new root"))?;
    }
    rustix::process::pivot_root(".", ".")
        .and_then(|()| unmount(".", UnmountFlags::DETACH))
        .and_then(|()| rustix::process::chdir("/"))
        .map_err(io::Error::from)
        .map_err(Fault::host("changing the root"))
}

fn find(view: &View) -> Result<Found<'_>, Fault> {
    let all = || -> io::Result<Found<'_>> {
        let path = open_really(view.outside())?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&path)?.st_mode);
        let tree = match view.how {
            How::Hidden => None,
            How::Read | How::Write => Some(tree_of(&path, Path::new(""), true)?),
        };
        if let Some(tree) = &tree {
            // Another system is closed last: places for mounts are made in it.
            let is_open = view.how == How::Write || view.path() == Path::new("/");
            let read_only = if is_open { 0 } else { READ_ONLY };
            sys::set_mount(tree.as_fd(), read_only | NO_SUID | NO_DEV, true)?;
        }
        Ok(Found { view, tree, is_folder: kind == FileType::Directory })
    };
    all().map_err(Fault::path(view.outside()))
}

/// Opens a path that was looked up before: a link in it means that somebody changed it since.
pub(crate) fn open_really(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

/// A copy of a mount, not yet anywhere.
fn tree_of(at: impl AsFd, path: &Path, all: bool) -> io::Result<OwnedFd> {
    let mut flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH;
    if all {
        flags |= OpenTreeFlags::AT_RECURSIVE;
    }
    Ok(open_tree(at, path, flags)?)
}

fn attach(tree: impl AsFd, at: impl AsFd, path: &OsStr) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, "", at, path, flags)?)
}

/// A file system in memory for the root and for temporary files.
fn memory(amounts: &Amounts) -> io::Result<OwnedFd> {
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, "mode", "0755")?;
    fsconfig_set_string(&context, "size", amounts.scratch().to_string())?;
    // Each file without contents costs memory too, about a kilobyte.
    fsconfig_set_string(
        &context,
        "nr_inodes",
        (amounts.scratch() / 4096).clamp(4096, 1 << 20).to_string(),
    )?;
    fsconfig_create(&context)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)?)
}

/// Puts a view where it belongs. `store` has room for what covers others.
fn place(
    root: &OwnedFd,
    store: &OwnedFd,
    found: &Found<'_>,
    index: usize,
    late: &mut Vec<OwnedFd>,
) -> io::Result<()> {
    let target = make(root, found.view.path(), found.is_folder)?;
    let Some(tree) = &found.tree else {
        let cover = cover(store, index, found.is_folder)?;
        attach(&cover, &target, OsStr::new(""))?;
        // What is not hidden in it is still to come.
        late.push(cover);
        return Ok(());
    };
    attach(tree, &target, OsStr::new(""))
}

/// An empty file or folder that nobody may read.
fn cover(root: &OwnedFd, index: usize, is_folder: bool) -> io::Result<OwnedFd> {
    let name = format!(".hidden/{index}");
    match mkdirat(root, ".hidden", Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    if is_folder {
        mkdirat(root, &name, Mode::XUSR | Mode::XGRP | Mode::XOTH)?;
    } else {
        openat(root, &name, OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    }
    tree_of(root, Path::new(&name), false)
}

/// The place for a mount, made where it is not there yet. No link is followed.
fn make(root: &OwnedFd, path: &Path, is_folder: bool) -> io::Result<OwnedFd> {
    let relative = path.strip_prefix("/").unwrap_or(path);
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS;
    let open = || openat2(root, relative, flags, Mode::empty(), resolve);
    match open() {
        Err(Errno::NOENT) => {}
        result => return Ok(result?),
    }
    let folder = if is_folder { Some(relative) } else { relative.parent() };
    make_folders(root, folder.unwrap_or(Path::new("")))?;
    if !is_folder {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let parent = relative.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = open_in(root, parent.unwrap_or(Path::new(".")))?;
        openat(parent, relative.file_name().unwrap_or_default(), flags, Mode::RUSR)?;
    }
    Ok(open()?)
}

fn open_in(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS;
    Ok(openat2(root, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)?)
}

/// Makes the folders of a relative path that are not there, step by step.
fn make_folders(root: &OwnedFd, path: &Path) -> io::Result<()> {
    let mut at = open_in(root, Path::new("."))?;
    for step in path.components() {
        let Component::Normal(name) = step else { continue };
        match mkdirat(&at, name, Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        at = open_in(&at, Path::new(name))?;
    }
    Ok(())
}

fn link(root: &OwnedFd, at: &Path, target: &OsStr) -> io::Result<()> {
    let relative = at.strip_prefix("/").unwrap_or(at);
    let (Some(folder), Some(name)) = (relative.parent(), relative.file_name()) else {
        return Ok(());
    };
    make_folders(root, folder)?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    Ok(symlinkat(target, open_in(root, folder)?, name)?)
}

/// `/dev` and `/tmp`.
fn furnish(root: &OwnedFd, devices: [(&str, Option<OwnedFd>); 6]) -> io::Result<()> {
    let folders =
        [("dev", 0o755), ("dev/pts", 0o755), ("dev/shm", 0o1777), ("tmp", 0o1777), ("proc", 0o555)];
    for (path, mode) in folders {
        let mode = Mode::from_raw_mode(mode);
        mkdirat(root, path, mode)?;
        // The mask of the process took bits away.
        rustix::fs::chmodat(root, path, mode, AtFlags::empty())?;
    }
    for (name, tree) in devices {
        // A host without the device has a sandbox without it.
        let Some(tree) = tree else { continue };
        let path = format!("dev/{name}");
        openat(root, &path, OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR)?;
        attach(&tree, root, OsStr::new(&path))?;
    }
    for (path, target) in DEVICE_LINKS {
        symlinkat(target, root, path)?;
    }
    // Terminals of its own are a comfort.
    let _ = terminals(root);
    writable(root, "tmp")?;
    writable(root, "dev/shm")
}

/// `/dev`, `/tmp` and a place for `/proc` in another system. All of it lives in one file system in memory, which ends up below its own
/// folder for temporary files, where no path leads.
fn furnish_other(
    root: &OwnedFd,
    memory: &OwnedFd,
    devices: [(&str, Option<OwnedFd>); 6],
    late: &mut Vec<OwnedFd>,
) -> io::Result<()> {
    let at = |path: &str| make(root, Path::new(path), true);
    attach(memory, at(SCRATCH)?, OsStr::new(""))?;
    furnish(memory, devices)?;
    let dev = tree_of(memory, Path::new("dev"), true)?;
    attach(&dev, at("/dev")?, OsStr::new(""))?;
    let scratch = tree_of(memory, Path::new("tmp"), true)?;
    attach(&scratch, at(SCRATCH)?, OsStr::new(""))?;
    at("/proc")?;
    late.push(dev);
    Ok(())
}

/// Makes a folder of the root a mount of its own, which stays writable when the root does not.
fn writable(root: &OwnedFd, path: &str) -> io::Result<()> {
    let tree = tree_of(root, Path::new(path), true)?;
    attach(&tree, root, OsStr::new(path))
}

fn terminals(root: &OwnedFd) -> io::Result<()> {
    let context = fsopen("devpts", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, "ptmxmode", "0666")?;
    fsconfig_set_string(&context, "mode", "0620")?;
    fsconfig_create(&context)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)?;
    attach(&mount, root, OsStr::new("dev/pts"))
}

/// A fresh `/proc`, read only: files of root under `/proc/sys` change the host, and whoever root starts owns them.
fn processes(root: &OwnedFd, amounts: &Amounts) -> io::Result<()> {
    let context = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)?;
    if let Some(processes) = amounts.processes {
        // Since Linux 6.14 every namespace has its own highest number. Numbers up to 300 are given out once only.
        let _ = write_at(
            mount.as_fd(),
            "sys/kernel/pid_max",
            &(301 + u64::from(processes)).to_string(),
        );
    }
    sys::set_mount(mount.as_fd(), READ_ONLY, false)?;
    attach(&mount, root, OsStr::new("proc"))
}

fn write_at(at: BorrowedFd<'_>, path: &str, text: &str) -> io::Result<()> {
    let file = openat(at, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file, text.as_bytes())?;
    Ok(())
}
