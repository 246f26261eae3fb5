//! seccomp user notification: at the reduced level the supervisor decides whether a file may get
//! another mode, time or owner, which Landlock does not cover.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::net::RecvFlags;
use serde::{Deserialize, Serialize};

use super::control_socket;
use super::plan::PathView;
use super::raw_syscalls::{self, NotificationReply, SyscallNotification};
use super::seccomp_attribute_changes::{self, AttributeCall};
use super::seccomp_filter;

/// The message with which the program's process passes the notification descriptor.
#[derive(Serialize, Deserialize)]
struct Handover;

/// Installs the notifying filter, in the program's process. Must be the last restriction, because
/// many calls need an answer from then on.
#[expect(unsafe_code, reason = "a filter decides what system calls do")]
pub(super) fn install(supervisor: &OwnedFd) -> io::Result<()> {
    let program = seccomp_filter::notify_program();
    // SAFETY: this filter notifies about calls that change attributes of files and allows all
    // others. The supervisor replies "done" only if it made the change; these calls do not affect
    // memory.
    let listener = unsafe { raw_syscalls::install_notify_filter(&program) }?;
    control_socket::send(supervisor, &Handover, &[listener.as_fd()])
}

/// In the supervisor: answers notifications.
pub(super) struct NotifyListener {
    listener: OwnedFd,
    /// Paths that may be changed, and restricted paths in them.
    views: Vec<PathView>,
}

impl NotifyListener {
    /// Receives the notification descriptor, which was sent before the program started.
    pub(super) fn receive(from: &OwnedFd, views: Vec<PathView>) -> Option<Self> {
        let (_, fds) = control_socket::receive::<Handover>(from, RecvFlags::DONTWAIT).ok()??;
        let listener = fds.into_iter().next()?;
        Some(Self { listener, views })
    }

    /// Returns the descriptor, which becomes readable when a notification is pending.
    pub(super) fn listener(&self) -> &OwnedFd {
        &self.listener
    }

    /// Answers one notification.
    pub(super) fn handle_one(&self) {
        // The process of the notification may have ended.
        let Ok(question) = raw_syscalls::receive_notification(self.listener.as_fd()) else {
            return;
        };
        let reply = match AttributeCall::from_notification(&question) {
            // The filter notifies about no other calls.
            None => NotificationReply::Fail(libc::EPERM),
            Some(change) => self.change(&question, &change),
        };
        let _ = raw_syscalls::reply_notification(self.listener.as_fd(), question.id, reply);
    }

    /// Applies the change from this process, to the file that was checked. In the program's process
    /// the path could refer to another file by now.
    fn change(&self, question: &SyscallNotification, change: &AttributeCall) -> NotificationReply {
        let made = || -> io::Result<()> {
            let wanted = change.resolve(question)?;
            // The memory that was read belongs to the notifying process only if that process still
            // exists.
            raw_syscalls::is_notification_valid(self.listener.as_fd(), question.id)?;
            wanted.apply(|path| self.may_change(path))
        };
        match made() {
            Ok(()) => NotificationReply::Done,
            Err(error) => NotificationReply::Fail(error.raw_os_error().unwrap_or(libc::EPERM)),
        }
    }

    fn may_change(&self, path: &Path) -> bool {
        seccomp_attribute_changes::may_change(&self.views, path)
    }
}
