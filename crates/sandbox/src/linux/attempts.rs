//! What a sandbox is asked to hold, really tried: a process under all restrictions attempts each thing and says which of them failed.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::sys::attempt;

/// What lies outside of the sandbox, for attempts to reach it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Outside {
    /// A folder that no view names, with a file `secret`, a socket `socket`.
    pub(super) folder: OsString,
    /// The process that asks.
    pub(super) pid: i32,
    /// Name of a socket without a path.
    pub(super) name: String,
    /// Port on loopback where somebody listens.
    pub(super) port: u16,
}

/// An attempt: `Ok` = it succeeded, which it should not.
type Attempt = fn(&Outside, &Path) -> io::Result<()>;

/// Every attempt, by the name that reports show.
pub(crate) const ATTEMPTS: &[(&str, &str, Attempt)] = &[
    ("read_outside", "reading files that were not named", read_outside),
    ("write_outside", "writing, making and removing files that were not named", write_outside),
    ("modes_outside", "changing modes of files that were not named", modes_outside),
    ("names_outside", "seeing that files exist that were not named", names_outside),
    ("processes_seen", "seeing processes outside", processes_seen),
    ("environment_of_others", "reading variables and memory of processes outside", environment),
    ("signals", "sending signals to processes outside", signals),
    ("tracing", "tracing processes", |_, _| call(libc::SYS_ptrace, [0; 5])),
    ("mounts", "mounting", |_, _| call(libc::SYS_mount, [0; 5])),
    ("new_namespaces", "making namespaces", |_, _| {
        call(libc::SYS_unshare, [0x1000_0000, 0, 0, 0, 0])
    }),
    ("network", "reaching services of this machine over the network", network),
    ("named_sockets", "talking to sockets without a path (D-Bus, X11)", named_sockets),
    (
        "path_sockets",
        "talking to sockets in folders that were not named (Docker, agents)",
        path_sockets,
    ),
    ("virtual_sockets", "talking to the host of a virtual machine", virtual_sockets),
    ("raw_sockets", "making packets by hand", raw_sockets),
    ("devices", "making and opening devices", devices),
    ("kernel_settings", "changing settings of the kernel", kernel_settings),
    ("set_id", "leaving programs behind that run as their owner", set_id),
    ("keys", "using the kernel's key rings", |_, _| call(libc::SYS_keyctl, [0; 5])),
    ("bpf", "loading programs into the kernel", |_, _| call(libc::SYS_bpf, [0; 5])),
    ("io_uring", "going around the filter through io_uring", |_, _| {
        call(libc::SYS_io_uring_setup, [1, 0, 0, 0, 0])
    }),
    ("perf", "measuring other processes", |_, _| {
        call(libc::SYS_perf_event_open, [0, 0, -1, -1, 0])
    }),
    ("userfaultfd", "holding the kernel up at its own page faults", |_, _| {
        call(libc::SYS_userfaultfd, [0; 5])
    }),
    ("typing", "typing into the terminal", |_, _| call(libc::SYS_ioctl, [0, 0x5412, 0, 0, 0])),
    ("handles", "opening files by number", |_, _| {
        call(libc::SYS_open_by_handle_at, [-1, 0, 0, 0, 0])
    }),
    ("rights", "using rights of root", rights),
];

/// Tries everything and writes one line of JSON to standard output: the names of what was held.
pub(super) fn report(outside: &Outside, scratch: &Path) {
    let held = ATTEMPTS.iter().filter(|(_, _, attempt)| attempt(outside, scratch).is_err());
    let held: Vec<&str> = held.map(|(name, ..)| *name).collect();
    let text = serde_json::to_vec(&held).unwrap_or_default();
    // This process ends without the care of a library, so nothing may wait in a buffer.
    let _ = io::stdout().write_all(&text).and_then(|()| io::stdout().flush());
}

/// A call that has to be refused itself, not only its arguments.
fn call(number: libc::c_long, arguments: [libc::c_long; 5]) -> io::Result<()> {
    match attempt(number, arguments) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

fn read_outside(outside: &Outside, _: &Path) -> io::Result<()> {
    fs::read(Path::new(&outside.folder).join("secret")).map(drop)
}

fn write_outside(outside: &Outside, _: &Path) -> io::Result<()> {
    let folder = Path::new(&outside.folder);
    let written = fs::OpenOptions::new().append(true).open(folder.join("secret"));
    let made = fs::write(folder.join("made"), "");
    let removed = fs::remove_file(folder.join("secret"));
    written.map(drop).or(made).or(removed)
}

fn modes_outside(outside: &Outside, _: &Path) -> io::Result<()> {
    fs::set_permissions(
        Path::new(&outside.folder).join("secret"),
        fs::Permissions::from_mode(0o600),
    )
}

fn names_outside(outside: &Outside, _: &Path) -> io::Result<()> {
    fs::symlink_metadata(Path::new(&outside.folder).join("secret")).map(drop)
}

fn processes_seen(outside: &Outside, _: &Path) -> io::Result<()> {
    fs::symlink_metadata(format!("/proc/{}", outside.pid)).map(drop)
}

fn environment(outside: &Outside, _: &Path) -> io::Result<()> {
    let variables = fs::read(format!("/proc/{}/environ", outside.pid)).map(drop);
    variables.or_else(|_| fs::File::open(format!("/proc/{}/mem", outside.pid)).map(drop))
}

fn signals(outside: &Outside, _: &Path) -> io::Result<()> {
    let pid = Pid::from_raw(outside.pid).ok_or(io::ErrorKind::NotFound)?;
    Ok(rustix::process::test_kill_process(pid)?)
}

fn network(outside: &Outside, _: &Path) -> io::Result<()> {
    std::net::TcpStream::connect(("127.0.0.1", outside.port)).map(drop)
}

fn named_sockets(outside: &Outside, _: &Path) -> io::Result<()> {
    UnixStream::connect_addr(&SocketAddr::from_abstract_name(&outside.name)?).map(drop)
}

fn path_sockets(outside: &Outside, _: &Path) -> io::Result<()> {
    UnixStream::connect(Path::new(&outside.folder).join("socket")).map(drop)
}

fn virtual_sockets(_: &Outside, _: &Path) -> io::Result<()> {
    call(libc::SYS_socket, [libc::AF_VSOCK.into(), libc::SOCK_STREAM.into(), 0, 0, 0])
}

fn raw_sockets(_: &Outside, _: &Path) -> io::Result<()> {
    let packet =
        attempt(libc::SYS_socket, [libc::AF_PACKET.into(), libc::SOCK_RAW.into(), 0, 0, 0]);
    let raw = || attempt(libc::SYS_socket, [libc::AF_INET.into(), libc::SOCK_RAW.into(), 1, 0, 0]);
    packet.or_else(|_| raw()).map(drop)
}

fn devices(_: &Outside, scratch: &Path) -> io::Result<()> {
    let path = scratch.join("device");
    let kind = rustix::fs::FileType::CharacterDevice;
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let made = rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, rustix::fs::makedev(1, 1));
    let opened =
        ["/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/fuse", "/dev/kvm"];
    let opened = opened.into_iter().any(|path| fs::File::open(path).is_ok());
    if made.is_ok() || opened { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

fn kernel_settings(_: &Outside, _: &Path) -> io::Result<()> {
    let open = |path: &str| fs::OpenOptions::new().append(true).open(path).map(drop);
    open("/proc/sys/kernel/core_pattern").or_else(|_| open("/proc/sysrq-trigger"))
}

fn set_id(_: &Outside, scratch: &Path) -> io::Result<()> {
    let path = scratch.join("program");
    fs::write(&path, "")?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4755))
}

fn rights(_: &Outside, _: &Path) -> io::Result<()> {
    let sets = rustix::thread::capabilities(None)?;
    let none = sets.effective.is_empty() && sets.permitted.is_empty();
    if none && rustix::thread::no_new_privs()? {
        Err(io::ErrorKind::PermissionDenied.into())
    } else {
        Ok(())
    }
}
