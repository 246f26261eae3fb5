//! A chain with its checkpoints, its anchors and its key.

use std::sync::Arc;

use ring::signature::{Ed25519KeyPair, KeyPair as _};
use toolcrib_core::audit::{chain_hash, genesis};
use toolcrib_core::{
    AuditCheckpoint, AuditEvent, AuditKind, AuditRow, CallId, Context, OutcomeKind, canonical_json,
};

use crate::{
    AnchorFile, ChainReport, ChainVerifier, Evidence, Start, TrustedCheckpoints, TrustedKeys,
};

pub(super) const CHAIN: u64 = 1;

/// The data that an attacker can reach, without the key.
#[derive(Clone)]
pub(super) struct AuditFixture {
    pub(super) rows: Vec<AuditRow>,
    pub(super) checkpoints: Vec<AuditCheckpoint>,
    pub(super) anchors: AnchorFile,
    pub(super) keys: TrustedKeys,
    key: Arc<Ed25519KeyPair>,
}

/// Creates an event with this word.
pub(super) fn event(at: i64, word: &str, has_call: bool) -> AuditEvent {
    let context = Arc::new(Context { topic: word.to_owned(), ..Context::default() });
    AuditEvent {
        call: has_call.then(CallId::fresh),
        tool: Some(word.to_owned()),
        outcome: has_call.then_some(OutcomeKind::Succeeded),
        ..AuditEvent::new(AuditKind::Settled, at, context)
    }
}

impl AuditFixture {
    /// Creates this number of records, with a checkpoint at every `every`th.
    pub(super) fn new(records: usize, every: usize) -> Self {
        Self::with_key(1, records, every)
    }

    pub(super) fn with_key(seed: u8, records: usize, every: usize) -> Self {
        // The same for every key, so that chains of the same length are equal.
        let mut events: Vec<AuditEvent> = Vec::new();
        for at in 0..records {
            let at = i64::try_from(at).unwrap();
            events.push(event(at * 1_000, &format!("tool_{}", at % 7), false));
        }
        Self::of(seed, events.into_iter(), every)
    }

    pub(super) fn of(seed: u8, events: impl Iterator<Item = AuditEvent>, every: usize) -> Self {
        let key = Arc::new(Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap());
        let public = canonical_json::hex(key.public_key().as_ref());
        let mut world = Self {
            rows: Vec::new(),
            checkpoints: Vec::new(),
            anchors: AnchorFile::default(),
            keys: TrustedKeys::parse(&public).unwrap(),
            key,
        };
        let mut previous = genesis(CHAIN);
        for (seq, event) in (1..).zip(events) {
            let text = event.text(CHAIN, seq);
            previous = chain_hash(&previous, &text);
            let hash = canonical_json::hex(&previous);
            world.rows.push(AuditRow { chain: CHAIN, seq, text, hash });
            if seq % every as u64 == 0 {
                let checkpoint = world.sign(seq);
                world.checkpoints.push(checkpoint.clone());
                world.anchors.checkpoints.push(checkpoint);
            }
        }
        world
    }

    pub(super) fn public_key(&self) -> String {
        canonical_json::hex(self.key.public_key().as_ref())
    }

    /// Returns a checkpoint of the record at this position.
    pub(super) fn sign(&self, seq: u64) -> AuditCheckpoint {
        let head = self.rows[usize::try_from(seq).unwrap() - 1].hash.clone();
        let at = 5;
        let said = AuditCheckpoint::signing_payload(CHAIN, seq, &head, at);
        let signature = canonical_json::hex(self.key.sign(said.as_bytes()).as_ref());
        AuditCheckpoint { chain: CHAIN, seq, head, at, key: self.public_key(), signature }
    }

    /// Hashes all records from this position (from 0) on again.
    pub(super) fn rehash_from(&mut self, from: usize) {
        let mut previous = match from.checked_sub(1) {
            None => genesis(CHAIN),
            Some(before) => crate::hex::array(&self.rows[before].hash).unwrap(),
        };
        for row in &mut self.rows[from..] {
            previous = chain_hash(&previous, &row.text);
            row.hash = canonical_json::hex(&previous);
        }
    }

    pub(super) fn evidence(&self) -> Evidence {
        let anchors = Some(self.anchors.clone());
        Evidence { keys: self.keys.clone(), anchors, start: Start::Genesis }
    }

    pub(super) fn checkpoints(&self) -> TrustedCheckpoints {
        let anchors = Some(self.anchors.checkpoints.as_slice());
        TrustedCheckpoints::verify(CHAIN, &self.checkpoints, anchors, &self.keys)
    }

    pub(super) fn verify(&self) -> ChainReport {
        let mut verifier = ChainVerifier::new(CHAIN, Start::Genesis, self.checkpoints());
        self.rows.iter().for_each(|row| verifier.add(row));
        verifier.finish()
    }
}
