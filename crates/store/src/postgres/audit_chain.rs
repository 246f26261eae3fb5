//! The audit chain of one Postgres store, and its signed checkpoints.

use tokio_postgres::Row;
use toolcrib_core::audit::{Hash, chain_hash, genesis};
use toolcrib_core::{AuditEvent, canonical_json};

/// Head of the chain, and the number of commits of its store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AuditChain {
    pub(super) number: i64,
    /// Number of the newest record; 0 if there is none.
    pub(super) seq: u64,
    head: Hash,
    /// Number of the newest commit.
    pub(super) turn: i64,
}

/// New records, column by column.
#[derive(Debug, Default)]
pub(super) struct ChainedRecords {
    pub(super) seqs: Vec<i64>,
    pub(super) calls: Vec<Option<String>>,
    pub(super) texts: Vec<String>,
    pub(super) hashes: Vec<String>,
}

impl AuditChain {
    /// Creates a chain without records.
    pub(super) fn new(number: i64) -> Self {
        Self { number, seq: 0, head: genesis(number.unsigned_abs()), turn: 0 }
    }

    /// Returns the chain after one more commit with these events, and their records.
    pub(super) fn extended(&self, events: &[AuditEvent]) -> (Self, ChainedRecords) {
        let mut next = Self { turn: self.turn + 1, ..self.clone() };
        let mut links = ChainedRecords::default();
        for event in events {
            next.seq += 1;
            let text = event.text(self.number.unsigned_abs(), next.seq);
            next.head = chain_hash(&next.head, &text);
            links.seqs.push(next.seq_column());
            links.calls.push(event.call.map(|call| call.to_string()));
            links.texts.push(text);
            links.hashes.push(next.head_text());
        }
        (next, links)
    }

    pub(super) fn seq_column(&self) -> i64 {
        i64::try_from(self.seq).unwrap_or(i64::MAX)
    }

    /// Returns the newest hash, as 64 hexadecimal digits.
    pub(super) fn head_text(&self) -> String {
        canonical_json::hex(&self.head)
    }

    /// Returns the chain as stored in the database; `None` if the row is invalid.
    pub(super) fn read_back(&self, row: &Row) -> Option<Self> {
        let seq: i64 = row.try_get(0).ok()?;
        let head: &str = row.try_get(1).ok()?;
        let head =
            if head.is_empty() { genesis(self.number.unsigned_abs()) } else { from_hex(head)? };
        Some(Self {
            number: self.number,
            seq: u64::try_from(seq).ok()?,
            head,
            turn: row.try_get(2).ok()?,
        })
    }
}

/// Parses 64 hexadecimal digits to 32 bytes.
fn from_hex(text: &str) -> Option<Hash> {
    let mut hash = Hash::default();
    if text.len() != 2 * hash.len() {
        return None;
    }
    for (byte, place) in hash.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(text.get(place..place + 2)?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_comes_back() {
        let chain = AuditChain::new(7);
        assert_eq!(from_hex(&chain.head_text()), Some(chain.head));
        for text in ["", "0", &"g".repeat(64), &"\u{e9}".repeat(32)] {
            assert_eq!(from_hex(text), None, "{text}");
        }
    }
}
