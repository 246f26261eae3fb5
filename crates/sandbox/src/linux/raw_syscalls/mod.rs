//! System calls without a safe wrapper.
//!
//! Almost all `unsafe` code of the sandbox is in this folder: a function that no caller can misuse
//! is safe, every other one is an `unsafe fn` with its contract.

mod descriptors;
mod fork;
mod mount_attributes;
mod process;
mod refused_calls;
mod seccomp_notifications;
mod user_namespace;

pub(super) use descriptors::{close, close_on_exec_from, dup_inheritable};
pub(super) use fork::{
    Fork, Forked, auto_reap_children, execute, exit_now, fork, reset_signals, unshare,
};
pub(super) use mount_attributes::{set_idmap, set_mount};
pub(crate) use process::release_pages;
pub(super) use process::{
    landlock_interface, raise_loopback, raise_scheduling, read_memory, signal_all, time_of_children,
};
pub(super) use refused_calls::RefusedCall;
pub(super) use seccomp_notifications::{
    NotificationReply, SyscallNotification, install_notify_filter, is_notification_valid,
    receive_notification, reply_notification,
};
pub(super) use user_namespace::with_user_namespace;
