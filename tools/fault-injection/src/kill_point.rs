//! The places where a worker can be made to die.

use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

/// A place, as the engine and the store name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KillPoint {
    /// A batch is stored, its client was not told yet.
    Accept,
    /// "Started" is stored, nothing runs yet.
    Intent,
    /// The tool is about to run.
    Spawn,
    /// The tool has run, its outcome is not stored yet.
    Exit,
    /// Everything of a transaction is written, it is not committed.
    Commit,
    /// The outcome is stored, the waiting client was not told yet.
    Answer,
    /// A decision is stored, the call has not gone on.
    Approve,
    /// Inside the transaction of a migration.
    Migrate,
}

impl KillPoint {
    /// All of them.
    pub(crate) const ALL: [Self; 8] = [
        Self::Accept,
        Self::Intent,
        Self::Spawn,
        Self::Exit,
        Self::Commit,
        Self::Answer,
        Self::Approve,
        Self::Migrate,
    ];

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Intent => "intent",
            Self::Spawn => "spawn",
            Self::Exit => "exit",
            Self::Commit => "commit",
            Self::Answer => "answer",
            Self::Approve => "approve",
            Self::Migrate => "migrate",
        }
    }

    /// The last hit at which a worker is made to die: a load reaches it nearly always.
    pub(crate) fn most_hits(self) -> u32 {
        match self {
            Self::Intent | Self::Spawn | Self::Exit | Self::Answer => 40,
            Self::Accept => 20,
            Self::Commit => 30,
            Self::Approve => 8,
            Self::Migrate => 3,
        }
    }
}

/// Where to die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlannedKill {
    /// The place.
    pub(crate) point: KillPoint,
    /// How often it is passed, this time included.
    pub(crate) hit: u32,
}

/// Makes this process die there.
pub(crate) fn arm(death: PlannedKill) -> crate::error::Result<()> {
    let left = AtomicU32::new(death.hit);
    fail::cfg_callback(death.point.name(), move || {
        if left.fetch_sub(1, Ordering::SeqCst) == 1 {
            die();
        }
    })?;
    Ok(())
}

/// kill -9 of this process: nothing of it runs any more.
pub(crate) fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    loop {
        std::thread::park();
    }
}
