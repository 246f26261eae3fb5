//! The audit: which records each write leaves, and how they are chained and signed.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::audit::{chain_hash, genesis};
use toolcrib_core::{
    ApprovalStore, AuditCheckpoint, AuditEvent, AuditKind, AuditRow, AuditSigner, AuditStore,
    CallId, CallStore, Context, Decision, DecisionRecord, Effect, Grant, GrantId, GrantScope,
    GrantStore, Intent, ReasonKind, Risk, Settlement, Switch, SwitchState, SwitchStore,
    canonical_json,
};

use super::call_fixtures::{accepted, intent, refusal, settlement, under_key};
use super::fixtures::{decided, question};

/// Signs checkpoints for tests: by hashing, with a key that everybody knows.
#[derive(Debug, Default)]
pub struct TestSigner;

impl AuditSigner for TestSigner {
    fn public_key(&self) -> String {
        "aa".into()
    }

    fn sign(&self, bytes: &[u8]) -> String {
        canonical_json::sha256_text(&format!("key {}", String::from_utf8_lossy(bytes)))
    }
}

/// Each write leaves its records, in the order of the writes and in one transaction with them; what
/// is refused leaves none. Wants an empty store that writes one chain and signs with
/// [`TestSigner`].
///
/// # Panics
/// When the store does something else.
pub async fn audit<S>(store: Arc<S>)
where
    S: CallStore + ApprovalStore + GrantStore + SwitchStore + AuditStore + 'static,
{
    let mut written = calls_and_batches(&*store).await;
    compare(&*store, &written).await;
    written.extend(questions_grants_and_switches(&*store).await);
    compare(&*store, &written).await;
    written.extend(what_the_dead_left(&*store).await);
    let chain = compare(&*store, &written).await;
    records_are_read_in_pages(&*store, chain).await;
    checkpoints_are_signed_once(&*store).await;
    many_at_once_make_one_chain(store, chain).await;
}

/// The same for a store of nothing but the audit.
///
/// # Panics
/// When the store does something else.
pub async fn audit_chain(store: &dyn AuditStore) {
    assert_eq!(store.chains().await.unwrap(), []);
    assert_eq!(store.checkpoint_now().await.unwrap(), None, "there is nothing to sign");
    let call = CallId::fresh();
    let of_call = |n| (n % 3 == 0).then_some(call);
    let written: Vec<AuditEvent> =
        (0..12).map(|n| AuditEvent { call: of_call(n), ..event(-n) }).collect();
    for event in &written {
        store.append(event.clone()).await.unwrap();
    }
    let chain = compare(store, &written).await;
    records_are_read_in_pages(store, chain).await;
    checkpoints_are_signed_once(store).await;
}

fn event(at: i64) -> AuditEvent {
    let context = Context { owner: "ann \u{e9}\u{0}\"".into(), ..Context::default() };
    AuditEvent::new(AuditKind::Switched, at, Arc::new(context))
}

/// The one chain that there is.
async fn chain_of(store: &dyn AuditStore) -> (u64, Vec<AuditRow>) {
    let chains = store.chains().await.unwrap();
    let &[(chain, newest)] = &chains[..] else { panic!("one chain, not {chains:?}") };
    let rows = store.records(chain, 0, usize::MAX).await.unwrap();
    assert_eq!(rows.last().map(|row| row.seq), Some(newest));
    (chain, rows)
}

/// Numbers from 1 without gaps, each hash follows from the one before, each text is canonical and
/// says its place.
fn assert_chained(chain: u64, rows: &[AuditRow]) {
    let mut previous = genesis(chain);
    for (row, seq) in rows.iter().zip(1..) {
        assert_eq!((row.chain, row.seq), (chain, seq));
        previous = chain_hash(&previous, &row.text);
        assert_eq!(row.hash, canonical_json::hex(&previous), "{}", row.text);
        let record: Value = serde_json::from_str(&row.text).unwrap();
        assert_eq!((&record["chain"], &record["seq"]), (&chain.into(), &seq.into()));
        assert_eq!(canonical_json::to_string(&record), row.text);
    }
}

/// Exactly these records are there, word for word.
async fn compare(store: &dyn AuditStore, written: &[AuditEvent]) -> u64 {
    let (chain, rows) = chain_of(store).await;
    let found: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
    let expected: Vec<String> =
        written.iter().zip(1..).map(|(event, seq)| event.text(chain, seq)).collect();
    assert_eq!(found, expected);
    assert_chained(chain, &rows);
    let mut calls: Vec<CallId> = written.iter().filter_map(|event| event.call).collect();
    calls.sort_unstable();
    calls.dedup();
    for call in calls {
        let of_call = |(event, row): (&AuditEvent, &AuditRow)| {
            (event.call == Some(call)).then(|| row.clone())
        };
        let expected: Vec<AuditRow> = written.iter().zip(&rows).filter_map(of_call).collect();
        assert_eq!(store.records_of(call).await.unwrap(), expected);
    }
    assert!(store.records_of(CallId::fresh()).await.unwrap().is_empty());
    chain
}

async fn calls_and_batches(store: &dyn CallStore) -> Vec<AuditEvent> {
    let epoch = store.claim().await.unwrap();
    let mut written = Vec::new();
    for batch in [
        accepted("ann", &[CallId::fresh()], epoch),
        under_key(accepted("ann", &[], epoch), "k", "f"),
    ] {
        store.accept(batch.clone()).await.unwrap();
        written.push(AuditEvent::accepted(&batch));
    }
    // A batch that is known is not accepted again, and one that is refused was not.
    store.accept(under_key(accepted("ann", &[], epoch), "k", "f")).await.unwrap();
    store.accept(under_key(accepted("ann", &[], epoch), "k", "g")).await.unwrap_err();
    for effect in [
        Some(Effect::Pure),
        Some(Effect::Read),
        Some(Effect::Idempotent),
        Some(Effect::SideEffect),
        Some(Effect::Destructive),
        None,
    ] {
        let begun = intent(effect, epoch);
        store.begin(begun.clone()).await.unwrap();
        if !begun.is_repeatable() {
            written.push(AuditEvent::started(&begun));
            store.begin(begun.clone()).await.unwrap_err();
        }
        let end = settlement(begun.facts, Some(1_500), epoch);
        store.settle(end.clone()).await.unwrap();
        written.push(AuditEvent::settled(&end.record));
        store.settle(end).await.unwrap_err();
    }
    let refused = refusal(intent(Effect::SideEffect, epoch).facts, epoch);
    store.settle(refused.clone()).await.unwrap();
    written.push(AuditEvent::settled(&refused.record));
    store.release(epoch).await.unwrap();
    let late = intent(Effect::SideEffect, epoch);
    store.begin(late.clone()).await.unwrap_err();
    store.settle(refusal(late.facts, epoch)).await.unwrap_err();
    written
}

fn grant() -> Grant {
    Grant {
        id: GrantId::fresh(),
        owner: "ann".into(),
        operation: "git.push".into(),
        args: [("branch".to_owned(), "feature/*".to_owned())].into(),
        definition_hash: "d1".into(),
        reasons: vec![ReasonKind::Risk],
        risk: Risk::High,
        scope: GrantScope::Conversation,
        run: None,
        conversation: Some("c1".into()),
        created_by: "ben".into(),
        created_at: 1_000,
        expires_at: None,
    }
}

async fn questions_grants_and_switches<S>(store: &S) -> Vec<AuditEvent>
where
    S: ApprovalStore + GrantStore + SwitchStore,
{
    let mut written = Vec::new();
    for first in [
        Decision::approve_for(GrantScope::Run),
        Decision::Deny { note: Some("no".into()) },
        Decision::Edit { args: serde_json::json!({"b": 2}) },
        Decision::Skip,
    ] {
        let asked = question();
        store.ask(asked.clone()).await.unwrap();
        written.push(AuditEvent::asked(&asked.request));
        store.ask(asked.clone()).await.unwrap_err();
        let first = decided(first, "ann");
        let second = DecisionRecord { decided_at: 2_500, ..decided(Decision::approve(), "ben") };
        store.decide(asked.request.id, first.clone()).await.unwrap().unwrap();
        written.push(AuditEvent::decided(&asked.request, &first, true));
        for again in [second, first] {
            store.decide(asked.request.id, again.clone()).await.unwrap().unwrap_err();
            written.push(AuditEvent::decided(&asked.request, &again, false));
        }
    }
    store.decide(question().request.id, decided(Decision::Skip, "ann")).await.unwrap_err();
    let given = grant();
    store.add(given.clone()).await.unwrap();
    store.add(given.clone()).await.unwrap_err();
    assert!(store.revoke(given.id, "cyd", 3_000).await.unwrap());
    assert!(!store.revoke(given.id, "cyd", 4_000).await.unwrap());
    written.push(AuditEvent::granted(&given));
    written.push(AuditEvent::revoked(&given, "cyd", 3_000));
    let switch = |state, by: &str, at| Switch {
        owner: "ann".into(),
        name: "tool:git_push".into(),
        state,
        by: by.into(),
        at,
    };
    for set in [
        switch(SwitchState::Off, "ann", 5_000),
        switch(SwitchState::Ask, "cyd", 5_500),
        switch(SwitchState::On, "ben", 6_000),
    ] {
        store.set_switch(set.clone()).await.unwrap();
        written.push(AuditEvent::switched(&set, Some(set.state)));
    }
    assert!(store.unset_switch("ann", "tool:git_push", "cyd", 7_000).await.unwrap());
    assert!(!store.unset_switch("ann", "tool:git_push", "cyd", 8_000).await.unwrap());
    written.push(AuditEvent::switched(&switch(SwitchState::On, "cyd", 7_000), None));
    written
}

/// Ends that the store writes itself are in the audit like any other.
async fn what_the_dead_left<S: CallStore>(store: &S) -> Vec<AuditEvent> {
    let lost = store.claim().await.unwrap();
    let left: Vec<Intent> =
        [Effect::SideEffect, Effect::Read].map(|effect| intent(effect, lost)).into();
    for begun in &left {
        store.begin(begun.clone()).await.unwrap();
    }
    store.release(lost).await.unwrap();
    let epoch = store.claim().await.unwrap();
    store.recover(epoch, 9_000).await.unwrap();
    store.recover(epoch, 9_500).await.unwrap();
    store.release(epoch).await.unwrap();
    let mut written = vec![AuditEvent::started(&left[0])];
    for begun in left {
        written.push(AuditEvent::settled(&Settlement::from_crash(begun, 9_000, lost).record));
    }
    written
}

async fn records_are_read_in_pages(store: &dyn AuditStore, chain: u64) {
    let (_, all) = chain_of(store).await;
    let mut read: Vec<AuditRow> = Vec::new();
    loop {
        let after = read.last().map_or(0, |row| row.seq);
        let page = store.records(chain, after, 5).await.unwrap();
        assert!(page.len() <= 5);
        if page.is_empty() {
            break;
        }
        read.extend(page);
    }
    assert_eq!(read, all);
    assert!(store.records(chain, 0, 0).await.unwrap().is_empty());
    assert!(store.records(chain, u64::MAX, 5).await.unwrap().is_empty());
    assert!(store.records(chain + 1_000, 0, 5).await.unwrap().is_empty());
}

async fn checkpoints_are_signed_once(store: &dyn AuditStore) {
    let (chain, rows) = chain_of(store).await;
    let mut made = store.checkpoints(chain).await.unwrap();
    for round in 0..3_u64 {
        let (seq, head) = if round == 0 {
            let newest = rows.last().unwrap();
            (newest.seq, newest.hash.clone())
        } else {
            store.append(event(20_000)).await.unwrap();
            let (_, rows) = chain_of(store).await;
            let newest = rows.last().unwrap();
            (newest.seq, newest.hash.clone())
        };
        let new = store.checkpoint_now().await.unwrap();
        let AuditCheckpoint { at, .. } = new.clone().unwrap();
        let signed = AuditCheckpoint::signing_payload(chain, seq, &head, at);
        let signature = TestSigner.sign(signed.as_bytes());
        let expected = AuditCheckpoint { chain, seq, head, at, key: "aa".into(), signature };
        assert_eq!(new.as_ref(), Some(&expected));
        assert_eq!(store.checkpoint_now().await.unwrap(), None, "nothing is new");
        made.push(expected);
        assert_eq!(store.checkpoints(chain).await.unwrap(), made);
    }
    assert!(store.checkpoints(chain + 1_000).await.unwrap().is_empty());
}

async fn many_at_once_make_one_chain<S>(store: Arc<S>, chain: u64)
where
    S: CallStore + ApprovalStore + AuditStore + 'static,
{
    const TASKS: usize = 8;
    const CALLS: usize = 15;
    let (_, before) = chain_of(&*store).await;
    let epoch = store.claim().await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..TASKS {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            for _ in 0..CALLS {
                let begun = intent(Effect::SideEffect, epoch);
                store.begin(begun.clone()).await.unwrap();
                let end = settlement(begun.facts.clone(), Some(1_500), epoch);
                store.settle(end).await.unwrap();
                let of_call = store.records_of(begun.facts.call).await.unwrap();
                assert_eq!(of_call.len(), 2, "written with what they are about");
                assert!(of_call[0].seq < of_call[1].seq);
                store.ask(question()).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    let (_, rows) = chain_of(&*store).await;
    assert_eq!(rows.len(), before.len() + TASKS * CALLS * 3);
    assert_eq!(rows[..before.len()], before);
    assert_chained(chain, &rows);
    store.release(epoch).await.unwrap();
}
