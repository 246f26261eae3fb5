//! What the audit says of questions, decisions, grants and switches, as it is read record by record.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;

use toolcrib_core::audit::Hash;
use toolcrib_core::{
    ApprovalId, AuditEvent, AuditKind, AuditRow, AuditStore, GrantId, StoreError, canonical,
};

use super::calls::text_like;
use super::hex;
use super::verify::PAGE;

/// A record, by its place and its hash.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recorded {
    /// Chain and number.
    pub(super) place: (u64, u64),
    holds: Holds,
}

/// What a record tells its row by.
#[derive(Debug, Clone, Copy)]
enum Holds {
    /// The hash of the whole row.
    Body(Option<Hash>),
    /// Its own text, where it was written before there was such a hash.
    Text(Option<Hash>),
}

impl Recorded {
    fn new(row: &AuditRow, event: &AuditEvent) -> Self {
        let holds = match &event.body_hash {
            Some(body) => Holds::Body(hex::array(body)),
            None => Holds::Text(hash(&row.text)),
        };
        Self { place: (row.chain, row.seq), holds }
    }

    /// Whether this is what was recorded of a row that would be recorded like this.
    pub(super) fn is_of(&self, event: AuditEvent) -> bool {
        let (chain, seq) = self.place;
        let (kept, of_row) = match self.holds {
            Holds::Body(kept) => (kept, event.body_hash.as_deref().and_then(hex::array)),
            Holds::Text(kept) => (kept, hash(&text_like(event, false, chain, seq))),
        };
        kept.is_some() && kept == of_row
    }
}

fn hash(text: &str) -> Option<Hash> {
    hex::array(&canonical::sha256_text(text))
}

/// A question in the audit.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) owner: String,
    pub(super) asked: Option<Recorded>,
    pub(super) decided: Option<Recorded>,
}

/// A grant in the audit.
#[derive(Debug, Default)]
pub(super) struct Granted {
    pub(super) owner: String,
    pub(super) granted: Option<Recorded>,
    pub(super) revoked: Option<Recorded>,
}

/// The newest setting of a switch in a chain.
#[derive(Debug)]
pub(super) struct Switched {
    pub(super) record: Recorded,
    /// Whether the setting was taken back.
    pub(super) is_unset: bool,
}

/// Owner and name of a switch.
pub(super) type SwitchKey = (String, String);

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct Trail {
    pub(super) questions: BTreeMap<ApprovalId, Asked>,
    pub(super) grants: BTreeMap<GrantId, Granted>,
    /// By chain: replicas that share a database have no common order, so that the newest record of each may be the newest of all.
    pub(super) switches: BTreeMap<SwitchKey, BTreeMap<u64, Switched>>,
    /// Records that say something of these.
    pub(super) records: u64,
    read: BTreeMap<u64, u64>,
}

impl Trail {
    /// Reads on to the newest records; whether there was something new.
    pub(super) async fn follow(&mut self, audit: &dyn AuditStore) -> Result<bool, StoreError> {
        let before = self.records;
        for (chain, _) in audit.chains().await? {
            let mut after = self.read.get(&chain).copied().unwrap_or_default();
            loop {
                let page = audit.records(chain, after, PAGE).await?;
                page.iter().for_each(|row| self.add(row));
                match page.last() {
                    Some(row) if row.seq > after => after = row.seq,
                    _ => break,
                }
            }
            self.read.insert(chain, after);
        }
        Ok(self.records > before)
    }

    fn add(&mut self, row: &AuditRow) {
        // What is no record of these is not the concern of this.
        let Ok(event) = serde_json::from_str::<AuditEvent>(&row.text) else { return };
        let record = Recorded::new(row, &event);
        let owner = &event.context.owner;
        match (event.kind, event.approval, event.grant, &event.operation) {
            // Of two that say the same, the first counts: a question is asked once, and decided once.
            (AuditKind::Asked, Some(id), ..) => {
                let known = self.questions.entry(id).or_default();
                known.owner.clone_from(owner);
                known.asked.get_or_insert(record);
            }
            (AuditKind::Decided, Some(id), ..) => {
                let known = self.questions.entry(id).or_default();
                known.owner.clone_from(owner);
                known.decided.get_or_insert(record);
            }
            (AuditKind::Granted, _, Some(id), _) => {
                let known = self.grants.entry(id).or_default();
                known.owner.clone_from(owner);
                known.granted.get_or_insert(record);
            }
            (AuditKind::Revoked, _, Some(id), _) => {
                let known = self.grants.entry(id).or_default();
                known.owner.clone_from(owner);
                known.revoked.get_or_insert(record);
            }
            (AuditKind::Switched, _, _, Some(name)) => {
                let is_unset = event.decision.as_deref() == Some("default");
                let known = self.switches.entry((owner.clone(), name.clone())).or_default();
                known.insert(row.chain, Switched { record, is_unset });
            }
            _ => return,
        }
        self.records += 1;
    }
}
