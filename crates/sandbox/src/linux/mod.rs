//! Linux sandbox.

mod bubblewrap;
mod capability_probe;
mod cgroup;
mod control_socket;
mod etc_idmap;
mod exec;
mod gvisor;
mod helper;
mod in_process;
mod landlock;
mod limit_watch;
mod local_backend;
mod mount_namespace;
mod orphans;
mod plan;
mod process_tree;
mod proot;
mod raw_syscalls;
mod rootfs_views;
mod seccomp_attribute_changes;
mod seccomp_filter;
mod seccomp_notify;
mod self_test;
mod start_result;
mod supervisor;

pub use bubblewrap::Bubblewrap;
pub use gvisor::Gvisor;
pub use in_process::run_in_process;
pub use local_backend::Local;
pub(crate) use mount_namespace::open_no_symlinks;
pub(crate) use raw_syscalls::release_pages;

use std::ffi::OsString;

/// Runs the sandbox helper if the arguments (without the program's name) select it, and returns its
/// exit code.
///
/// Must be called at the very beginning of a program, before it creates threads or reads input.
#[must_use]
pub fn helper_entry(args: impl IntoIterator<Item = OsString>) -> Option<u8> {
    let mut args = args.into_iter();
    match (args.next(), args.next()) {
        (Some(word), None) if word == helper::ROLE => Some(helper::serve()),
        _ => {
            crate::process::executable_is_helper();
            None
        }
    }
}
