//! The root file system of a sandbox: a tmpfs with only the paths of the plan.
//!
//! All paths are opened before anything is mounted over them, through descriptors that follow no
//! symlink, so that no path component can be replaced in between.

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

use super::control_socket::Fault;
use super::etc_idmap;
use super::plan::{Access, Amounts, PathView, Plan};
use super::raw_syscalls;

/// Folder of temporary files inside.
pub(super) const SCRATCH: &str = "/tmp";

/// A second folder on the same file system. A policy may cover it.
pub(super) const ALSO_SCRATCH: &str = "/dev/shm";

/// Flags of mount_setattr(2).
pub(super) const READ_ONLY: u64 = 1;
/// See [`READ_ONLY`].
pub(super) const NO_SUID: u64 = 2;
/// See [`READ_ONLY`].
pub(super) const NO_DEV: u64 = 4;

/// The available devices.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Symlinks in `/dev` with their targets.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("dev/fd", "/proc/self/fd"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
    ("dev/ptmx", "pts/ptmx"),
];

/// A view whose path was opened.
struct OpenedView<'a> {
    view: &'a PathView,
    tree: Option<OwnedFd>,
    is_folder: bool,
}

/// Creates the root and enters it. The caller is the first process of a new pid namespace, in its
/// own mount namespace. `etc_mount` is the ID-mapped mount of [`etc_idmap::FOLDER`], if the plan
/// uses it.
pub(super) fn enter(plan: &Plan, mut etc_mount: Option<OwnedFd>) -> Result<(), Fault> {
    let find = |view| {
        let is_idmapped = plan.idmapped_etc && PathView::path(view) == Path::new(etc_idmap::FOLDER);
        match etc_mount.take_if(|_| is_idmapped) {
            Some(tree) => Ok(OpenedView { view, tree: Some(tree), is_folder: true }),
            // The program must not see the same files with root's ownership.
            None if is_idmapped => {
                Err(Fault::host("the ID-mapped mount of /etc")(io::Error::other("it is missing")))
            }
            None => open_view(view),
        }
    };
    let found: Vec<OpenedView<'_>> = plan.views.iter().map(find).collect::<Result<_, _>>()?;
    let devices =
        DEVICES.map(|name| (name, tree_of(CWD, &Path::new("/dev").join(name), false).ok()));
    let memory = memory(&plan.amounts).map_err(Fault::host("creating the tmpfs"))?;
    let other = plan.rootfs().and(found.first());
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
        make_dev_in_rootfs(&root, &memory, devices, &mut late)
    } else {
        make_dev(&root, devices)
    }
    .map_err(Fault::host("filling the new root"))?;
    let store = if other.is_some() { &memory } else { &root };
    for (index, found) in found.iter().enumerate().skip(usize::from(other.is_some())) {
        mount_view(&root, store, found, index, &mut late)
            .map_err(Fault::path(found.view.path()))?;
    }
    for (at, target) in &plan.links {
        // Links inside a mounted path already exist.
        let _ = link(&root, Path::new(at), target);
    }
    processes(&root, &plan.amounts).map_err(Fault::host("mounting /proc"))?;
    // Only these mounts: mounts on top of them keep their flags.
    let closed = other.is_none_or(|other| other.view.how != Access::Write);
    for mount in late.iter().chain(closed.then_some(&root)) {
        raw_syscalls::set_mount(mount.as_fd(), READ_ONLY | NO_SUID | NO_DEV, false)
            .map_err(Fault::host("making the new root read-only"))?;
    }
    rustix::process::pivot_root(".", ".")
        .and_then(|()| unmount(".", UnmountFlags::DETACH))
        .and_then(|()| rustix::process::chdir("/"))
        .map_err(io::Error::from)
        .map_err(Fault::host("changing the root"))
}

fn open_view(view: &PathView) -> Result<OpenedView<'_>, Fault> {
    let all = || -> io::Result<OpenedView<'_>> {
        let path = open_no_symlinks(view.outside())?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&path)?.st_mode);
        let tree = match view.how {
            Access::Masked | Access::Hidden => None,
            Access::Read | Access::Write => Some(tree_of(&path, Path::new(""), true)?),
        };
        if let Some(tree) = &tree {
            // Another root file system becomes read-only last, because mount points are created in
            // it.
            let is_open = view.how == Access::Write || view.path() == Path::new("/");
            let read_only = if is_open { 0 } else { READ_ONLY };
            raw_syscalls::set_mount(tree.as_fd(), read_only | NO_SUID | NO_DEV, true)?;
        }
        Ok(OpenedView { view, tree, is_folder: kind == FileType::Directory })
    };
    all().map_err(Fault::path(view.outside()))
}

/// Opens a path that was resolved before: a symlink in it means that it was changed since.
pub(crate) fn open_no_symlinks(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

/// Creates a detached copy of a mount.
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

/// Creates a tmpfs for the root and for temporary files.
fn memory(amounts: &Amounts) -> io::Result<OwnedFd> {
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, "mode", "0755")?;
    fsconfig_set_string(&context, "size", amounts.scratch().to_string())?;
    // An empty file uses about a kilobyte of memory, so the number of files is limited too.
    fsconfig_set_string(
        &context,
        "nr_inodes",
        (amounts.scratch() / 4096).clamp(4096, 1 << 20).to_string(),
    )?;
    fsconfig_create(&context)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)?)
}

/// Attaches a view at its path. `store` collects mounts that cover parts of others.
fn mount_view(
    root: &OwnedFd,
    store: &OwnedFd,
    found: &OpenedView<'_>,
    index: usize,
    late: &mut Vec<OwnedFd>,
) -> io::Result<()> {
    let target = make(root, found.view.path(), found.is_folder)?;
    let Some(tree) = &found.tree else {
        let cover = mount_empty(store, index, found)?;
        attach(&cover, &target, OsStr::new(""))?;
        // Covered when its mount exists.
        late.push(cover);
        return Ok(());
    };
    attach(tree, &target, OsStr::new(""))
}

/// Mounts an empty file or folder; only a masked one has read permission.
fn mount_empty(root: &OwnedFd, index: usize, found: &OpenedView<'_>) -> io::Result<OwnedFd> {
    let name = format!(".hidden/{index}");
    match mkdirat(root, ".hidden", Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let readable = if found.view.how == Access::Masked { 0o444 } else { 0 };
    if found.is_folder {
        mkdirat(root, &name, Mode::from_raw_mode(readable | 0o111))?;
    } else {
        let mode = Mode::from_raw_mode(readable);
        openat(root, &name, OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, mode)?;
    }
    tree_of(root, Path::new(&name), false)
}

/// Returns the mount point of a path, created if missing. No symlink is followed.
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

/// Creates the missing folders of a relative path, step by step.
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

/// Creates `/dev` and `/tmp`.
fn make_dev(root: &OwnedFd, devices: [(&str, Option<OwnedFd>); 6]) -> io::Result<()> {
    let folders =
        [("dev", 0o755), ("dev/pts", 0o755), ("dev/shm", 0o1777), ("tmp", 0o1777), ("proc", 0o555)];
    for (path, mode) in folders {
        let mode = Mode::from_raw_mode(mode);
        mkdirat(root, path, mode)?;
        // The process's umask removed bits.
        rustix::fs::chmodat(root, path, mode, AtFlags::empty())?;
    }
    for (name, tree) in devices {
        // If the host lacks the device, the sandbox lacks it too.
        let Some(tree) = tree else { continue };
        let path = format!("dev/{name}");
        openat(root, &path, OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR)?;
        attach(&tree, root, OsStr::new(&path))?;
    }
    for (path, target) in DEVICE_LINKS {
        symlinkat(target, root, path)?;
    }
    // A private devpts is optional.
    let _ = terminals(root);
    writable(root, "tmp")?;
    writable(root, "dev/shm")
}

/// Creates `/dev`, `/tmp` and a mount point for `/proc` in another root file system. All of it is
/// in one tmpfs, which ends up below its own folder for temporary files, where no path leads.
fn make_dev_in_rootfs(
    root: &OwnedFd,
    memory: &OwnedFd,
    devices: [(&str, Option<OwnedFd>); 6],
    late: &mut Vec<OwnedFd>,
) -> io::Result<()> {
    let at = |path: &str| make(root, Path::new(path), true);
    attach(memory, at(SCRATCH)?, OsStr::new(""))?;
    make_dev(memory, devices)?;
    let dev = tree_of(memory, Path::new("dev"), true)?;
    attach(&dev, at("/dev")?, OsStr::new(""))?;
    let scratch = tree_of(memory, Path::new("tmp"), true)?;
    attach(&scratch, at(SCRATCH)?, OsStr::new(""))?;
    at("/proc")?;
    late.push(dev);
    Ok(())
}

/// Turns a folder of the root into a mount that stays writable when the root becomes read-only.
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

/// Mounts a new read-only `/proc`: root's files under `/proc/sys` change the host, and a program
/// that root starts owns them.
fn processes(root: &OwnedFd, amounts: &Amounts) -> io::Result<()> {
    let context = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)?;
    if let Some(processes) = amounts.processes {
        // Since Linux 6.14 every pid namespace has its own maximum. Numbers up to 300 are assigned
        // only once.
        let _ = write_at(
            mount.as_fd(),
            "sys/kernel/pid_max",
            &(301 + u64::from(processes)).to_string(),
        );
    }
    raw_syscalls::set_mount(mount.as_fd(), READ_ONLY, false)?;
    attach(&mount, root, OsStr::new("proc"))
}

fn write_at(at: BorrowedFd<'_>, path: &str, text: &str) -> io::Result<()> {
    let file = openat(at, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file, text.as_bytes())?;
    Ok(())
}
