//! What the kernel asks the keeper before it does it (seccomp user notification), where no namespace answers: whether a file may have
//! another mode, another time or another owner, which Landlock does not judge.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::net::RecvFlags;
use serde::{Deserialize, Serialize};

use super::changes::{self, Change};
use super::control;
use super::filter;
use super::plan::View;
use super::sys::{self, Question, Reply};

/// What the program's side says when it hands over the questions of the kernel.
#[derive(Serialize, Deserialize)]
struct Handover;

/// In the program's process: from now on nobody in it does these things unasked. The last restriction, since much needs an answer then.
pub(super) fn ask_first(keeper: &OwnedFd) -> io::Result<()> {
    let listener = sys::listen_to_filter(&filter::questions())?;
    control::send(keeper, &Handover, &[listener.as_fd()])
}

/// In the keeper: who answers.
pub(super) struct Questions {
    listener: OwnedFd,
    /// What may be changed, and what lies in it that may not.
    views: Vec<View>,
}

impl Questions {
    /// Takes over the questions, which were sent before the program started.
    pub(super) fn take(from: &OwnedFd, views: Vec<View>) -> Option<Self> {
        let (_, fds) = control::receive::<Handover>(from, RecvFlags::DONTWAIT).ok()??;
        let listener = fds.into_iter().next()?;
        Some(Self { listener, views })
    }

    /// Readable when the kernel asks.
    pub(super) fn listener(&self) -> &OwnedFd {
        &self.listener
    }

    /// Answers one question.
    pub(super) fn answer(&self) {
        // Whoever was asked about may be gone already.
        let Ok(question) = sys::filter_asks(self.listener.as_fd()) else { return };
        let reply = match Change::of(&question) {
            // The filter asks about nothing else.
            None => Reply::Fail(libc::EPERM),
            Some(change) => self.change(&question, &change),
        };
        let _ = sys::answer_filter(self.listener.as_fd(), question.id, reply);
    }

    /// Makes the change here, at what was looked at: in there it could be at something else by then.
    fn change(&self, question: &Question, change: &Change) -> Reply {
        let made = || -> io::Result<()> {
            let wanted = change.read(question)?;
            // What was read belongs to whoever asked only if that one is still there.
            sys::still_asks(self.listener.as_fd(), question.id)?;
            wanted.make(|path| self.may_change(path))
        };
        match made() {
            Ok(()) => Reply::Done,
            Err(error) => Reply::Fail(error.raw_os_error().unwrap_or(libc::EPERM)),
        }
    }

    fn may_change(&self, path: &Path) -> bool {
        changes::may_change(&self.views, path)
    }
}
