//! Sandbox self test: a process under all restrictions attempts everything that must fail, and
//! reports the prevented attempts.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::raw_syscalls::RefusedCall;

/// Objects outside the sandbox that the attempts target.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ProbeTargets {
    /// A folder that no view contains, with a file `secret` and a socket `socket`.
    pub(super) folder: OsString,
    /// The process that requested the test.
    pub(super) pid: i32,
    /// Name of an abstract socket.
    pub(super) name: String,
    /// A loopback port with a listener.
    pub(super) port: u16,
}

/// An attempt: `Ok` means that it succeeded, which it should not.
type CheckFn = fn(&ProbeTargets, &Path) -> io::Result<()>;

/// All attempts, with their names in reports.
pub(crate) const CHECKS: &[(&str, &str, CheckFn)] = &[
    ("read_outside", "reading files that were not named", read_outside),
    ("write_outside", "writing, making and removing files that were not named", write_outside),
    ("modes_outside", "changing modes of files that were not named", modes_outside),
    ("names_outside", "seeing that files exist that were not named", names_outside),
    ("processes_seen", "seeing processes outside", processes_seen),
    ("environment_of_others", "reading variables and memory of processes outside", environment),
    ("signals", "sending signals to processes outside", signals),
    ("tracing", "tracing processes", |_, _| call(RefusedCall::Ptrace)),
    ("mounts", "mounting", |_, _| call(RefusedCall::Mount)),
    ("new_namespaces", "making namespaces", |_, _| call(RefusedCall::NewUserNamespace)),
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
    ("keys", "using the kernel's key rings", |_, _| call(RefusedCall::KeyControl)),
    ("bpf", "loading programs into the kernel", |_, _| call(RefusedCall::Bpf)),
    ("io_uring", "going around the filter through io_uring", |_, _| {
        call(RefusedCall::IoUringSetup)
    }),
    ("perf", "measuring other processes", |_, _| call(RefusedCall::PerfEventOpen)),
    ("userfaultfd", "holding the kernel up at its own page faults", |_, _| {
        call(RefusedCall::Userfaultfd)
    }),
    ("typing", "typing into the terminal", |_, _| call(RefusedCall::TerminalInput)),
    ("handles", "opening files by number", |_, _| call(RefusedCall::OpenByHandle)),
    ("rights", "using rights of root", rights),
];

/// Runs all attempts and writes one line of JSON to standard output: the names of the prevented
/// ones.
pub(super) fn report(outside: &ProbeTargets, scratch: &Path) {
    let held = CHECKS.iter().filter(|(_, _, attempt)| attempt(outside, scratch).is_err());
    let held: Vec<&str> = held.map(|(name, ..)| *name).collect();
    let text = serde_json::to_vec(&held).unwrap_or_default();
    // This process exits without running destructors, so nothing may remain in a buffer.
    let _ = io::stdout().write_all(&text).and_then(|()| io::stdout().flush());
}

/// Calls a system call that must be denied itself, regardless of its arguments.
fn call(refused: RefusedCall) -> io::Result<()> {
    match refused.attempt() {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

fn read_outside(outside: &ProbeTargets, _: &Path) -> io::Result<()> {
    fs::read(Path::new(&outside.folder).join("secret")).map(drop)
}

fn write_outside(outside: &ProbeTargets, _: &Path) -> io::Result<()> {
    let folder = Path::new(&outside.folder);
    let written = fs::OpenOptions::new().append(true).open(folder.join("secret"));
    let made = fs::write(folder.join("made"), "");
    let removed = fs::remove_file(folder.join("secret"));
    written.map(drop).or(made).or(removed)
}

fn modes_outside(outside: &ProbeTargets, _: &Path) -> io::Result<()> {
    fs::set_permissions(
        Path::new(&outside.folder).join("secret"),
        fs::Permissions::from_mode(0o600),
    )
}

fn names_outside(outside: &ProbeTargets, _: &Path) -> io::Result<()> {
    fs::symlink_metadata(Path::new(&outside.folder).join("secret")).map(drop)
}

fn processes_seen(outside: &ProbeTargets, _: &Path) -> io::Result<()> {
    fs::symlink_metadata(format!("/proc/{}", outside.pid)).map(drop)
}

fn environment(outside: &ProbeTargets, _: &Path) -> io::Result<()> {
    let variables = fs::read(format!("/proc/{}/environ", outside.pid)).map(drop);
    variables.or_else(|_| fs::File::open(format!("/proc/{}/mem", outside.pid)).map(drop))
}

fn signals(outside: &ProbeTargets, _: &Path) -> io::Result<()> {
    let pid = Pid::from_raw(outside.pid).ok_or(io::ErrorKind::NotFound)?;
    Ok(rustix::process::test_kill_process(pid)?)
}

fn network(outside: &ProbeTargets, _: &Path) -> io::Result<()> {
    std::net::TcpStream::connect(("127.0.0.1", outside.port)).map(drop)
}

fn named_sockets(outside: &ProbeTargets, _: &Path) -> io::Result<()> {
    UnixStream::connect_addr(&SocketAddr::from_abstract_name(&outside.name)?).map(drop)
}

fn path_sockets(outside: &ProbeTargets, _: &Path) -> io::Result<()> {
    UnixStream::connect(Path::new(&outside.folder).join("socket")).map(drop)
}

fn virtual_sockets(_: &ProbeTargets, _: &Path) -> io::Result<()> {
    call(RefusedCall::Socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0))
}

fn raw_sockets(_: &ProbeTargets, _: &Path) -> io::Result<()> {
    let packet = RefusedCall::Socket(libc::AF_PACKET, libc::SOCK_RAW, 0).attempt();
    let raw = || RefusedCall::Socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP).attempt();
    packet.or_else(|_| raw())
}

fn devices(_: &ProbeTargets, scratch: &Path) -> io::Result<()> {
    let path = scratch.join("device");
    let kind = rustix::fs::FileType::CharacterDevice;
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let made = rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, rustix::fs::makedev(1, 1));
    let opened =
        ["/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/fuse", "/dev/kvm"];
    let opened = opened.into_iter().any(|path| fs::File::open(path).is_ok());
    if made.is_ok() || opened { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

fn kernel_settings(_: &ProbeTargets, _: &Path) -> io::Result<()> {
    let open = |path: &str| fs::OpenOptions::new().append(true).open(path).map(drop);
    open("/proc/sys/kernel/core_pattern").or_else(|_| open("/proc/sysrq-trigger"))
}

fn set_id(_: &ProbeTargets, scratch: &Path) -> io::Result<()> {
    let path = scratch.join("program");
    fs::write(&path, "")?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4755))
}

fn rights(_: &ProbeTargets, _: &Path) -> io::Result<()> {
    let sets = rustix::thread::capabilities(None)?;
    let none = sets.effective.is_empty() && sets.permitted.is_empty();
    if none && rustix::thread::no_new_privs()? {
        Err(io::ErrorKind::PermissionDenied.into())
    } else {
        Ok(())
    }
}
