//! Compares the calls of a store with their audit records.
#![deny(clippy::indexing_slicing)]

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use toolcrib_core::{
    AuditEvent, AuditKind, AuditRow, AuditStore, CallFilter, CallHistory, CallId, CallRecord,
    CallRow, CallStore, Outcome, StoreError, StoredCall,
};

use super::verify::PAGE;

/// Maximum number of listed findings; further ones are counted.
pub(super) const LISTED: usize = 100;
/// The member of a record that covers its whole row.
const BODY_HASH: &str = "body_hash";

/// A difference between a call and its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallFinding {
    /// The call.
    pub call: CallId,
    /// Chain and number of the record that differs; `None` if there is no record.
    pub record: Option<(u64, u64)>,
    /// The kind of tampering.
    #[serde(flatten)]
    pub what: CallTampering,
}

/// The kinds of tampering with a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum CallTampering {
    /// The audit contains the call, and the store does not.
    Deleted,
    /// The call has an outcome in the audit and none in the store.
    Reopened,
    /// Its row differs from its record.
    RowAltered {
        /// The members of the record that differ; `body_hash` alone means a difference in data of
        /// which the record has only the hash, such as the arguments.
        members: Vec<String>,
    },
    /// Its outcome does not match the recorded hash, or is missing.
    OutcomeAltered,
    /// Its row or its outcome is not in a format that was ever written.
    Unreadable {
        /// The reason why it cannot be read.
        why: String,
    },
    /// It ended without a record.
    Unrecorded,
}

impl fmt::Display for CallFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = self.call;
        match &self.what {
            CallTampering::Deleted => write!(f, "call deleted: {call} is recorded and is gone")?,
            CallTampering::Reopened => {
                write!(f, "outcome deleted: {call} is recorded as ended and has no outcome")?;
            }
            CallTampering::RowAltered { members } => {
                write!(f, "call altered: {call} is not as it was recorded")?;
                match members.as_slice() {
                    [only] if only == BODY_HASH => {
                        write!(f, " (its arguments, a time, its message or its name differ)")?;
                    }
                    members => write!(f, " ({} differ)", members.join(", "))?,
                }
            }
            CallTampering::OutcomeAltered => {
                write!(f, "outcome altered: that of {call} is not the one that was recorded")?;
            }
            CallTampering::Unreadable { why } => {
                write!(f, "call damaged: {call} cannot be read ({why})")?;
            }
            CallTampering::Unrecorded => {
                write!(f, "call without a record: {call} has ended and is not in the audit")?;
            }
        }
        match self.record {
            Some((_, seq)) => write!(f, " in record {seq}"),
            None => Ok(()),
        }
    }
}

/// The result of verifying calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CallsReport {
    /// Number of call records checked.
    pub records: u64,
    /// Number of calls checked.
    pub calls: u64,
    /// The first 100 findings.
    pub findings: Vec<CallFinding>,
    /// Number of findings beyond those that are listed.
    pub further: u64,
}

impl CallsReport {
    /// Returns whether there are no findings.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    fn add(&mut self, call: CallId, record: Option<(u64, u64)>, what: CallTampering) {
        // A call that started and ended has two records.
        if self.findings.iter().any(|known| known.call == call && known.what == what) {
            return;
        }
        if self.findings.len() < LISTED {
            self.findings.push(CallFinding { call, record, what });
        } else {
            self.further += 1;
        }
    }
}

/// Compares every call with its record and every record with its call, for the calls of these
/// owners. It trusts the records, so [`verify`](crate::verify()) comes first.
///
/// # Errors
/// [`StoreError`] if a store cannot be read.
pub async fn verify_calls(
    audit: &dyn AuditStore,
    calls: &dyn CallStore,
    history: &dyn CallHistory,
    owners: &[&str],
) -> Result<CallsReport, StoreError> {
    let mut report = CallsReport::default();
    for (chain, _) in audit.chains().await? {
        let mut after = 0;
        loop {
            let page = audit.records(chain, after, PAGE).await?;
            for row in &page {
                check_record(calls, row, &mut report).await?;
            }
            match page.last() {
                Some(row) if row.seq > after => after = row.seq,
                _ => break,
            }
        }
    }
    for owner in owners {
        check_calls(audit, history, owner, &mut report).await?;
    }
    Ok(report)
}

async fn check_record(
    calls: &dyn CallStore,
    row: &AuditRow,
    report: &mut CallsReport,
) -> Result<(), StoreError> {
    // Other records are not relevant here.
    let Ok(event) = serde_json::from_str::<AuditEvent>(&row.text) else { return Ok(()) };
    let (Some(call), AuditKind::Settled | AuditKind::Started) = (event.call, event.kind) else {
        return Ok(());
    };
    report.records += 1;
    let place = Some((row.chain, row.seq));
    let stored = match calls.call(call).await {
        Ok(Some(stored)) => stored,
        Ok(None) => {
            report.add(call, place, CallTampering::Deleted);
            return Ok(());
        }
        // A failing disk would already have failed the read of the record, so this error is about
        // the row.
        Err(StoreError::Failed(why)) => {
            if let Some(what) = damaged(calls, &event, call, why).await {
                report.add(call, place, what);
            }
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    // The other record covers how a call continued after it started.
    if event.kind == AuditKind::Settled {
        let outcome = calls.outcome_text(call).await?;
        if let Some(what) = differs(row, &event, stored, outcome.as_deref()) {
            report.add(call, place, what);
        }
    }
    Ok(())
}

/// Returns the finding for an unreadable call: usually the text of its outcome is damaged, to which
/// the record of its end belongs.
async fn damaged(
    calls: &dyn CallStore,
    event: &AuditEvent,
    call: CallId,
    why: String,
) -> Option<CallTampering> {
    let outcome = calls.outcome_text(call).await.ok().flatten();
    let hash = outcome.as_deref().map(Outcome::hash_text);
    match (event.kind, &event.output_hash) {
        (AuditKind::Started, _) if outcome.is_some() => None,
        (_, Some(recorded)) if hash.as_ref() != Some(recorded) => {
            Some(CallTampering::OutcomeAltered)
        }
        _ => Some(CallTampering::Unreadable { why }),
    }
}

/// Returns the difference between a call and its record.
fn differs(
    row: &AuditRow,
    event: &AuditEvent,
    stored: StoredCall,
    outcome: Option<&str>,
) -> Option<CallTampering> {
    let CallRow { facts, started_at, epoch, end } = stored.row;
    let Some(end) = end else { return Some(CallTampering::Reopened) };
    let record = CallRecord { facts, started_at, epoch, end };
    let text =
        text_like(AuditEvent::settled(&record), event.body_hash.is_some(), row.chain, row.seq);
    if text != row.text {
        return Some(CallTampering::RowAltered { members: members(&text, &row.text) });
    }
    let recorded = event.output_hash.as_deref()?;
    let hash = outcome.map(Outcome::hash_text);
    (hash.as_deref() != Some(recorded)).then_some(CallTampering::OutcomeAltered)
}

/// Returns the record that a row would have at this position, with a hash of the whole row or in
/// the older form without one.
pub(super) fn text_like(
    mut event: AuditEvent,
    has_body_hash: bool,
    chain: u64,
    seq: u64,
) -> String {
    if !has_body_hash {
        event.body_hash = None;
    }
    event.text(chain, seq)
}

/// Returns the members of two objects that differ. A difference of the body hash is reported only
/// if no other member differs.
fn members(a: &str, b: &str) -> Vec<String> {
    let read =
        |text| serde_json::from_str::<serde_json::Map<String, Value>>(text).unwrap_or_default();
    let (a, b) = (read(a), read(b));
    let mut differ: Vec<String> =
        a.keys().chain(b.keys()).filter(|key| a.get(*key) != b.get(*key)).cloned().collect();
    differ.sort_unstable();
    differ.dedup();
    if differ.len() > 1 {
        differ.retain(|member| member != BODY_HASH);
    }
    differ
}

/// Checks that every ended call has its record.
async fn check_calls(
    audit: &dyn AuditStore,
    history: &dyn CallHistory,
    owner: &str,
    report: &mut CallsReport,
) -> Result<(), StoreError> {
    let mut before = None;
    loop {
        let owner = owner.to_owned();
        let filter = CallFilter { owner, before, limit: PAGE, ..CallFilter::default() };
        let page = match history.calls(filter).await {
            // The row that cannot be read has been reported.
            Err(StoreError::Failed(_)) if !report.is_sound() => return Ok(()),
            page => page?,
        };
        for row in &page {
            report.calls += 1;
            let call = row.facts.call;
            if row.end.is_some() && !is_recorded(audit, call).await? {
                report.add(call, None, CallTampering::Unrecorded);
            }
        }
        match page.last().map(|row| row.facts.call) {
            Some(last) if before.is_none_or(|before| last < before) => before = Some(last),
            _ => return Ok(()),
        }
    }
}

async fn is_recorded(audit: &dyn AuditStore, call: CallId) -> Result<bool, StoreError> {
    let records = audit.records_of(call).await?;
    Ok(records.iter().any(|row| {
        serde_json::from_str::<AuditEvent>(&row.text)
            .is_ok_and(|event| event.kind == AuditKind::Settled && event.call == Some(call))
    }))
}
