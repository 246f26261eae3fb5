//! The results of a verification: findings, which are alarms, and remarks, which are not.

use std::fmt;

use serde::Serialize;

/// Something was done to a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The chain.
    pub chain: u64,
    /// The first number that is not as it was written.
    pub seq: u64,
    /// What was done.
    #[serde(flatten)]
    pub what: Tampering,
}

/// What was done to a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum Tampering {
    /// The record does not fit the hash of it and of the record before: its text, its hash, or the
    /// hash before it was changed.
    Altered,
    /// Numbers are missing from the finding's number on.
    Gap {
        /// The last one that is missing.
        to: u64,
    },
    /// A record is here that was not written here: the next one has this number too, and fits the
    /// record before.
    Inserted,
    /// The record here has another number: records were put in another order or brought in, or some
    /// were taken out and the rest renumbered.
    Moved {
        /// The number that it has.
        says: u64,
    },
    /// The newest records are gone: a checkpoint was signed beyond the end of the chain.
    TailCut {
        /// Number of the newest checkpoint.
        checkpoint: u64,
    },
    /// The records fit each other, but they are not those that were signed: some record from the
    /// finding's number up to the checkpoint was changed, and all after it were hashed again.
    Rewritten {
        /// Number of the first checkpoint that says so.
        checkpoint: u64,
    },
    /// A checkpoint without a valid signature of a trusted key.
    ForgedCheckpoint {
        /// Where it is kept.
        kept: CheckpointLocation,
        /// Why it is not believed.
        why: Forgery,
    },
    /// A checkpoint of the anchor file that the database no longer has.
    MissingCheckpoint,
}

/// Where a checkpoint is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointLocation {
    /// Beside the records, in the database or the export.
    Records,
    /// In the anchor file.
    Anchors,
}

/// Why a checkpoint is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Forgery {
    /// It names a key that is not trusted.
    UnknownKey,
    /// The signature is not that of this text.
    Signature,
}

impl Tampering {
    /// The name of the finding, as `--json` has it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Altered => "altered",
            Self::Gap { .. } => "gap",
            Self::Inserted => "inserted",
            Self::Moved { .. } => "moved",
            Self::TailCut { .. } => "tail_cut",
            Self::Rewritten { .. } => "rewritten",
            Self::ForgedCheckpoint { .. } => "forged_checkpoint",
            Self::MissingCheckpoint => "missing_checkpoint",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seq = self.seq;
        match &self.what {
            Tampering::Altered => write!(
                f,
                "altered: record {seq} does not fit its hash and the record before it; one of the two was changed"
            ),
            Tampering::Gap { to } if *to == seq => write!(f, "gap: record {seq} is missing"),
            Tampering::Gap { to } => write!(f, "gap: the records {seq} to {to} are missing"),
            Tampering::Inserted => write!(
                f,
                "inserted: the record in place {seq} was not written there; the one after it has this number and fits the record before"
            ),
            Tampering::Moved { says } => {
                write!(f, "reordered or inserted: the record in place {seq} has the number {says}")
            }
            Tampering::TailCut { checkpoint } => write!(
                f,
                "tail cut: the records from {seq} on are gone; a signed checkpoint says that there were {checkpoint} at least"
            ),
            Tampering::Rewritten { checkpoint } => write!(
                f,
                "rewritten: the records fit each other, but the signed checkpoint at {checkpoint} is of other ones; the first that was changed is \
                 one from {seq} to {checkpoint}"
            ),
            Tampering::ForgedCheckpoint { kept, why } => {
                let kept = match kept {
                    CheckpointLocation::Records => "beside the records",
                    CheckpointLocation::Anchors => "in the anchor file",
                };
                let why = match why {
                    Forgery::UnknownKey => "it names a key that is not trusted",
                    Forgery::Signature => "its signature is wrong",
                };
                write!(f, "forged checkpoint: the one at {seq} {kept} is not believed, {why}")
            }
            Tampering::MissingCheckpoint => write!(
                f,
                "missing checkpoint: the one at {seq} is in the anchor file and no longer beside the records"
            ),
        }
    }
}

/// Something worth knowing that is no alarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "remark", rename_all = "snake_case")]
pub enum Remark {
    /// The newest records are signed by no checkpoint yet: within these, an attacker who can write
    /// the database could have changed anything.
    Unsigned {
        /// The chain.
        chain: u64,
        /// The first of them.
        seq: u64,
        /// How many.
        count: u64,
    },
    /// Checkpoints beside the records that the anchor file does not have.
    NotAnchored {
        /// The chain.
        chain: u64,
        /// Number of the first of them.
        seq: u64,
        /// How many.
        count: u64,
    },
    /// Lines of the anchor file that are no checkpoints: a process died while it wrote them.
    TornAnchors {
        /// How many.
        count: u64,
    },
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned { seq, count, .. } => {
                write!(f, "no checkpoint covers the newest {count} records yet, from {seq} on")
            }
            Self::NotAnchored { seq, count, .. } => write!(
                f,
                "{count} checkpoints, from the one at {seq} on, are not in the anchor file; a process that dies between the two leaves this behind"
            ),
            Self::TornAnchors { count } => {
                write!(
                    f,
                    "{count} lines of the anchor file are no checkpoints; a process died while it wrote"
                )
            }
        }
    }
}
