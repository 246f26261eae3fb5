//! This process and its children: signals, time, scheduling, memory, and features of the kernel.

use std::io;
use std::os::fd::AsRawFd as _;

use rustix::process::Signal;

/// Sends a signal to every process that this one may signal, except itself and the first process of
/// the namespace.
#[expect(unsafe_code, reason = "rustix has no call for all processes")]
pub(in crate::linux) fn signal_all(signal: Signal) {
    // SAFETY: the call takes only numbers. Callers are the first process of a namespace, which
    // cannot signal processes outside of it.
    unsafe { libc::kill(-1, signal.as_raw()) };
}

/// Brings up the loopback interface of this network namespace.
///
/// # Errors
/// The error of the system call.
#[expect(unsafe_code, reason = "rustix does not have the call")]
pub(in crate::linux) fn raise_loopback() -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: the request contains only numbers, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the name is shorter than its field and ends in a zero; the request outlives the call,
    // which reads it.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the CPU time of this process's children that were waited for.
#[expect(unsafe_code, reason = "rustix does not have the call")]
pub(in crate::linux) fn time_of_children() -> std::time::Duration {
    // SAFETY: the structure contains only numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure outlives the call, which writes it.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    let of = |time: libc::timeval| {
        let micros = u64::try_from(time.tv_usec).unwrap_or(0);
        std::time::Duration::from_secs(time.tv_sec.unsigned_abs())
            + std::time::Duration::from_micros(micros)
    };
    of(usage.ru_utime) + of(usage.ru_stime)
}

/// Returns the Landlock ABI version of this kernel; `None` if it lacks Landlock or Landlock is
/// disabled.
#[expect(unsafe_code, reason = "the library does not expose its own query")]
pub(in crate::linux) fn landlock_interface() -> Option<i64> {
    const ASK_FOR_THE_VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the call takes no pointer and returns a number.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0usize,
            ASK_FOR_THE_VERSION,
        )
    };
    (version > 0).then_some(version)
}

/// Gives this process, but not its children, priority over all ordinary processes, if permitted.
#[expect(unsafe_code, reason = "rustix does not have the call")]
pub(in crate::linux) fn raise_scheduling() {
    // SAFETY: the structure contains only numbers, for which zeros are valid; musl's has several
    // fields.
    let mut order: libc::sched_param = unsafe { std::mem::zeroed() };
    order.sched_priority = 1;
    let policy = libc::SCHED_RR | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the structure outlives the call, which reads it.
    unsafe { libc::sched_setscheduler(0, policy, &raw const order) };
}

/// Releases the pages of a mapping (`MADV_DONTNEED`): the next access reads them from the file
/// again.
///
/// # Safety
/// The range must be a private, read-only mapping of a file, and nothing may have written to it,
/// neither in memory nor in the file since it was mapped: a later read must return the same bytes.
#[expect(unsafe_code, reason = "no safe call releases pages")]
pub(crate) unsafe fn release_pages(mapping: std::ops::Range<usize>) {
    let start = std::ptr::with_exposed_provenance_mut(mapping.start);
    // SAFETY: the caller guarantees that the content of the range stays the same.
    unsafe { libc::madvise(start, mapping.len(), libc::MADV_DONTNEED) };
}

/// Reads up to `most` bytes of the memory of another process, or to the end of its mapping.
///
/// # Errors
/// The error of the system call.
#[expect(unsafe_code, reason = "no safe wrapper exists")]
pub(in crate::linux) fn read_memory(pid: u32, address: u64, most: usize) -> io::Result<Vec<u8>> {
    const PAGE: u64 = 4096;
    let mut bytes = vec![0; most];
    let mut read = 0;
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    while let Some(room) = bytes.get_mut(read..).filter(|room| !room.is_empty()) {
        let at = address.wrapping_add(read as u64);
        // Read page by page: the memory after the text may be unmapped.
        let length = usize::try_from(PAGE - at % PAGE).unwrap_or(0).min(room.len());
        let own = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: length };
        let theirs = libc::iovec {
            iov_base: std::ptr::without_provenance_mut(usize::try_from(at).unwrap_or(0)),
            iov_len: length,
        };
        // SAFETY: the local side is `length` bytes of a buffer that outlives the call and that no
        // other code uses; only the kernel reads the remote side.
        let count =
            unsafe { libc::process_vm_readv(pid, &raw const own, 1, &raw const theirs, 1, 0) };
        match usize::try_from(count) {
            Ok(count) if count > 0 => read += count,
            _ if read > 0 => break,
            _ => return Err(io::Error::last_os_error()),
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}
