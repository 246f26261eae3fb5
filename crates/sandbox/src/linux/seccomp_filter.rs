//! seccomp filter: a deny list of system calls, grouped by the abuse that they allow.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, apply_filter, sock_filter,
};

use serde::{Deserialize, Serialize};

use super::control_socket::Fault;
use super::plan::Net;

/// Parameters of the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FilterOptions {
    /// Whether the process has its own namespaces.
    pub(super) is_apart: bool,
    /// Whether it is root of another root file system.
    pub(super) is_root: bool,
    pub(super) net: Net,
    /// Whether memory is counted per process, so that shared memory without an owner must be
    /// denied.
    pub(super) counts_memory: bool,
    /// Whether disk writes are counted.
    pub(super) counts_disk: bool,
}

type Rules = BTreeMap<libc::c_long, Vec<SeccompRule>>;

/// System call numbers that libc does not define yet.
const FCHMODAT2: libc::c_long = 452;
const SETXATTRAT: libc::c_long = 463;
const REMOVEXATTRAT: libc::c_long = 466;
const OPEN_TREE_ATTR: libc::c_long = 467;
const FILE_SETATTR: libc::c_long = 469;

/// Denied with `EPERM` for all arguments.
const DENIED_SYSCALLS: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Kernel programs (BPF, perf) and keyrings.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_fanotify_init,
    // Mounts, roots and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // The machine.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// Denied with `ENOSYS` as on an older kernel, so that callers fall back to a call whose arguments
/// the filter can check.
const ENOSYS_SYSCALLS: &[libc::c_long] = &[libc::SYS_clone3, libc::SYS_openat2];

/// Reported as successful without effect, for root of another root file system: there is only one
/// user, but package managers change the owners of their files.
const IGNORED_SYSCALLS: &[libc::c_long] = &[
    libc::SYS_fchown,
    libc::SYS_fchownat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
];

/// Flags of new namespaces: mount, cgroup, uts, ipc, user, pid, net. The flag of the time namespace
/// overlaps the exit signal of clone(2).
const NEW_NAMESPACE: [u64; 7] =
    [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];

/// ioctls that inject terminal input: `TIOCSTI`, and `TIOCLINUX`, which pastes.
const TYPING: [u64; 2] = [0x5412, 0x541C];

/// Set-user-id and set-group-id. Such a file owned by root would outlive the sandbox.
const SET_ID: [u64; 2] = [0o4000, 0o2000];

/// Maximum size of allowed System V segments (64 KiB), such as the one with which PostgreSQL marks
/// its data folder.
const SMALL_SEGMENT: u64 = 1 << 16;

/// Installs the filter permanently.
pub(super) fn apply(kind: FilterOptions) -> Result<(), Fault> {
    let all = || -> io::Result<()> {
        for program in programs(kind)? {
            apply_filter(&program).map_err(io::Error::other)?;
        }
        Ok(())
    };
    all().map_err(Fault::host("seccomp"))
}

/// Returns the filter programs as bytes, in the format that external backends read.
pub(super) fn encoded_programs(kind: FilterOptions) -> io::Result<Vec<Vec<u8>>> {
    let bytes = |step: &sock_filter| {
        let [code, k] = [step.code.to_ne_bytes().to_vec(), step.k.to_ne_bytes().to_vec()];
        [code, vec![step.jt, step.jf], k].concat()
    };
    Ok(programs(kind)?.iter().map(|program| program.iter().flat_map(bytes).collect()).collect())
}

/// Returns the filter programs.
pub(super) fn programs(kind: FilterOptions) -> io::Result<Vec<BpfProgram>> {
    let mut programs = Vec::new();
    let mut unknown: Rules = ENOSYS_SYSCALLS.iter().map(|call| (*call, Vec::new())).collect();
    if kind.counts_memory {
        deny_always(&mut unknown, libc::SYS_memfd_create);
        deny_always(&mut unknown, libc::SYS_memfd_secret);
    }
    programs.push(compile(unknown, libc::ENOSYS)?);
    if kind.counts_disk {
        // Space that is allocated but never written is not counted as written.
        let mut rules = Rules::new();
        deny_always(&mut rules, libc::SYS_fallocate);
        programs.push(compile(rules, libc::EOPNOTSUPP)?);
    }
    if kind.is_root {
        let pretended = IGNORED_SYSCALLS.iter().map(|call| (*call, Vec::new()));
        programs.push(compile(pretended.collect(), 0)?);
    }
    if !kind.is_apart {
        let changes = ATTRIBUTE_SYSCALLS.iter().map(|call| (*call, Vec::new()));
        programs.push(compile(changes.collect(), libc::EOPNOTSUPP)?);
    }
    programs.push(compile(denied_rules(kind)?, libc::EPERM)?);
    #[cfg(target_arch = "x86_64")]
    programs.push(no_second_table());
    Ok(programs)
}

fn denied_rules(kind: FilterOptions) -> io::Result<Rules> {
    let mut rules: Rules = DENIED_SYSCALLS.iter().map(|call| (*call, Vec::new())).collect();
    if kind.is_root {
        rules.remove(&libc::SYS_chroot);
    }
    for flag in NEW_NAMESPACE {
        deny_if(&mut rules, libc::SYS_clone, [bits(0, flag)?])?;
    }
    for command in TYPING {
        // The kernel evaluates only the lower half of the argument.
        deny_if(&mut rules, libc::SYS_ioctl, [test(1, Len::Dword, Op::Eq, command)?])?;
    }
    personality(&mut rules)?;
    modes(&mut rules)?;
    sockets(&mut rules, kind)?;
    shared_memory(&mut rules, kind)?;
    if !kind.is_apart {
        // Limits of other processes of the same user.
        deny_if(&mut rules, libc::SYS_prlimit64, [test(0, Len::Dword, Op::Ne, 0)?])?;
        for command in FLAGGING {
            deny_if(&mut rules, libc::SYS_ioctl, [test(1, Len::Dword, Op::Eq, command)?])?;
        }
    }
    Ok(rules)
}

/// Allows only the default execution domain, and queries.
fn personality(rules: &mut Rules) -> io::Result<()> {
    let usual = test(0, Len::Dword, Op::Ne, 0)?;
    let question = test(0, Len::Dword, Op::Ne, 0xFFFF_FFFF)?;
    deny_if(rules, libc::SYS_personality, [usual, question])
}

/// Denies set-id bits and device files in every call that can create them.
fn modes(rules: &mut Rules) -> io::Result<()> {
    const CREATE: u64 = libc::O_CREAT as u64;
    const UNNAMED: u64 = 0o20_000_000;
    for bit in SET_ID {
        deny_if(rules, libc::SYS_fchmod, [bits(1, bit)?])?;
        deny_if(rules, libc::SYS_fchmodat, [bits(2, bit)?])?;
        deny_if(rules, FCHMODAT2, [bits(2, bit)?])?;
        deny_if(rules, libc::SYS_mknodat, [bits(2, bit)?])?;
        for how in [CREATE, UNNAMED] {
            deny_if(rules, libc::SYS_openat, [bits(2, how)?, bits(3, bit)?])?;
            #[cfg(target_arch = "x86_64")]
            deny_if(rules, libc::SYS_open, [bits(1, how)?, bits(2, bit)?])?;
        }
        #[cfg(target_arch = "x86_64")]
        {
            deny_if(rules, libc::SYS_chmod, [bits(1, bit)?])?;
            deny_if(rules, libc::SYS_creat, [bits(1, bit)?])?;
            deny_if(rules, libc::SYS_mknod, [bits(1, bit)?])?;
        }
    }
    for kind in [libc::S_IFBLK, libc::S_IFCHR] {
        let (mask, kind) = (u64::from(libc::S_IFMT), u64::from(kind));
        deny_if(rules, libc::SYS_mknodat, [test(2, Len::Dword, Op::MaskedEq(mask), kind)?])?;
        #[cfg(target_arch = "x86_64")]
        deny_if(rules, libc::SYS_mknod, [test(1, Len::Dword, Op::MaskedEq(mask), kind)?])?;
    }
    Ok(())
}

/// Restricts socket families. Unlisted families, such as vsock, reach beyond the network namespace.
fn sockets(rules: &mut Rules, kind: FilterOptions) -> io::Result<()> {
    let mut families = Vec::new();
    if kind.is_apart || kind.net == Net::Host {
        families.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    if kind.is_apart {
        families.push(libc::AF_UNIX);
    }
    let others: io::Result<Vec<_>> =
        families.iter().map(|family| test(0, Len::Dword, Op::Ne, family_number(*family))).collect();
    match others? {
        // Landlock does not cover connecting to sockets by path: without its own root, a process
        // could connect to every service of the host.
        none if none.is_empty() => deny_always(rules, libc::SYS_socket),
        others => deny_if(rules, libc::SYS_socket, others)?,
    }
    if kind.is_apart || kind.net == Net::Host {
        // Of netlink only `NETLINK_ROUTE` (0), which lists interfaces; no raw packets.
        let netlink = test(0, Len::Dword, Op::Eq, family_number(libc::AF_NETLINK))?;
        deny_if(rules, libc::SYS_socket, [netlink, test(2, Len::Dword, Op::Ne, 0)?])?;
        for family in [libc::AF_INET, libc::AF_INET6] {
            let family = test(0, Len::Dword, Op::Eq, family_number(family))?;
            let raw = test(1, Len::Dword, Op::MaskedEq(0xF), 3)?;
            deny_if(rules, libc::SYS_socket, [family, raw])?;
        }
    }
    Ok(())
}

fn family_number(family: i32) -> u64 {
    u64::from(family.unsigned_abs())
}

/// Denies shared memory with a key instead of an owner.
fn shared_memory(rules: &mut Rules, kind: FilterOptions) -> io::Result<()> {
    if !kind.is_apart {
        for call in [libc::SYS_shmget, libc::SYS_semget, libc::SYS_msgget, libc::SYS_mq_open] {
            deny_always(rules, call);
        }
    } else if kind.counts_memory {
        deny_if(rules, libc::SYS_shmget, [test(1, Len::Qword, Op::Gt, SMALL_SEGMENT)?])?;
    }
    Ok(())
}

fn deny_always(rules: &mut Rules, call: libc::c_long) {
    rules.insert(call, Vec::new());
}

/// Denies the call if all of these conditions match.
fn deny_if(
    rules: &mut Rules,
    call: libc::c_long,
    conditions: impl Into<Vec<SeccompCondition>>,
) -> io::Result<()> {
    let rule = SeccompRule::new(conditions.into()).map_err(io::Error::other)?;
    rules.entry(call).or_default().push(rule);
    Ok(())
}

/// Returns whether all of these bits are set in an argument.
fn bits(argument: u8, bits: u64) -> io::Result<SeccompCondition> {
    test(argument, Len::Dword, Op::MaskedEq(bits), bits)
}

fn test(argument: u8, length: Len, op: Op, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, length, op, value).map_err(io::Error::other)
}

fn compile(rules: Rules, errno: i32) -> io::Result<BpfProgram> {
    let arch = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch);
    filter.and_then(BpfProgram::try_from).map_err(io::Error::other)
}

/// BPF instructions of a filter (`linux/bpf_common.h`, `linux/seccomp.h`).
const LOAD: u16 = 0x20;
const IS: u16 = 0x15;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7FFF_0000;

fn step(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// Calls that the supervisor decides at the reduced level: changes of files that Landlock does not
/// cover.
const NOTIFIED_SYSCALLS: &[libc::c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
];

/// Denied at the reduced level: other changes that Landlock does not cover, such as extended
/// attributes and older calls for timestamps.
const ATTRIBUTE_SYSCALLS: &[libc::c_long] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// ioctls that set file flags (`FS_IOC_SETFLAGS`, `FS_IOC_FSSETXATTR`).
const FLAGGING: [u64; 2] = [0x4008_6602, 0x401C_5820];

/// Returns the filter that notifies the supervisor. The filters above stop calls of other
/// architectures.
pub(super) fn notify_program() -> BpfProgram {
    const ASK: u32 = 0x7FC0_0000;
    let mut program = vec![step(LOAD, 0, 0, 0)];
    for call in NOTIFIED_SYSCALLS {
        program.push(step(IS, 0, 1, u32::try_from(*call).unwrap_or(u32::MAX)));
        program.push(step(RETURN, 0, 0, ASK));
    }
    program.push(step(RETURN, 0, 0, ALLOW));
    program
}

/// Denies the x32 calls of x86-64. They have the same architecture value but other numbers, so the
/// filters above would not match them.
#[cfg(target_arch = "x86_64")]
fn no_second_table() -> BpfProgram {
    const AT_LEAST: u16 = 0x35;
    const X32: u32 = 0x4000_0000;
    const ERRNO: u32 = 0x0005_0000;
    let unknown = ERRNO | libc::ENOSYS.unsigned_abs();
    vec![
        step(LOAD, 0, 0, 0),
        step(AT_LEAST, 0, 1, X32),
        step(RETURN, 0, 0, unknown),
        step(RETURN, 0, 0, ALLOW),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_compiles_and_fits_the_kernel() {
        for is_apart in [false, true] {
            for net in [Net::Nothing, Net::Proxy, Net::Host] {
                for counted in [false, true] {
                    for is_root in [false, is_apart] {
                        let (counts_memory, counts_disk) = (counted, counted);
                        let kind =
                            FilterOptions { is_apart, is_root, net, counts_memory, counts_disk };
                        for program in programs(kind).unwrap() {
                            assert!((4..4096).contains(&program.len()), "{kind:?}");
                        }
                    }
                }
            }
        }
    }
}
