//! Collects the audit records of approval requests, decisions, grants and switches.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;

use toolcrib_core::audit::Hash;
use toolcrib_core::{
    ApprovalId, AuditEvent, AuditKind, AuditRow, AuditStore, GrantId, StoreError, canonical_json,
};

use super::hex;
use super::verify::PAGE;
use super::verify_calls::text_like;

/// A record, identified by its position and its hash.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordedEvent {
    /// Chain and number.
    pub(super) place: (u64, u64),
    holds: Holds,
}

/// The hash that identifies the row of a record.
#[derive(Debug, Clone, Copy)]
enum Holds {
    /// The hash of the whole row.
    Body(Option<Hash>),
    /// The hash of the record's own text, from the time before there was a body hash.
    Text(Option<Hash>),
}

impl RecordedEvent {
    fn new(row: &AuditRow, event: &AuditEvent) -> Self {
        let holds = match &event.body_hash {
            Some(body) => Holds::Body(hex::array(body)),
            None => Holds::Text(hash(&row.text)),
        };
        Self { place: (row.chain, row.seq), holds }
    }

    /// Returns whether this record is the one that would be written for `event`.
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
    hex::array(&canonical_json::sha256_text(text))
}

/// An approval request in the audit.
#[derive(Debug, Default)]
pub(super) struct RecordedApproval {
    pub(super) owner: String,
    pub(super) asked: Option<RecordedEvent>,
    pub(super) decided: Option<RecordedEvent>,
}

/// A grant in the audit.
#[derive(Debug, Default)]
pub(super) struct RecordedGrant {
    pub(super) owner: String,
    pub(super) granted: Option<RecordedEvent>,
    pub(super) revoked: Option<RecordedEvent>,
}

/// The newest setting of a switch in a chain.
#[derive(Debug)]
pub(super) struct RecordedSwitch {
    pub(super) record: RecordedEvent,
    /// Whether the setting was reset.
    pub(super) is_unset: bool,
}

/// Owner and name of a switch.
pub(super) type SwitchKey = (String, String);

/// The records read so far.
#[derive(Debug, Default)]
pub(super) struct DecisionHistory {
    pub(super) questions: BTreeMap<ApprovalId, RecordedApproval>,
    pub(super) grants: BTreeMap<GrantId, RecordedGrant>,
    /// By chain: replicas that share a database have no common order, so the newest record of each
    /// chain may be the newest of all.
    pub(super) switches: BTreeMap<SwitchKey, BTreeMap<u64, RecordedSwitch>>,
    /// Number of records about these subjects.
    pub(super) records: u64,
    read: BTreeMap<u64, u64>,
}

impl DecisionHistory {
    /// Reads up to the newest records; returns whether there were new ones.
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
        // Other records are not relevant here.
        let Ok(event) = serde_json::from_str::<AuditEvent>(&row.text) else { return };
        let record = RecordedEvent::new(row, &event);
        let owner = &event.context.owner;
        match (event.kind, event.approval, event.grant, &event.operation) {
            // If an event is recorded twice, the first record counts: a request is created once and
            // decided once.
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
                known.insert(row.chain, RecordedSwitch { record, is_unset });
            }
            _ => return,
        }
        self.records += 1;
    }
}
