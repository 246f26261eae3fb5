//! Compares what the store says with what callers were told and with what the tools did.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;

use serde_json::Value;
use toolcrib_app::{ANCHORS_FILE, Stores};
use toolcrib_audit::{
    AnchorFile, ChainVerifier, PUBLIC_KEY_FILE, Start, TrustedCheckpoints, TrustedKeys,
};
use toolcrib_core::{
    ApprovalId, ApprovalStore as _, AuditCheckpoint, AuditStore as _, CallId, CallStore as _,
    Decision, DecisionRecord, OutcomeKind, StoredCall,
};
use toolcrib_store::SqliteStore;

use crate::caller_log::{CallerLog, CallerRecord};
use crate::effect_log::{CallEffects, EffectLog};
use crate::error::Result;
use crate::report::Tally;
use crate::worker::{CHILD, GUARDED, READ_ONLY, changes_something};

/// Records of the audit that are read at once.
const PAGE: usize = 1_000;

/// What may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// A process died: nothing.
    Kill,
    /// The power was cut: outcomes of calls that change nothing.
    PowerCut,
    /// The disk failed or was full: calls may also have been refused.
    Fault,
}

impl FailureKind {
    /// Whether an answer of this kind is a promise: a store that fails can still refuse, but it
    /// cannot write that down.
    pub(crate) fn is_binding_for(self, kind: OutcomeKind) -> bool {
        self != Self::Fault || kind == OutcomeKind::Succeeded
    }

    /// Whether a call that was answered so may be answered otherwise later. An answer "succeeded"
    /// stays, with every fault; only a call that changes nothing may run again where its outcome
    /// could not be recorded.
    pub(crate) fn may_become(self, before: OutcomeKind, tool: &str) -> bool {
        !self.is_binding_for(before) || (self == Self::Fault && !changes_something(tool))
    }
}

/// What the audit records of one call.
#[derive(Debug, Clone, Copy, Default)]
struct AuditEntries {
    started: u32,
    settled: u32,
}

/// What the audit records, by call.
type AuditBook = HashMap<CallId, AuditEntries>;

/// Everything that judges one call.
struct Case<'a> {
    call: CallId,
    known: &'a CallerRecord,
    stored: Option<StoredCall>,
    question: Option<(ApprovalId, Option<DecisionRecord>)>,
    entries: AuditEntries,
    deeds: &'a CallEffects,
    after: FailureKind,
}

/// Checks the calls that were reported since the last time, or `all` of them, while no process
/// uses the database.
pub(crate) fn verify(
    database: &Path,
    ledger: &mut CallerLog,
    truth: &EffectLog,
    after: FailureKind,
    all: bool,
    tally: &mut Tally,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let witness = AuditWitness::of(database)?;
    let store = SqliteStore::open(database)?;
    runtime.block_on(async {
        let book = audit(&store, &witness, tally).await?;
        for call in truth.keys().filter(|call| !ledger.calls.contains_key(call)) {
            tally.contradiction(format!("{call}: it ran, and nobody sent it"));
        }
        let open = store.open_calls().await?;
        for row in open {
            tally.lost(format!("{}: open after recovery", row.facts.call));
        }
        let fresh = std::mem::take(&mut ledger.fresh);
        let nothing = CallEffects::default();
        for (call, known) in &ledger.calls {
            if !all && !fresh.contains(call) {
                continue;
            }
            let question = store.for_call(*call).await?;
            let case = Case {
                call: *call,
                known,
                stored: store.call(*call).await?,
                question: question.map(|(waiting, record)| (waiting.request.id, record)),
                entries: book.get(call).copied().unwrap_or_default(),
                deeds: truth.get(call).unwrap_or(&nothing),
                after,
            };
            case.judge(tally);
            if fresh.contains(call) {
                tally.calls += 1;
                let is_unknown = case.kind() == Some(OutcomeKind::Unknown);
                tally.unknown += u64::from(is_unknown);
                let took_effect = !case.deeds.effects.is_empty();
                tally.outlived += u64::from(is_unknown && known.tool == CHILD && took_effect);
            }
        }
        decisions(&store, ledger, after, tally).await
    })
}

/// What the audit is held against: the public key, and the checkpoints that are kept outside of the
/// database.
struct AuditWitness {
    keys: TrustedKeys,
    anchors: Vec<AuditCheckpoint>,
}

impl AuditWitness {
    fn of(database: &Path) -> Result<Self> {
        let folder = Stores::audit_folder(database);
        let keys = TrustedKeys::parse(&std::fs::read_to_string(folder.join(PUBLIC_KEY_FILE))?)?;
        let anchors = match AnchorFile::read(&folder.join(ANCHORS_FILE)) {
            // None was made yet.
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            anchors => anchors?.checkpoints,
        };
        Ok(Self { keys, anchors })
    }
}

/// Verifies the audit and counts what it says of each call.
async fn audit(
    store: &SqliteStore,
    witness: &AuditWitness,
    tally: &mut Tally,
) -> Result<AuditBook> {
    let mut book = AuditBook::new();
    for (chain, newest) in store.chains().await? {
        let checkpoints = store.checkpoints(chain).await?;
        let seals =
            TrustedCheckpoints::verify(chain, &checkpoints, Some(&witness.anchors), &witness.keys);
        let mut verifier = ChainVerifier::new(chain, Start::Genesis, seals);
        let mut seq = 0;
        loop {
            let rows = store.records(chain, seq, PAGE).await?;
            for row in &rows {
                seq = row.seq;
                verifier.add(row);
                enter(&mut book, &row.text)?;
            }
            if rows.len() < PAGE {
                break;
            }
        }
        let report = verifier.finish();
        tally.audit_records += report.records;
        tally.checkpoints += report.checkpoints;
        if !report.is_sound() || seq != newest {
            tally.audit_failure(format!(
                "chain {chain} ends at {seq} of {newest}: {:?}",
                report.findings
            ));
        }
    }
    Ok(book)
}

fn enter(book: &mut AuditBook, text: &str) -> Result<()> {
    let record: Value = serde_json::from_str(text)?;
    let word = |name: &str| record.get(name).and_then(Value::as_str);
    let Some(call) = word("call") else { return Ok(()) };
    let entries = book.entry(call.parse()?).or_default();
    match word("kind") {
        Some("started") => entries.started += 1,
        Some("settled") => entries.settled += 1,
        _ => {}
    }
    Ok(())
}

/// Decisions and grants that a client was told of.
async fn decisions(
    store: &SqliteStore,
    ledger: &CallerLog,
    after: FailureKind,
    tally: &mut Tally,
) -> Result<()> {
    let grants = toolcrib_core::GrantStore::list(store, "").await?;
    for (approval, (call, word)) in &ledger.decided {
        let decided = store.get(*approval).await?.and_then(|(_, record)| record);
        let fits = decided.as_ref().is_some_and(|record| is(&record.decision, word));
        if !fits {
            tally.lost(format!("{approval}: decided {word}, the store has {decided:?}"));
        }
        let Some(DecisionRecord { decision: Decision::Approve { only, .. }, .. }) = decided else {
            continue;
        };
        let given = grants.iter().filter(|grant| !only.is_empty() && grant.args == only).count();
        // A grant that cannot be kept only means that the next call asks again.
        if word == "always" && given == 0 && after != FailureKind::Fault {
            tally.lost(format!("{approval}: the grant of {call} is not there"));
        }
        if given > 1 {
            tally.contradiction(format!("{approval}: granted {given} times"));
        }
    }
    Ok(())
}

fn is(decision: &Decision, word: &str) -> bool {
    matches!(
        (decision, word),
        (Decision::Approve { .. }, "approve" | "always")
            | (Decision::Deny { .. }, "deny")
            | (Decision::Edit { .. }, "edit")
            | (Decision::Skip, "skip")
    )
}

impl Case<'_> {
    fn kind(&self) -> Option<OutcomeKind> {
        self.stored.as_ref().and_then(|stored| stored.row.end.as_ref()).map(|end| end.outcome)
    }

    fn judge(&self, tally: &mut Tally) {
        self.once(tally);
        self.outcome(tally);
        self.told(tally);
        self.deeds(tally);
    }

    /// One effect, one outcome, one start.
    fn once(&self, tally: &mut Tally) {
        let (call, tool) = (self.call, &self.known.tool);
        let CallEffects { runs, effects } = self.deeds;
        if effects.len() > 1 {
            tally.doubled(format!("{call}: took effect in {effects:?}"));
        }
        if changes_something(tool) && runs.len() > 1 {
            tally.silent_rerun(format!("{call}: ran in {runs:?}, {:?}", self.kind()));
        }
        let AuditEntries { started, settled } = self.entries;
        if settled > 1 {
            tally.doubled(format!("{call}: {settled} outcomes in the audit"));
        }
        let has_end = u32::from(self.kind().is_some());
        if settled != has_end {
            tally.contradiction(format!(
                "{call}: {settled} outcomes in the audit, {has_end} in the store"
            ));
        }
        if changes_something(tool) && started > 1 {
            tally.silent_rerun(format!("{call}: started {started} times"));
        }
    }

    /// What was accepted has its outcome, or waits for a person.
    fn outcome(&self, tally: &mut Tally) {
        let waits = matches!(self.question, Some((_, None)));
        let decided = matches!(self.question, Some((_, Some(_))));
        match self.kind() {
            None if waits => {}
            None if decided => tally.lost(format!("{}: decided, and no outcome", self.call)),
            None if self.known.accepted => {
                tally.lost(format!("{}: accepted, and no outcome", self.call));
            }
            None if self.known.asked.is_some() => {
                tally.lost(format!("{}: its question is gone", self.call));
            }
            None => {}
            Some(kind) if self.known.accepted && !self.may_end(kind) => {
                let message =
                    self.stored.as_ref().and_then(|s| s.row.end.as_ref()?.message.clone());
                tally.contradiction(format!("{}: accepted, ended {kind}: {message:?}", self.call));
            }
            Some(_) => {}
        }
    }

    fn may_end(&self, kind: OutcomeKind) -> bool {
        let may_be_denied = self.known.decision != "approve" || self.known.races;
        let refused = self.known.tool == GUARDED && may_be_denied;
        match kind {
            OutcomeKind::Succeeded => true,
            OutcomeKind::Unknown => self.known.tool != READ_ONLY && self.entries.started == 1,
            OutcomeKind::Denied => refused,
            _ => self.after == FailureKind::Fault,
        }
    }

    /// What a client was told still holds.
    fn told(&self, tally: &mut Tally) {
        let Some((kind, text)) = &self.known.told else { return };
        let is_kept = self.after == FailureKind::Kill || changes_something(&self.known.tool);
        if !is_kept || !self.after.is_binding_for(*kind) {
            return;
        }
        let Some(stored) = &self.stored else {
            return tally.lost(format!("{}: answered {kind}, and not there", self.call));
        };
        let text_there = stored.outcome.as_ref().map(|outcome| outcome.to_wire().to_string());
        if text_there.as_ref() != Some(text) {
            let why = format!("{}: answered {text}, the store has {text_there:?}", self.call);
            match self.kind() {
                None => tally.lost(why),
                Some(_) => tally.contradiction(why),
            }
        }
    }

    /// The outcome says what the tool did.
    fn deeds(&self, tally: &mut Tally) {
        if !changes_something(&self.known.tool) {
            return;
        }
        let (call, effects) = (self.call, self.deeds.effects.len());
        if let Some((kind, text)) = &self.known.told
            && effects > 0
            && matches!(kind, OutcomeKind::Failed | OutcomeKind::Denied | OutcomeKind::Expired)
        {
            tally.contradiction(format!("{call}: answered {text}, and it took effect"));
        }
        match self.kind() {
            Some(OutcomeKind::Succeeded) if effects == 0 => {
                tally.contradiction(format!("{call}: succeeded, and nothing happened"));
            }
            Some(OutcomeKind::Succeeded | OutcomeKind::Unknown | OutcomeKind::TimedOut) => {}
            Some(kind) if !self.deeds.runs.is_empty() => {
                tally.contradiction(format!("{call}: {kind}, and it ran"));
            }
            None if !self.deeds.runs.is_empty() => {
                tally.lost(format!("{call}: it ran, and has no outcome"));
            }
            Some(_) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use toolcrib_app::{Settings, Toolcrib};
    use toolcrib_core::{Batch, Call, Invoker as _, Origin};
    use toolcrib_testkit::{ScriptedTool, fixed_source};

    use super::*;
    use crate::protocol::{CallAnswer, SentBatch, SentCall, WorkerMessage};

    /// One call that changed something, in all three accounts.
    struct Accounts {
        folder: tempfile::TempDir,
        call: CallId,
        ledger: CallerLog,
        truth: EffectLog,
        after: FailureKind,
    }

    impl Accounts {
        fn database(&self) -> std::path::PathBuf {
            self.folder.path().join("toolcrib.db")
        }

        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let stores = Stores::open(Some(&folder.path().join("toolcrib.db"))).unwrap();
            let tool = Arc::new(ScriptedTool::new("changes").spec(|spec| {
                spec.effect = toolcrib_core::Effect::SideEffect;
            }));
            let settings =
                Settings { roots: Vec::new(), ..Settings::new(folder.path(), folder.path()) };
            let builder = Toolcrib::builder(settings).stores(stores);
            let toolcrib = builder.source(fixed_source("test", &[&tool])).build().await.unwrap();
            let call = Call::new("changes", json!({}));
            let id = call.id;
            let sent = SentCall { id, tool: "changes".into(), args: json!({}) };
            let answers = toolcrib.engine().invoke(Batch::new(Origin::Rest, vec![call])).await;
            let outcome = answers[0].outcome().unwrap();
            let text = outcome.to_wire().to_string();
            toolcrib.engine().release().await.unwrap();
            let (mut ledger, mut tally) = (CallerLog::default(), Tally::default());
            for said in [
                WorkerMessage::Sending(SentBatch { key: None, calls: vec![sent] }),
                WorkerMessage::Accepted { calls: vec![id] },
                WorkerMessage::Answered(CallAnswer { call: id, kind: Some(outcome.kind), text }),
            ] {
                ledger.record(&said, FailureKind::Kill, &mut tally);
            }
            let truth = EffectLog::from([(id, CallEffects { runs: vec![1], effects: vec![1] })]);
            Self { folder, call: id, ledger, truth, after: FailureKind::Kill }
        }

        fn judged(mut self) -> Tally {
            let mut tally = Tally::default();
            let database = self.database();
            verify(&database, &mut self.ledger, &self.truth, self.after, true, &mut tally).unwrap();
            tally
        }
    }

    /// What is done to the accounts, and whether the right thing is found.
    fn check(
        name: &str,
        change: impl FnOnce(&mut Accounts),
        is_found: impl FnOnce(&Tally) -> bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut accounts = runtime.block_on(Accounts::new());
        drop(runtime);
        change(&mut accounts);
        let tally = accounts.judged();
        assert!(is_found(&tally), "{name}: {}", tally.table());
    }

    fn sql(accounts: &Accounts, sql: &str) {
        let conn = rusqlite::Connection::open(accounts.database()).unwrap();
        conn.execute_batch(sql).unwrap();
    }

    #[test]
    fn whatever_does_not_fit_is_found() {
        check("as it was", |_| (), Tally::is_clean);
        check("a second effect", |a| a.deeds().effects.push(2), |t| t.doubled > 0);
        check("a second run", |a| a.deeds().runs.push(2), |t| t.silent_reruns > 0);
        check("no effect", |a| a.deeds().effects.clear(), |t| t.contradictions > 0);
        check("another answer", |a| a.told("other"), |t| t.contradictions > 0);
        check("told as not run", |a| a.told_as(OutcomeKind::Failed), |t| t.contradictions > 0);
        // A failing disk excuses no answer that says it is done.
        check("told, and unknown", |a| a.fault(), |t| t.contradictions > 0);
        check("an unknown call", |a| a.stranger(), |t| t.contradictions > 0);
        let gone = "DELETE FROM outcomes; DELETE FROM calls;";
        check("no row", |a| sql(a, gone), |t| t.lost > 0);
        let cut = "DROP TRIGGER IF EXISTS audit_stays; DELETE FROM audit WHERE seq = 2;";
        check("a record less", |a| sql(a, cut), |t| t.audit_failures > 0);
    }

    impl Accounts {
        fn deeds(&mut self) -> &mut CallEffects {
            self.truth.get_mut(&self.call).unwrap()
        }

        fn told(&mut self, text: &str) {
            let known = self.ledger.calls.get_mut(&self.call).unwrap();
            known.told = Some((OutcomeKind::Succeeded, text.to_owned()));
        }

        fn told_as(&mut self, kind: OutcomeKind) {
            let known = self.ledger.calls.get_mut(&self.call).unwrap();
            known.told.as_mut().unwrap().0 = kind;
        }

        fn fault(&mut self) {
            self.after = FailureKind::Fault;
            sql(self, "UPDATE calls SET outcome = 'unknown'; DELETE FROM outcomes;");
        }

        fn stranger(&mut self) {
            self.truth.insert(CallId::fresh(), CallEffects::default());
        }
    }
}
