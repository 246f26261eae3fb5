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
pub use helper::helper_entry;
pub use in_process::run_in_process;
pub use local_backend::Local;
pub(crate) use mount_namespace::open_no_symlinks;
pub(crate) use raw_syscalls::release_pages;
