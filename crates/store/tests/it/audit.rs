//! Tests of the audit: one chain for all writers, signed checkpoints, and anchors outside the
//! database.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use toolcrib_core::audit::{CHECKPOINT_RECORDS, LOCAL_CHAIN, chain_hash, genesis};
use toolcrib_core::{
    ApprovalStore, AuditCheckpoint, AuditEvent, AuditKind, AuditRow, AuditSigner, AuditStore,
    CallStore, Context, Decision, DecisionRecord, Effect, Grant, GrantId, GrantScope, GrantStore,
    Risk, StoreError, canonical_json,
};
use toolcrib_store::{SqliteStore, StoreOptions};
use toolcrib_testkit::conformance::{accepted, intent, question, settlement};

/// Signs by hashing, and counts.
#[derive(Default)]
struct Signer {
    signed: AtomicU64,
}

fn signature(bytes: &[u8]) -> String {
    canonical_json::sha256_text(&format!("key {}", String::from_utf8_lossy(bytes)))
}

impl AuditSigner for Signer {
    fn public_key(&self) -> String {
        "aa".into()
    }

    fn sign(&self, bytes: &[u8]) -> String {
        self.signed.fetch_add(1, Ordering::Relaxed);
        signature(bytes)
    }
}

fn event(at: i64) -> AuditEvent {
    AuditEvent::new(AuditKind::Switched, at, Arc::new(Context::default()))
}

#[tokio::test]
async fn a_forged_row_below_the_first_was_trusted_for_its_call_and_hidden_from_the_verifier() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let epoch = store.claim().await.unwrap();
    let begun = intent(Effect::SideEffect, epoch);
    let call = begun.facts.call;
    let forge = |seq: i64, chain: i64| {
        let other = rusqlite::Connection::open(&path).unwrap();
        let put =
            "INSERT INTO audit (seq, chain, call, hash, text) VALUES (?1, ?2, ?3, x'ff', 'f')";
        other.execute(put, (seq, chain, call.to_string())).unwrap();
    };
    forge(-3, -1);
    // A chain with only forged records is still listed.
    assert_eq!(store.chains().await.unwrap(), [(LOCAL_CHAIN, 0)]);
    store.begin(begun.clone()).await.unwrap();
    assert_eq!(store.chains().await.unwrap(), [(LOCAL_CHAIN, 1)]);
    forge(0, 1);
    let seqs = |rows: Vec<AuditRow>| rows.iter().map(|row| row.seq).collect::<Vec<_>>();
    assert_eq!(seqs(store.records_of(call).await.unwrap()), [1]);
    assert_eq!(seqs(store.records(LOCAL_CHAIN, 0, 9).await.unwrap()), [0, 0, 1]);
    assert!(store.records(LOCAL_CHAIN, 1, 9).await.unwrap().is_empty());
    store.settle(settlement(begun.facts, Some(1_500), epoch)).await.unwrap();
    assert_eq!(seqs(store.records(LOCAL_CHAIN, 1, 9).await.unwrap()), [2]);
}

/// All records, when each follows from the one before it.
pub(crate) async fn verified(store: &SqliteStore) -> Vec<AuditRow> {
    let rows = store.records(LOCAL_CHAIN, 0, usize::MAX).await.unwrap();
    let mut previous = genesis(LOCAL_CHAIN);
    for (place, row) in rows.iter().enumerate() {
        assert_eq!((row.chain, row.seq), (LOCAL_CHAIN, place as u64 + 1));
        previous = chain_hash(&previous, &row.text);
        assert_eq!(row.hash, canonical_json::hex(&previous), "{}", row.text);
        let record: Value = serde_json::from_str(&row.text).unwrap();
        assert_eq!((&record["seq"], &record["chain"]), (&row.seq.into(), &row.chain.into()));
        assert_eq!(canonical_json::to_string(&record), row.text);
    }
    let newest = rows.last().map(|row| (LOCAL_CHAIN, row.seq));
    assert_eq!(store.chains().await.unwrap(), Vec::from_iter(newest));
    rows
}

fn kinds(rows: &[AuditRow]) -> Vec<String> {
    let kind = |row: &AuditRow| {
        serde_json::from_str::<Value>(&row.text).unwrap()["kind"].as_str().unwrap().to_owned()
    };
    rows.iter().map(kind).collect()
}

fn grant() -> Grant {
    Grant {
        id: GrantId::fresh(),
        owner: "ann".into(),
        operation: "o".into(),
        args: Default::default(),
        definition_hash: "d1".into(),
        reasons: vec![],
        risk: Risk::High,
        scope: GrantScope::Always,
        run: None,
        conversation: None,
        created_by: "ann".into(),
        created_at: 1_000,
        expires_at: None,
    }
}

#[tokio::test]
async fn everything_that_matters_is_recorded_with_what_it_is_about() {
    let store = SqliteStore::in_memory().unwrap();
    let epoch = store.claim().await.unwrap();
    assert_eq!(store.chains().await.unwrap(), []);
    let batch = accepted("ann", &[], epoch);
    store.accept(batch.clone()).await.unwrap();
    let (read, changes) = (intent(Effect::Read, epoch), intent(Effect::SideEffect, epoch));
    store.begin(read.clone()).await.unwrap();
    store.begin(changes.clone()).await.unwrap();
    for begun in [&read, &changes] {
        store.settle(settlement(begun.facts.clone(), Some(1_500), epoch)).await.unwrap();
    }
    let asked = question();
    let id = asked.request.id;
    store.ask(asked.clone()).await.unwrap();
    let record = DecisionRecord { decision: Decision::Skip, decided_by: "b".into(), decided_at: 3 };
    store.decide(id, record.clone()).await.unwrap().unwrap();
    store.decide(id, record).await.unwrap().unwrap_err();
    let given = grant();
    store.add(given.clone()).await.unwrap();
    assert_eq!(store.revoke(given.id, "cyd", 9).await, Ok(true));
    assert_eq!(store.revoke(given.id, "cyd", 10).await, Ok(false));
    store.append(event(11)).await.unwrap();
    // A refused write leaves no record.
    store.begin(changes.clone()).await.unwrap_err();
    store.settle(settlement(read.facts.clone(), Some(1_500), epoch)).await.unwrap_err();
    store.ask(asked.clone()).await.unwrap_err();
    let rows = verified(&store).await;
    let expected = [
        "accepted",
        "started",
        "settled",
        "settled",
        "asked",
        "decided",
        "decided_again",
        "granted",
        "revoked",
        "switched",
    ];
    assert_eq!(kinds(&rows), expected);
    let of = store.records_of(changes.facts.call).await.unwrap();
    assert_eq!(kinds(&of), ["started", "settled"]);
    assert_eq!(of, [rows[1].clone(), rows[3].clone()]);
    assert_eq!(store.records(LOCAL_CHAIN, 8, 1).await.unwrap(), [rows[8].clone()]);
    assert_eq!(store.records(LOCAL_CHAIN + 1, 0, 9).await, Ok(vec![]));
    // The record contains the hash of the outcome.
    let end = settlement(changes.facts.clone(), Some(1_500), epoch).record.end;
    assert!(of[1].text.contains(&end.output_hash.unwrap()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_handles_write_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let stores: Vec<_> = (0..3).map(|_| SqliteStore::open(&path).unwrap()).collect();
    let mut tasks = tokio::task::JoinSet::new();
    for store in &stores {
        for at in 0..40 {
            let store = store.clone();
            tasks.spawn(async move { store.append(event(at)).await.unwrap() });
        }
    }
    tasks.join_all().await;
    assert_eq!(verified(&stores[1]).await.len(), 120);
}

fn signed(path: &Path, signer: &Arc<Signer>) -> SqliteStore {
    let options = StoreOptions {
        signer: Some(Arc::clone(signer) as Arc<dyn AuditSigner>),
        anchors: Some(path.with_file_name("anchors")),
        ..StoreOptions::default()
    };
    SqliteStore::open_with(path, options).unwrap()
}

fn anchors(path: &Path) -> Vec<AuditCheckpoint> {
    let text = std::fs::read_to_string(path.with_file_name("anchors")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn checkpoints_are_signed_kept_and_written_down_outside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let signer = Arc::<Signer>::default();
    let store = signed(&path, &signer);
    assert_eq!(store.checkpoint_now().await, Ok(None), "there is nothing to sign");
    store.append(event(1)).await.unwrap();
    store.append(event(2)).await.unwrap();
    let made = store.checkpoint_now().await.unwrap().unwrap();
    assert_eq!((made.chain, made.seq, made.key.as_str()), (LOCAL_CHAIN, 2, "aa"));
    assert_eq!(made.head, verified(&store).await[1].hash);
    let bytes = AuditCheckpoint::signing_payload(LOCAL_CHAIN, 2, &made.head, made.at);
    assert_eq!(made.signature, signature(bytes.as_bytes()));
    assert_eq!(store.checkpoint_now().await, Ok(None), "nothing is new");
    store.append(event(3)).await.unwrap();
    drop(store);
    // Closing signs new records, and opening signs nothing.
    let store = signed(&path, &signer);
    let kept = store.checkpoints(LOCAL_CHAIN).await.unwrap();
    assert_eq!(kept.iter().map(|made| made.seq).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(anchors(&path), kept);
    assert_eq!(store.checkpoints(2).await, Ok(vec![]));
    assert_eq!(signer.signed.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_long_chain_is_signed_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let signer = Arc::<Signer>::default();
    let (one, two) = (signed(&path, &signer), signed(&path, &signer));
    for store in [&one, &two] {
        let appends: Vec<_> =
            (0..CHECKPOINT_RECORDS as i64 + 200).map(|at| store.append(event(at))).collect();
        for append in appends {
            append.await.unwrap();
        }
    }
    let kept = one.checkpoints(LOCAL_CHAIN).await.unwrap();
    // Two that write one chain do not both sign the same part of it.
    assert!(matches!(kept.len(), 2 | 3), "{kept:?}");
    assert!(kept.windows(2).all(|two| two[1].seq - two[0].seq >= CHECKPOINT_RECORDS));
    drop(one);
    drop(two);
    let after = SqliteStore::open(&path).unwrap();
    let kept = after.checkpoints(LOCAL_CHAIN).await.unwrap();
    assert_eq!(kept.last().unwrap().seq, 2 * CHECKPOINT_RECORDS + 400);
    assert_eq!(anchors(&path), kept);
    assert_eq!(after.checkpoint_now().await, Ok(None), "there is no key");
}

#[tokio::test]
async fn anchors_that_cannot_be_written_are_said_and_the_row_stands() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    std::fs::create_dir(folder.path().join("anchors")).unwrap();
    let store = signed(&path, &Arc::default());
    store.append(event(1)).await.unwrap();
    let error = store.checkpoint_now().await;
    assert!(
        matches!(&error, Err(StoreError::Failed(words)) if words.contains("anchors")),
        "{error:?}"
    );
    assert_eq!(store.checkpoints(LOCAL_CHAIN).await.unwrap().len(), 1);
    store.append(event(2)).await.unwrap();
}
