//! Audit tampering: six kinds at 200 places each, in a real database with signed checkpoints. Every
//! one is detected and named; an untouched database verifies.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, params};
use toolcrib_audit::{
    AnchorFile, AuditKey, CallTampering, DecisionStores, DecisionTampering, Evidence, Finding,
    Subject, Tampering, TrustedKeys, verify, verify_calls, verify_decisions,
};
use toolcrib_core::audit::{LOCAL_CHAIN, chain_hash, genesis};
use toolcrib_core::{
    ApprovalId, ApprovalStore as _, AuditCheckpoint, AuditEvent, AuditKind, AuditSigner as _,
    AuditStore as _, CallDetails, CallStore as _, Context, Decision, DecisionRecord, Effect,
    ErrorType, Grant, GrantId, GrantScope, GrantStore as _, Origin, ReasonKind, Risk, RunId,
    Switch, SwitchState, SwitchStore as _, ToolError, canonical_json,
};
use toolcrib_store::{SqliteStore, StoreOptions};
use toolcrib_testkit::conformance::{end_with, intent, outcome, question, refusal, settlement};

const RECORDS: u64 = 30;
const ROUNDS: u64 = 200;

/// A row of the database table.
type Row = (u64, Vec<u8>, String);

/// A database with its key and anchors, open for reading, and a second connection for tampering.
struct Target {
    store: SqliteStore,
    attacker: Connection,
    evidence: Evidence,
    rows: Vec<Row>,
    checkpoints: Vec<AuditCheckpoint>,
    _folder: tempfile::TempDir,
}

impl Target {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("toolcrib.db");
        let anchors = folder.path().join("anchors.jsonl");
        let key = Arc::new(AuditKey::open(&folder.path().join("audit")).unwrap());
        let keys = TrustedKeys::parse(&key.public_key()).unwrap();
        let signed = StoreOptions {
            signer: Some(key),
            anchors: Some(anchors.clone()),
            ..StoreOptions::default()
        };
        let writer = SqliteStore::open_with(&database, signed).unwrap();
        for at in 1..=RECORDS {
            let mut event =
                AuditEvent::new(AuditKind::Settled, 1_000, Arc::new(Context::default()));
            event.tool = Some(format!("tool_{}", at % 5));
            writer.append(event).await.unwrap();
            if at % 15 == 0 {
                writer.checkpoint_now().await.unwrap().unwrap();
            }
        }
        let checkpoints = writer.checkpoints(LOCAL_CHAIN).await.unwrap();
        drop(writer);
        // Open without the key, which must not sign the modified records.
        let store = SqliteStore::open(&database).unwrap();
        let anchors = Some(AnchorFile::read(&anchors).unwrap());
        let evidence = Evidence { keys, anchors, ..Evidence::default() };
        let attacker = attacker(&database);
        let rows = rows(&attacker);
        assert_eq!((rows.len() as u64, checkpoints.len()), (RECORDS, 2));
        Self { store, attacker, evidence, rows, checkpoints, _folder: folder }
    }

    /// Writes these rows and checkpoints into the database.
    fn put(&self, rows: &[Row], checkpoints: &[AuditCheckpoint]) {
        let db = &self.attacker;
        db.execute_batch("BEGIN; DELETE FROM audit; DELETE FROM audit_checkpoints").unwrap();
        let mut insert = db
            .prepare_cached("INSERT INTO audit (seq, chain, hash, text) VALUES (?1, 1, ?2, ?3)")
            .unwrap();
        for (seq, hash, text) in rows {
            insert.execute(params![i64::try_from(*seq).unwrap(), hash, text]).unwrap();
        }
        let mut insert = db
            .prepare_cached("INSERT INTO audit_checkpoints (seq, chain, head, at, key, signature) VALUES (?1, 1, ?2, ?3, ?4, ?5)")
            .unwrap();
        for made in checkpoints {
            let seq = i64::try_from(made.seq).unwrap();
            insert.execute(params![seq, made.head, made.at, made.key, made.signature]).unwrap();
        }
        db.execute_batch("COMMIT").unwrap();
    }

    async fn findings(&self) -> Vec<Finding> {
        let reports = verify(&self.store, &self.evidence).await.unwrap();
        reports.into_iter().flat_map(|report| report.findings).collect()
    }

    /// Tampers at many positions and checks the first finding of each.
    async fn check(
        &self,
        name: &str,
        tamper: impl Fn(&mut Vec<Row>, &mut Vec<AuditCheckpoint>, usize, &mut fastrand::Rng),
        right: impl Fn(&Finding, u64) -> bool,
    ) {
        for round in 0..ROUNDS {
            let mut dice = fastrand::Rng::with_seed(round);
            // Exclude the last records: without them, the tail counts as cut off.
            let at = dice.usize(0..self.rows.len() - 2);
            let (mut rows, mut checkpoints) = (self.rows.clone(), self.checkpoints.clone());
            tamper(&mut rows, &mut checkpoints, at, &mut dice);
            self.put(&rows, &checkpoints);
            let findings = self.findings().await;
            let place = at as u64 + 1;
            assert!(
                findings.first().is_some_and(|first| right(first, place)),
                "{name} {round} at {place}: {findings:?}"
            );
        }
        self.put(&self.rows, &self.checkpoints);
        assert_eq!(self.findings().await, [], "false alarm after {name}");
    }
}

fn attacker(database: &Path) -> Connection {
    let connection = Connection::open(database).unwrap();
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF").unwrap();
    connection
}

fn rows(attacker: &Connection) -> Vec<Row> {
    let mut statement = attacker.prepare("SELECT seq, hash, text FROM audit ORDER BY seq").unwrap();
    let read = |row: &rusqlite::Row<'_>| {
        Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get(1)?, row.get(2)?))
    };
    statement.query_map([], read).unwrap().map(Result::unwrap).collect()
}

/// Renumbers rows by their positions.
fn number(rows: &mut [Row]) {
    for (seq, row) in (1..).zip(rows) {
        row.0 = seq;
    }
}

/// Recomputes all hashes, as an attacker without the key can.
fn hash_again(rows: &mut [Row]) {
    let mut previous = genesis(LOCAL_CHAIN);
    for (_, hash, text) in rows {
        previous = chain_hash(&previous, text);
        *hash = previous.to_vec();
    }
}

#[tokio::test]
async fn six_kinds_of_tampering_are_found_and_named() {
    let target = Target::new().await;
    assert_eq!(target.findings().await, [], "false alarm");

    let edited = |rows: &mut Vec<Row>, _: &mut Vec<_>, at: usize, dice: &mut fastrand::Rng| {
        let (_, hash, text) = &mut rows[at];
        match dice.u8(0..4) {
            0 => *text = text.replace("tool_", "fool_"),
            1 => text.insert(dice.usize(0..text.len()), ' '),
            2 => hash[dice.usize(0..32)] ^= 1,
            _ => hash.truncate(dice.usize(0..32)),
        }
    };
    let is =
        |what: Tampering| move |first: &Finding, place| first.what == what && first.seq == place;
    target.check("edited", edited, is(Tampering::Altered)).await;

    let inserted = |rows: &mut Vec<Row>, _: &mut Vec<_>, at: usize, dice: &mut fastrand::Rng| {
        let mut forged = rows[at].clone();
        forged.2 = forged.2.replace("tool_", "fool_");
        if dice.bool() {
            let previous =
                at.checked_sub(1).map(|before| rows[before].1.clone().try_into().unwrap());
            forged.1 =
                chain_hash(&previous.unwrap_or_else(|| genesis(LOCAL_CHAIN)), &forged.2).to_vec();
        }
        rows.insert(at, forged);
        number(rows);
    };
    target.check("inserted", inserted, is(Tampering::Inserted)).await;

    let deleted = |rows: &mut Vec<Row>, _: &mut Vec<_>, at: usize, dice: &mut fastrand::Rng| {
        rows.drain(at..at + dice.usize(1..=2));
    };
    target
        .check("deleted", deleted, |first, place| {
            matches!(first.what, Tampering::Gap { to } if to - place < 2) && first.seq == place
        })
        .await;

    let reordered = |rows: &mut Vec<Row>, _: &mut Vec<_>, at: usize, dice: &mut fastrand::Rng| {
        let other = dice.usize(at + 1..rows.len());
        rows.swap(at, other);
        number(rows);
    };
    target
        .check("reordered", reordered, |first, place| {
            matches!(first.what, Tampering::Moved { says } if says > place) && first.seq == place
        })
        .await;

    let cut = |rows: &mut Vec<Row>,
               checkpoints: &mut Vec<AuditCheckpoint>,
               at: usize,
               dice: &mut fastrand::Rng| {
        rows.truncate(at);
        if dice.bool() {
            checkpoints.retain(|made| made.seq <= at as u64);
        }
    };
    target.check("tail cut", cut, is(Tampering::TailCut { checkpoint: RECORDS })).await;

    let rewritten = |rows: &mut Vec<Row>,
                     checkpoints: &mut Vec<AuditCheckpoint>,
                     at: usize,
                     dice: &mut fastrand::Rng| {
        rows[at].2 = rows[at].2.replace("tool_", "fool_");
        hash_again(rows);
        match dice.u8(0..3) {
            0 => {}
            1 => checkpoints.retain(|made| made.seq <= at as u64),
            // Keep the old signature with a new hash.
            _ => {
                for made in checkpoints.iter_mut().filter(|made| made.seq > at as u64) {
                    made.head =
                        canonical_json::hex(&rows[usize::try_from(made.seq).unwrap() - 1].1);
                }
            }
        }
    };
    target
        .check("rewritten", rewritten, |first, place| {
            matches!(first.what, Tampering::Rewritten { checkpoint } if place <= checkpoint)
                && first.seq <= place
        })
        .await;
}

#[tokio::test]
async fn calls_that_were_tampered_with_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("toolcrib.db");
    let store = SqliteStore::open(&database).unwrap();
    let epoch = store.claim().await.unwrap();
    let mut calls = Vec::new();
    for _ in 0..2 {
        let begun = intent(Effect::SideEffect, epoch);
        calls.push(begun.facts.call.to_string());
        store.begin(begun.clone()).await.unwrap();
        let end = settlement(begun.facts, Some(begun.started_at), epoch);
        store.settle(end).await.unwrap();
    }
    store.settle(refusal(intent(Effect::Read, epoch).facts, epoch)).await.unwrap();
    let findings = async || {
        let report = verify_calls(&store, &store, &store, &["ann"]).await.unwrap();
        assert_eq!(report.records, 5);
        report.findings.into_iter().map(|found| found.what).collect::<Vec<_>>()
    };
    assert_eq!(findings().await, [], "false alarm");
    let attacker = attacker(&database);
    attacker.execute_batch("BEGIN").unwrap();
    let tables = ["calls", "outcomes", "audit"];
    for table in tables {
        let copy = format!("CREATE TEMP TABLE kept_{table} AS SELECT * FROM {table}");
        attacker.execute_batch(&copy).unwrap();
    }
    attacker.execute_batch("COMMIT").unwrap();
    let check = async |sql: &str, wanted: &[CallTampering]| {
        assert!(attacker.execute(sql, [&calls[1]]).unwrap() > 0, "{sql}");
        assert_eq!(findings().await, wanted, "{sql}");
        for table in tables {
            let back =
                format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM temp.kept_{table}");
            attacker.execute_batch(&back).unwrap();
        }
    };
    let altered = |member: &str| CallTampering::RowAltered { members: vec![member.to_owned()] };
    check(
        "UPDATE outcomes SET text = text || ' ' WHERE call = (SELECT place FROM calls WHERE id = ?1)",
        &[CallTampering::OutcomeAltered],
    )
    .await;
    check(
        "UPDATE outcomes SET text = 'nothing' WHERE call = (SELECT place FROM calls WHERE id = ?1)",
        &[CallTampering::OutcomeAltered],
    )
    .await;
    check(
        "DELETE FROM outcomes WHERE call = (SELECT place FROM calls WHERE id = ?1)",
        &[CallTampering::OutcomeAltered],
    )
    .await;
    check("UPDATE calls SET operation = 'other' WHERE id = ?1", &[altered("operation")]).await;
    check("UPDATE calls SET outcome = 'failed' WHERE id = ?1", &[altered("outcome")]).await;
    for change in [
        "args = '{\"path\":\"b\"}'",
        "args = NULL",
        "asked = 'Other'",
        "message = 'all is well'",
        "received_at = received_at - 1",
        "started_at = started_at - 1",
    ] {
        let sql = format!("UPDATE calls SET {change} WHERE id = ?1");
        check(&sql, &[altered("body_hash")]).await;
    }
    check("UPDATE calls SET outcome = NULL WHERE id = ?1", &[CallTampering::Reopened]).await;
    check("DELETE FROM calls WHERE id = ?1", &[CallTampering::Deleted]).await;
    assert_eq!(findings().await, []);
    let taken = "DELETE FROM audit WHERE call = ?1 AND text LIKE '%settled%'";
    assert_eq!(attacker.execute(taken, [&calls[1]]).unwrap(), 1);
    let report = verify_calls(&store, &store, &store, &["ann"]).await.unwrap();
    assert_eq!(report.findings[0].what, CallTampering::Unrecorded);
    assert_eq!((report.findings.len(), report.findings[0].call.to_string()), (1, calls[1].clone()));
}

/// Fills in all details of a call.
fn full_facts(facts: CallDetails) -> CallDetails {
    CallDetails {
        run: Some(RunId::fresh()),
        origin: Origin::Device,
        context: Arc::new(Context {
            owner: "ann".into(),
            agent: "baker\u{0}".into(),
            conversation: "c1".into(),
            workspace: "/srv/\"shop\"".into(),
            channel: "chat".into(),
            device: "phone".into(),
            topic: "caf\u{e9}s \u{1f4a5}\n".into(),
            ..Context::default()
        }),
        asked: Some("ReadFile".into()),
        risk: Some(Risk::Critical),
        args: Some(r#"{"a":[null,1e-7,18446744073709551615],"nul":"\u0000"}"#.into()),
        approval: Some(ApprovalId::fresh()),
        approved_by: Some("ben".into()),
        policy: Some("ask Bash(git push:*) (rules.toml:3)".into()),
        parent: Some(toolcrib_core::CallId::fresh()),
        received_at: i64::MAX,
        ..facts
    }
}

fn grant() -> Grant {
    Grant {
        id: GrantId::fresh(),
        owner: "ann".into(),
        operation: "delete_file".into(),
        args: [("path".to_owned(), "notes/*".to_owned())].into(),
        definition_hash: "d1".into(),
        reasons: vec![ReasonKind::Risk],
        risk: Risk::High,
        scope: GrantScope::Conversation,
        run: None,
        conversation: Some("c1".into()),
        created_by: "ben".into(),
        created_at: 1_000,
        expires_at: Some(9_000),
    }
}

/// A database with questions, grants and switches in every state, and with calls that have all
/// details or few.
struct Decided {
    store: SqliteStore,
    attacker: Connection,
    /// A denied question, an approved one, and a waiting one.
    questions: [String; 3],
    grant: Grant,
    _folder: tempfile::TempDir,
}

impl Decided {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("toolcrib.db");
        let store = SqliteStore::open(&database).unwrap();
        let epoch = store.claim().await.unwrap();
        for effect in [None, Some(Effect::Read), Some(Effect::Destructive)] {
            let mut begun = intent(effect, epoch);
            begun.facts = full_facts(begun.facts);
            store.begin(begun.clone()).await.unwrap();
            let error = ToolError::new(ErrorType::Timeout, "it took \u{e9}ver\u{0}");
            let failed = outcome(&begun.facts, Err(error));
            let end = end_with(begun.facts, Some(begun.started_at), epoch, &failed);
            store.settle(end).await.unwrap();
        }
        store.settle(refusal(intent(None, epoch).facts, epoch)).await.unwrap();
        let deny = Decision::Deny { note: Some("no".into()) };
        let edit = Decision::Edit { args: serde_json::json!({"share": 0.1, "b": 1e300}) };
        let mut questions = Vec::new();
        for decision in [Some(deny), Some(Decision::approve()), None, Some(edit)] {
            let asked = question();
            questions.push(asked.request.id.to_string());
            store.ask(asked.clone()).await.unwrap();
            let Some(decision) = decision else { continue };
            let first = DecisionRecord { decision, decided_by: "ben".into(), decided_at: 2_000 };
            store.decide(asked.request.id, first).await.unwrap().unwrap();
            let again = DecisionRecord::expiry(9_000);
            store.decide(asked.request.id, again).await.unwrap().unwrap_err();
        }
        questions.truncate(3);
        let (grant, revoked) = (grant(), grant());
        store.add(grant.clone()).await.unwrap();
        store.add(revoked.clone()).await.unwrap();
        assert!(store.revoke(revoked.id, "ann", 3_000).await.unwrap());
        for (name, state) in [
            ("tool:rm", SwitchState::On),
            ("tool:rm", SwitchState::Off),
            ("tool:cp", SwitchState::On),
        ] {
            let (owner, by) = ("ann".to_owned(), "ben".to_owned());
            let switch = Switch { owner, name: name.to_owned(), state, by, at: 4_000 };
            store.set_switch(switch).await.unwrap();
        }
        assert!(store.unset_switch("ann", "tool:cp", "ben", 5_000).await.unwrap());
        let attacker = attacker(&database);
        let questions = questions.try_into().unwrap();
        Self { store, attacker, questions, grant, _folder: folder }
    }

    async fn findings(&self) -> Vec<(Subject, Option<String>, DecisionTampering)> {
        let store = &self.store;
        let stores = DecisionStores { approvals: store, grants: store, switches: store };
        let report = verify_decisions(store, stores, &["ann"]).await.unwrap();
        for finding in &report.findings {
            let text = finding.to_string();
            assert!(finding.id.as_ref().is_none_or(|id| text.contains(id)), "{text}");
        }
        report.findings.into_iter().map(|found| (found.subject, found.id, found.what)).collect()
    }

    /// Tampers with a row, checks the findings, and restores everything.
    async fn check(
        &self,
        sql: &str,
        key: &str,
        subject: Subject,
        id: Option<&str>,
        right: impl Fn(&DecisionTampering) -> bool,
    ) {
        assert_eq!(self.attacker.execute(sql, [key]).unwrap(), 1, "{sql}");
        let findings = self.findings().await;
        assert_eq!(findings.len(), 1, "{sql}: {findings:?}");
        let (of, name, what) = &findings[0];
        assert!(*of == subject && name.as_deref() == id && right(what), "{sql}: {findings:?}");
        for table in TABLES {
            let back = format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM k_{table}");
            self.attacker.execute_batch(&back).unwrap();
        }
    }
}

const TABLES: [&str; 3] = ["approvals", "grants", "switches"];

#[tokio::test]
async fn what_people_decided_cannot_be_changed_unseen() {
    let world = Decided::new().await;
    let calls = verify_calls(&world.store, &world.store, &world.store, &["ann"]).await.unwrap();
    assert_eq!((calls.calls, calls.findings), (4, Vec::new()), "false alarm");
    assert_eq!(world.findings().await, [], "false alarm");
    for table in TABLES {
        let copy = format!("CREATE TEMP TABLE k_{table} AS SELECT * FROM {table}");
        world.attacker.execute_batch(&copy).unwrap();
    }
    let [denied, approved, waiting] = &world.questions;
    let is = |wanted: DecisionTampering| move |what: &DecisionTampering| *what == wanted;
    let is_unreadable =
        |what: &DecisionTampering| matches!(what, DecisionTampering::Unreadable { .. });
    use DecisionTampering::{Altered, Deleted, Returned, Unrecorded};
    use Subject::{Decision, Grant, Question, Switch};

    let approve = r#"json_object('decision', json('{"decision":"approve","scope":"once"}'), 'decided_by', 'ben', 'decided_at', 2000)"#;
    let sql = format!("UPDATE approvals SET decision = {approve} WHERE id = ?1");
    world.check(&sql, denied, Decision, Some(denied), is(Altered)).await;
    world.check(&sql, waiting, Decision, Some(waiting), is(Unrecorded)).await;
    let sql = "UPDATE approvals SET decision = NULL WHERE id = ?1";
    world.check(sql, denied, Decision, Some(denied), is(Deleted)).await;
    let sql =
        "UPDATE approvals SET decision = json_set(decision, '$.decided_by', 'eve') WHERE id = ?1";
    world.check(sql, approved, Decision, Some(approved), is(Altered)).await;
    for (member, value) in [("summary", "'x'"), ("args.path", "'x'"), ("expires_at", "NULL")] {
        let sql = format!(
            "UPDATE approvals SET request = json_set(request, '$.{member}', {value}) WHERE id = ?1"
        );
        world.check(&sql, waiting, Question, Some(waiting), is(Altered)).await;
        world.check(&sql, approved, Question, Some(approved), is(Altered)).await;
    }
    let sql = "UPDATE approvals SET owner = 'eve' WHERE id = ?1";
    world.check(sql, waiting, Question, Some(waiting), is(Altered)).await;
    let sql = "DELETE FROM approvals WHERE id = ?1";
    world.check(sql, waiting, Question, Some(waiting), is(Deleted)).await;
    let sql = "UPDATE approvals SET request = '{' WHERE id = ?1";
    world.check(sql, waiting, Question, Some(waiting), is_unreadable).await;
    let forged = ApprovalId::fresh().to_string();
    let sql = format!(
        "INSERT INTO approvals (id, owner, run, call, request, batch, setup, requested_at)
        SELECT '{forged}', owner, run, call, json_set(request, '$.id', '{forged}'), batch, setup, requested_at
        FROM approvals WHERE id = ?1"
    );
    world.check(&sql, waiting, Question, Some(&forged), is(Unrecorded)).await;

    let id = world.grant.id.to_string();
    let always = toolcrib_core::Grant { scope: GrantScope::Always, ..grant() };
    let sql = format!(
        "INSERT INTO grants (id, owner, operation, body) VALUES ('{}', 'ann', 'delete_file', ?1)",
        always.id
    );
    let body = serde_json::to_string(&always).unwrap();
    world.check(&sql, &body, Grant, Some(&always.id.to_string()), is(Unrecorded)).await;
    let sql = "UPDATE grants SET body = json_set(body, '$.scope', 'always') WHERE id = ?1";
    world.check(sql, &id, Grant, Some(&id), is(Altered)).await;
    let sql = "UPDATE grants SET body = json_remove(body, '$.args') WHERE id = ?1";
    world.check(sql, &id, Grant, Some(&id), is(Altered)).await;
    world.check("DELETE FROM grants WHERE id = ?1", &id, Grant, Some(&id), is(Deleted)).await;
    world
        .check("UPDATE grants SET body = '[' WHERE id = ?1", &id, Grant, None, is_unreadable)
        .await;

    let name = "tool:rm";
    let sql = "UPDATE switches SET state = 'on' WHERE name = ?1";
    world.check(sql, name, Switch, Some(name), is(Altered)).await;
    let sql = "UPDATE switches SET state = 'ask' WHERE name = ?1";
    world.check(sql, name, Switch, Some(name), is(Altered)).await;
    let sql = "UPDATE switches SET state = 'maybe' WHERE name = ?1";
    world.check(sql, name, Switch, None, is_unreadable).await;
    let sql = "DELETE FROM switches WHERE name = ?1";
    world.check(sql, name, Switch, Some(name), is(Deleted)).await;
    let sql =
        "INSERT INTO switches (owner, name, state, by, at) VALUES ('ann', ?1, 'on', 'ben', 4000)";
    world.check(sql, "tool:cp", Switch, Some("tool:cp"), is(Returned)).await;
    world.check(sql, "tools", Switch, Some("tools"), is(Unrecorded)).await;
    assert_eq!(world.findings().await, [], "false alarm");
}
