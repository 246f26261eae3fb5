//! Compares the approval requests, grants and switches of a store with their audit records.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use toolcrib_core::store::ApprovalWithDecision;
use toolcrib_core::{
    ApprovalId, ApprovalStore, AuditEvent, AuditStore, Grant, GrantStore, StoreError, Switch,
    SwitchStore,
};

use super::decision_history::{
    DecisionHistory, RecordedApproval, RecordedEvent, RecordedGrant, RecordedSwitch,
};
use super::verify_calls::LISTED;

/// Maximum number of reads of the rows: people may keep deciding meanwhile.
const TRIES: usize = 10;

/// The stores of people's decisions.
#[derive(Clone, Copy)]
pub struct DecisionStores<'a> {
    /// Approval requests with their decisions.
    pub approvals: &'a dyn ApprovalStore,
    /// Remembered approvals.
    pub grants: &'a dyn GrantStore,
    /// Switches.
    pub switches: &'a dyn SwitchStore,
}

/// The subject of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// An approval request.
    Question,
    /// The decision about an approval request.
    Decision,
    /// A remembered approval.
    Grant,
    /// A switch.
    Switch,
}

/// A difference between a person's decision and its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecisionFinding {
    /// The subject.
    pub subject: Subject,
    /// Id of the approval request or grant, or name of the switch; `None` if the row cannot be
    /// read.
    pub id: Option<String>,
    /// Chain and number of the record that differs; `None` if there is no record.
    pub record: Option<(u64, u64)>,
    /// The kind of tampering.
    #[serde(flatten)]
    pub what: DecisionTampering,
}

/// The kinds of tampering with decisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum DecisionTampering {
    /// The row differs from its record.
    Altered,
    /// The record exists, but the row is missing.
    Deleted,
    /// The row exists without a record.
    Unrecorded,
    /// The record shows that it was revoked, but the row exists.
    Returned,
    /// The row is not in a format that was ever written.
    Unreadable {
        /// The reason why it cannot be read.
        why: String,
    },
}

impl fmt::Display for DecisionFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = match self.subject {
            Subject::Question => "question",
            Subject::Decision => "decision",
            Subject::Grant => "grant",
            Subject::Switch => "switch",
        };
        let id = self.id.as_deref().unwrap_or("one of them");
        match &self.what {
            DecisionTampering::Altered => {
                write!(f, "{subject} altered: {id} is not as it was recorded")?;
            }
            DecisionTampering::Deleted => {
                write!(f, "{subject} deleted: {id} is recorded and is gone")?;
            }
            DecisionTampering::Unrecorded => {
                write!(f, "{subject} without a record: {id} is there and not in the audit")?;
            }
            DecisionTampering::Returned => {
                write!(f, "{subject} put back: {id} is recorded as taken back and is there")?;
            }
            DecisionTampering::Unreadable { why } => {
                write!(f, "{subject} damaged: {id} cannot be read ({why})")?;
            }
        }
        match self.record {
            Some((_, seq)) => write!(f, " in record {seq}"),
            None => Ok(()),
        }
    }
}

/// The result of verifying approval requests, grants and switches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DecisionsReport {
    /// Number of their records checked.
    pub records: u64,
    /// Number of approval requests checked.
    pub questions: u64,
    /// Number of decided ones among them.
    pub decisions: u64,
    /// Number of grants checked.
    pub grants: u64,
    /// Number of switches checked.
    pub switches: u64,
    /// The first 100 findings.
    pub findings: Vec<DecisionFinding>,
    /// Number of findings beyond those that are listed.
    pub further: u64,
}

impl DecisionsReport {
    /// Returns whether there are no findings.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    fn add(
        &mut self,
        subject: Subject,
        id: Option<String>,
        record: Option<RecordedEvent>,
        what: DecisionTampering,
    ) {
        if self.findings.len() < LISTED {
            let record = record.map(|record| record.place);
            self.findings.push(DecisionFinding { subject, id, record, what });
        } else {
            self.further += 1;
        }
    }

    /// Compares a row with its record.
    fn compare(
        &mut self,
        subject: Subject,
        id: &str,
        record: Option<RecordedEvent>,
        row: Option<AuditEvent>,
    ) {
        let what = match (record, row) {
            (None, None) => return,
            (Some(record), Some(row)) if record.is_of(row.clone()) => return,
            (Some(_), Some(_)) => DecisionTampering::Altered,
            (Some(_), None) => DecisionTampering::Deleted,
            (None, Some(_)) => DecisionTampering::Unrecorded,
        };
        self.add(subject, Some(id.to_owned()), record, what);
    }
}

/// Compares every approval request with its decision, every grant and every switch of these owners
/// with its record, and every such record with its row. It trusts the records, so
/// [`verify`](crate::verify()) comes first. Reads all approval requests of an owner at once.
///
/// # Errors
/// [`StoreError`] if a store cannot be read; [`StoreError::Busy`] if people keep deciding
/// meanwhile.
pub async fn verify_decisions(
    audit: &dyn AuditStore,
    stores: DecisionStores<'_>,
    owners: &[&str],
) -> Result<DecisionsReport, StoreError> {
    let mut trail = DecisionHistory::default();
    trail.follow(audit).await?;
    for _ in 0..TRIES {
        let mut report = DecisionsReport { records: trail.records, ..DecisionsReport::default() };
        for owner in owners {
            check_questions(stores.approvals, &trail, owner, &mut report).await?;
            check_grants(stores.grants, &trail, owner, &mut report).await?;
            check_switches(stores.switches, &trail, owner, &mut report).await?;
        }
        // Rows and records are not read atomically: a decision in between would look like
        // tampering.
        if !trail.follow(audit).await? {
            return Ok(report);
        }
    }
    Err(StoreError::Busy("questions, grants or switches change all the while".to_owned()))
}

async fn check_questions(
    approvals: &dyn ApprovalStore,
    trail: &DecisionHistory,
    owner: &str,
    report: &mut DecisionsReport,
) -> Result<(), StoreError> {
    let (questions, failed) = match approvals.list(owner, usize::MAX).await {
        Ok(questions) => (questions, None),
        // One of them is unreadable; each recorded one is requested below.
        Err(StoreError::Failed(why)) => (Vec::new(), Some(why)),
        Err(error) => return Err(error),
    };
    let mut seen = BTreeSet::new();
    let nothing = RecordedApproval::default();
    for question in &questions {
        let id = question.0.request.id;
        // A second row with the same request id has no separate record.
        let known = if seen.insert(id) { trail.questions.get(&id) } else { None };
        check_question(question, known.unwrap_or(&nothing), report);
    }
    let found = report.findings.len();
    for (id, known) in trail.questions.iter().filter(|(_, known)| known.owner == owner) {
        if !seen.contains(id) {
            check_missing(approvals, *id, known, failed.is_some(), report).await?;
        }
    }
    if let Some(why) = failed.filter(|_| report.findings.len() == found) {
        report.add(Subject::Question, None, None, DecisionTampering::Unreadable { why });
    }
    Ok(())
}

fn check_question(
    question: &ApprovalWithDecision,
    known: &RecordedApproval,
    report: &mut DecisionsReport,
) {
    let (waiting, decision) = question;
    let request = &waiting.request;
    let id = request.id.to_string();
    report.questions += 1;
    report.decisions += u64::from(decision.is_some());
    report.compare(Subject::Question, &id, known.asked, Some(AuditEvent::asked(request)));
    let decided = decision.as_ref().map(|decision| AuditEvent::decided(request, decision, true));
    report.compare(Subject::Decision, &id, known.decided, decided);
}

/// Handles an approval request that its owner no longer has: deleted, unreadable, or now owned by
/// another user.
async fn check_missing(
    approvals: &dyn ApprovalStore,
    id: ApprovalId,
    known: &RecordedApproval,
    is_unlisted: bool,
    report: &mut DecisionsReport,
) -> Result<(), StoreError> {
    let what = match approvals.get(id).await {
        Ok(Some(question)) if is_unlisted && question.0.request.id == id => {
            check_question(&question, known, report);
            return Ok(());
        }
        Ok(Some(_)) => DecisionTampering::Altered,
        Ok(None) => DecisionTampering::Deleted,
        Err(StoreError::Failed(why)) => DecisionTampering::Unreadable { why },
        Err(error) => return Err(error),
    };
    report.add(Subject::Question, Some(id.to_string()), known.asked.or(known.decided), what);
    Ok(())
}

async fn check_grants(
    store: &dyn GrantStore,
    trail: &DecisionHistory,
    owner: &str,
    report: &mut DecisionsReport,
) -> Result<(), StoreError> {
    let grants = match store.list(owner).await {
        Err(StoreError::Failed(why)) => {
            report.add(Subject::Grant, None, None, DecisionTampering::Unreadable { why });
            return Ok(());
        }
        grants => grants?,
    };
    let (mut there, nothing) = (BTreeSet::new(), RecordedGrant::default());
    for grant in &grants {
        let known = if there.insert(grant.id) { trail.grants.get(&grant.id) } else { None };
        check_grant(grant, known.unwrap_or(&nothing), report);
    }
    for (id, known) in trail.grants.iter().filter(|(_, known)| known.owner == owner) {
        if known.revoked.is_none() && !there.contains(id) {
            report.compare(Subject::Grant, &id.to_string(), known.granted, None);
        }
    }
    Ok(())
}

fn check_grant(grant: &Grant, known: &RecordedGrant, report: &mut DecisionsReport) {
    report.grants += 1;
    let id = grant.id.to_string();
    match known.revoked {
        Some(_) => {
            report.add(Subject::Grant, Some(id), known.revoked, DecisionTampering::Returned);
        }
        None => {
            report.compare(Subject::Grant, &id, known.granted, Some(AuditEvent::granted(grant)));
        }
    }
}

async fn check_switches(
    store: &dyn SwitchStore,
    trail: &DecisionHistory,
    owner: &str,
    report: &mut DecisionsReport,
) -> Result<(), StoreError> {
    let switches = match store.switches(owner).await {
        Err(StoreError::Failed(why)) => {
            report.add(Subject::Switch, None, None, DecisionTampering::Unreadable { why });
            return Ok(());
        }
        switches => switches?,
    };
    for switch in &switches {
        report.switches += 1;
        let known = trail.switches.get(&(switch.owner.clone(), switch.name.clone()));
        let newest: Vec<_> = known.into_iter().flat_map(|chains| chains.values()).collect();
        check_switch(switch, &newest, report);
    }
    let there: BTreeSet<_> = switches.iter().map(|switch| switch.name.as_str()).collect();
    for ((of, name), chains) in &trail.switches {
        let is_unset = chains.values().any(|newest| newest.is_unset);
        if of == owner && !is_unset && !there.contains(name.as_str()) {
            let record = chains.values().next().map(|newest| newest.record);
            report.compare(Subject::Switch, name, record, None);
        }
    }
    Ok(())
}

fn check_switch(switch: &Switch, newest: &[&RecordedSwitch], report: &mut DecisionsReport) {
    let row = || AuditEvent::switched(switch, Some(switch.state));
    if newest.iter().any(|newest| newest.record.is_of(row())) {
        return;
    }
    let set = newest.iter().find(|newest| !newest.is_unset);
    match (set, newest.first()) {
        (None, Some(unset)) => {
            let (id, record) = (Some(switch.name.clone()), Some(unset.record));
            report.add(Subject::Switch, id, record, DecisionTampering::Returned);
        }
        (set, _) => {
            let record = set.map(|newest| newest.record);
            report.compare(Subject::Switch, &switch.name, record, Some(row()));
        }
    }
}
