//! The results of a verification: findings, which are alarms, and remarks, which are not.

use std::fmt;

use serde::Serialize;

/// Tampering with a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The chain.
    pub chain: u64,
    /// The first affected record number.
    pub seq: u64,
    /// The kind of tampering.
    #[serde(flatten)]
    pub what: Tampering,
}

/// The kinds of tampering with a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum Tampering {
    /// The record does not match its own hash or that of the record before: its text, its hash, or
    /// the previous hash was changed.
    Altered,
    /// Numbers are missing, starting at the finding's number.
    Gap {
        /// The last missing number.
        to: u64,
    },
    /// The record was inserted: the next record has the same number and follows the record before.
    Inserted,
    /// The record at this position has another number: records were reordered or brought in, or
    /// some were removed and the rest renumbered.
    Moved {
        /// The number in the record.
        says: u64,
    },
    /// The newest records were removed: a checkpoint was signed beyond the end of the chain.
    TailCut {
        /// Number of the newest checkpoint.
        checkpoint: u64,
    },
    /// The records follow each other, but are not those that were signed: a record between the
    /// finding's number and the checkpoint was changed, and all records after it were hashed again.
    Rewritten {
        /// Number of the first checkpoint that shows it.
        checkpoint: u64,
    },
    /// A checkpoint without a valid signature of a trusted key.
    ForgedCheckpoint {
        /// The location of the checkpoint.
        kept: CheckpointLocation,
        /// The reason why it is not accepted.
        why: Forgery,
    },
    /// The anchor file contains a checkpoint that the database no longer contains.
    MissingCheckpoint,
}

/// The location of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointLocation {
    /// With the records, in the database or the export.
    Records,
    /// In the anchor file.
    Anchors,
}

/// The reasons why a checkpoint is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Forgery {
    /// Its key is not trusted.
    UnknownKey,
    /// The signature does not match its text.
    Signature,
}

impl Tampering {
    /// Returns the name of the finding in the output of `--json`.
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

/// A noteworthy fact that is not an alarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "remark", rename_all = "snake_case")]
pub enum Remark {
    /// No checkpoint covers the newest records yet: an attacker with write access to the database
    /// could have changed them.
    Unsigned {
        /// The chain.
        chain: u64,
        /// Number of the first of them.
        seq: u64,
        /// Number of records.
        count: u64,
    },
    /// Checkpoints of the records are missing in the anchor file.
    NotAnchored {
        /// The chain.
        chain: u64,
        /// Number of the first of them.
        seq: u64,
        /// Number of checkpoints.
        count: u64,
    },
    /// Lines of the anchor file are not checkpoints: a process died while it wrote them.
    TornAnchors {
        /// Number of lines.
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
