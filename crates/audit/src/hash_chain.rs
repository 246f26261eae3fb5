//! Verifies one chain, record by record; its checkpoints bound the memory.
#![deny(clippy::indexing_slicing)]

use std::cmp::Ordering;
use std::vec::IntoIter;

use serde::{Deserialize, Serialize};
use toolcrib_core::AuditRow;
use toolcrib_core::audit::{Hash, chain_hash, genesis};

use super::checkpoints::{TrustedCheckpoint, TrustedCheckpoints};
use super::findings::{Finding, Remark, Tampering};
use super::hex;

/// Maximum number of listed findings per chain; further ones are counted.
const LISTED: usize = 100;

/// The point at which the verification of a chain begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// At its first record.
    #[default]
    Genesis,
    /// After a record of which only number and hash are available.
    After {
        /// Its number.
        seq: u64,
        /// Its hash.
        hash: Hash,
    },
    /// At the first available record, in a store that deletes the oldest ones: its link to the
    /// record before cannot be checked.
    Kept,
}

/// The result of verifying one chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChainReport {
    /// The chain.
    pub chain: u64,
    /// Number of records checked.
    pub records: u64,
    /// Number of the newest record; 0 if there is none.
    pub last: u64,
    /// Number of accepted checkpoints.
    pub checkpoints: u64,
    /// Number of the newest record that an accepted checkpoint covers; 0 if there is none.
    pub signed: u64,
    /// The findings, sorted by record number; at most 100.
    pub findings: Vec<Finding>,
    /// Number of findings beyond those that are listed.
    pub further: u64,
    /// The remarks, which are not alarms.
    pub remarks: Vec<Remark>,
}

impl ChainReport {
    /// Returns whether there are no findings.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    fn add(&mut self, finding: Finding) {
        if self.findings.len() < LISTED {
            self.findings.push(finding);
        } else {
            self.further += 1;
        }
    }
}

/// The hash that the next record has to follow.
#[derive(Debug, Clone, Copy)]
enum Previous {
    /// This hash.
    Hash(Hash),
    /// One of these: in the record before, either the text was altered (then its stored hash is
    /// right) or the hash was altered (then the hash of its text is right).
    Either(Hash, Hash),
    /// Unknown.
    Unknown,
}

impl Previous {
    /// Returns whether a record with this text and hash follows; `None` if unknown.
    fn leads_to(self, text: &str, hash: &Hash) -> Option<bool> {
        match self {
            Self::Hash(previous) => Some(chain_hash(&previous, text) == *hash),
            Self::Either(a, b) => {
                Some(chain_hash(&a, text) == *hash || chain_hash(&b, text) == *hash)
            }
            Self::Unknown => None,
        }
    }
}

/// A finding whose kind depends on the next record.
#[derive(Debug, Clone, Copy)]
enum Suspect {
    /// The record at this position does not match.
    Altered { place: u64 },
    /// The record at this position has another number, and this hash.
    Moved { place: u64, says: u64, hash: Option<Hash> },
    /// Numbers from here to the one before `to` were skipped.
    Gap { from: u64, to: u64 },
    /// The record at `checkpoint` is not the signed one.
    Rewritten { from: u64, checkpoint: u64 },
}

impl Suspect {
    fn finding(self, chain: u64) -> Finding {
        let (seq, what) = match self {
            Self::Altered { place } => (place, Tampering::Altered),
            Self::Moved { place, says, .. } => (place, Tampering::Moved { says }),
            Self::Gap { from, to } => (from, Tampering::Gap { to: to.saturating_sub(1) }),
            Self::Rewritten { from, checkpoint } => (from, Tampering::Rewritten { checkpoint }),
        };
        Finding { chain, seq, what }
    }
}

/// The position that a record's text states.
#[derive(Deserialize)]
struct RecordPosition {
    chain: u64,
    seq: u64,
}

/// A record under inspection.
struct InspectedRecord<'a> {
    text: &'a str,
    hash: Option<Hash>,
    /// Its position in the chain.
    place: u64,
    /// The number in the record.
    says: u64,
    /// Whether its text is a record of this chain.
    is_ours: bool,
}

impl InspectedRecord<'_> {
    fn offset(&self) -> i128 {
        i128::from(self.says) - i128::from(self.place)
    }
}

/// Verifies one chain. Pass it the records in stored order, then call [`finish`](Self::finish).
///
/// The first finding identifies the first bad record; after it the verifier continues with the
/// record at that position, so that one change results in one finding.
pub struct ChainVerifier {
    report: ChainReport,
    /// The problems with the checkpoints themselves.
    of_seals: Vec<Finding>,
    seals: std::iter::Peekable<IntoIter<TrustedCheckpoint>>,
    /// Record number of the newest checkpoint.
    sealed: u64,
    /// Records up to this number match a signed checkpoint, or were not checked.
    firm: u64,
    /// The position of the next record; `None` accepts any.
    next: Option<u64>,
    previous: Previous,
    /// The hash that the record before the next one followed, if known.
    before: Option<Hash>,
    /// Difference between numbers and positions since the last break.
    offset: i128,
    suspect: Option<Suspect>,
    /// Whether there was a finding since the last checkpoint that matched.
    is_broken: bool,
    /// Whether the last checkpoint did not match and was reported.
    is_rewritten: bool,
}

impl ChainVerifier {
    /// Creates a verifier for a chain with these checkpoints.
    #[must_use]
    pub fn new(chain: u64, start: Start, seals: TrustedCheckpoints) -> Self {
        let (next, previous) = match start {
            Start::Genesis => (Some(1), Previous::Hash(genesis(chain))),
            Start::After { seq, hash } => (Some(seq.saturating_add(1)), Previous::Hash(hash)),
            Start::Kept => (None, Previous::Unknown),
        };
        let TrustedCheckpoints { seals, findings, remarks } = seals;
        let report = ChainReport {
            chain,
            records: 0,
            last: next.map_or(0, |next| next - 1),
            checkpoints: seals.len() as u64,
            signed: 0,
            findings: Vec::new(),
            further: 0,
            remarks,
        };
        let mut verifier = Self {
            report,
            of_seals: findings,
            sealed: seals.last().map_or(0, |seal| seal.seq),
            firm: 0,
            seals: seals.into_iter().peekable(),
            next,
            previous,
            before: None,
            offset: 0,
            suspect: None,
            is_broken: false,
            is_rewritten: false,
        };
        if let Start::After { seq, hash } = start {
            verifier.check_checkpoints(seq, &[hash]);
            verifier.firm = seq;
        }
        verifier
    }

    /// Adds the next record.
    pub fn add(&mut self, row: &AuditRow) {
        let record = self.inspect(row);
        let computed = match self.previous {
            Previous::Hash(previous) => Some(chain_hash(&previous, record.text)),
            _ => None,
        };
        if record.offset() == self.offset {
            self.goes_on(&record, computed);
        } else {
            self.breaks(&record);
        }
        self.offset = record.offset();
        self.report.records += 1;
        self.report.last = record.place;
        self.next = record.place.checked_add(1).or(Some(u64::MAX));
        if record.says == record.place {
            let hashes: Vec<Hash> = record.hash.into_iter().chain(computed).collect();
            self.check_checkpoints(record.place, &hashes);
        }
    }

    /// Ends the verification after the last record.
    #[must_use]
    pub fn finish(mut self) -> ChainReport {
        self.settle();
        let last = self.report.last;
        if self.sealed > last {
            let (chain, checkpoint) = (self.report.chain, self.sealed);
            let what = Tampering::TailCut { checkpoint };
            self.report.add(Finding { chain, seq: last.saturating_add(1), what });
        }
        // After the findings about records: checkpoints follow them.
        self.of_seals.into_iter().for_each(|finding| self.report.add(finding));
        self.report.findings.sort_by_key(|finding| finding.seq);
        let unsigned = last.saturating_sub(self.report.signed).min(self.report.records);
        if unsigned > 0 {
            let (chain, seq) = (self.report.chain, last - unsigned + 1);
            self.report.remarks.push(Remark::Unsigned { chain, seq, count: unsigned });
        }
        self.report
    }

    /// Determines position and number of a record. Skipped numbers are a gap until one of them
    /// appears.
    fn inspect<'a>(&mut self, row: &'a AuditRow) -> InspectedRecord<'a> {
        let stated: Option<RecordPosition> = serde_json::from_str(&row.text).ok();
        let is_ours = row.chain == self.report.chain
            && stated.as_ref().is_some_and(|stated| stated.chain == row.chain);
        let stated = stated.filter(|_| is_ours).map_or(row.seq, |stated| stated.seq);
        let mut place = self.next.unwrap_or_else(|| {
            self.firm = row.seq.saturating_sub(1);
            row.seq
        });
        let mut says = stated;
        match row.seq.cmp(&place) {
            Ordering::Equal => {}
            Ordering::Greater => {
                self.suspect(Suspect::Gap { from: place, to: row.seq });
                place = row.seq;
                (self.previous, self.before, self.offset) = (Previous::Unknown, None, 0);
            }
            Ordering::Less => {
                says = row.seq;
                if let Some(Suspect::Gap { from, to }) = self.suspect
                    && row.seq >= from
                {
                    // It was not missing: another record was at its position.
                    self.suspect = Some(Suspect::Moved { place: from, says: to, hash: None });
                    self.offset = i128::from(to) - i128::from(from);
                    place = from.saturating_add(1);
                    self.previous = Previous::Unknown;
                }
            }
        }
        InspectedRecord { text: &row.text, hash: hex::array(&row.hash), place, says, is_ours }
    }

    /// Handles a record whose number follows that of the record before.
    fn goes_on(&mut self, record: &InspectedRecord<'_>, computed: Option<Hash>) {
        let follows = match (record.hash, computed) {
            (None, _) => Some(false),
            (Some(hash), Some(computed)) => Some(hash == computed),
            (Some(hash), None) => self.previous.leads_to(record.text, &hash),
        };
        self.before = match self.previous {
            Previous::Hash(previous) => Some(previous),
            _ => None,
        };
        if follows != Some(false) && record.is_ours {
            // After a gap only the next record shows whether it is one.
            if !matches!(self.suspect, Some(Suspect::Gap { to, .. }) if to == record.place) {
                self.settle();
            }
            self.previous = record.hash.map_or(Previous::Unknown, Previous::Hash);
            return;
        }
        self.suspect(Suspect::Altered { place: record.place });
        self.previous = match (record.hash, computed) {
            (Some(stored), Some(computed)) => Previous::Either(stored, computed),
            (Some(one), None) | (None, Some(one)) => Previous::Hash(one),
            (None, None) => Previous::Unknown,
        };
    }

    /// Handles a record whose number does not follow that of the record before: its link is
    /// unknown.
    fn breaks(&mut self, record: &InspectedRecord<'_>) {
        let before = record.place.checked_sub(1);
        let (is_back, repeats) = (record.offset() == 0, Some(record.says) == before);
        let fits = |previous: Option<Hash>| {
            previous.zip(record.hash).is_some_and(|(p, hash)| chain_hash(&p, record.text) == hash)
        };
        let is_sealed = self.is_checkpointed(record);
        match self.suspect {
            // The record before is at its position, so only its number was changed.
            Some(Suspect::Moved { place, hash, .. })
                if is_back && Some(place) == before && fits(hash) =>
            {
                self.suspect = Some(Suspect::Altered { place });
            }
            // The record that does not match is at the position of this one.
            Some(Suspect::Altered { place }) if repeats && Some(place) == before => {
                self.suspect = None;
                self.found(place, Tampering::Inserted);
            }
            // The same, for a record that follows the record before.
            None if repeats && self.offset == 0 && fits(self.before) => {
                self.found(record.says, Tampering::Inserted);
            }
            Some(Suspect::Rewritten { checkpoint, .. })
                if repeats && Some(checkpoint) == before && fits(self.before) =>
            {
                (self.suspect, self.is_rewritten) = (None, false);
                self.found(record.says, Tampering::Inserted);
            }
            _ if is_back => {}
            // The record signed for this position is here, so only its number was changed.
            _ if is_sealed => {
                self.suspect(Suspect::Altered { place: record.place });
            }
            _ => self.suspect(Suspect::Moved {
                place: record.place,
                says: record.says,
                hash: record.hash,
            }),
        }
        if is_back {
            self.settle();
        }
        if record.hash.is_none() || !record.is_ours {
            self.suspect(Suspect::Altered { place: record.place });
        }
        self.before = None;
        self.previous = record.hash.map_or(Previous::Unknown, Previous::Hash);
    }

    /// Returns whether this hash was signed for the position of the record.
    fn is_checkpointed(&mut self, record: &InspectedRecord<'_>) -> bool {
        while self.seals.next_if(|seal| seal.seq < record.place).is_some() {}
        let seal = self.seals.peek().filter(|seal| seal.seq == record.place);
        seal.is_some_and(|seal| Some(seal.head) == record.hash)
    }

    /// Compares a record with the hash that was signed for its number.
    fn check_checkpoints(&mut self, place: u64, hashes: &[Hash]) {
        while let Some(seal) = self.seals.next_if(|seal| seal.seq <= place) {
            if seal.seq < place {
                continue;
            }
            if hashes.contains(&seal.head) {
                (self.is_broken, self.is_rewritten) = (false, false);
                (self.report.signed, self.firm) = (place, place);
                continue;
            }
            if !self.is_broken && !self.is_rewritten {
                let from = self.firm.saturating_add(1).min(place);
                self.suspect(Suspect::Rewritten { from, checkpoint: place });
                self.is_rewritten = true;
            }
            // The findings so far explain this checkpoint, but no later one.
            self.is_broken = false;
        }
    }

    fn suspect(&mut self, suspect: Suspect) {
        self.settle();
        self.is_broken = true;
        self.suspect = Some(suspect);
    }

    /// Reports the suspected finding, which the next record does not change.
    fn settle(&mut self) {
        if let Some(suspect) = self.suspect.take() {
            self.report.add(suspect.finding(self.report.chain));
        }
    }

    fn found(&mut self, seq: u64, what: Tampering) {
        self.settle();
        self.is_broken = true;
        self.report.add(Finding { chain: self.report.chain, seq, what });
    }
}
