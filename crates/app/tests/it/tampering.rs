//! Six kinds of tampering at 200 places each, in a real database with checkpoints by a real key: every one is found and has its name, and
//! what nobody touched is sound (reliability 3, G2).

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, params};
use toolcrib_app::audit::{
    Anchors, AuditKey, CallTampering, Evidence, Finding, Tampering, TrustedKeys, verify,
    verify_calls,
};
use toolcrib_app::core::audit::{LOCAL_CHAIN, genesis, link};
use toolcrib_app::core::{
    AuditCheckpoint, AuditEvent, AuditKind, AuditSigner as _, AuditStore as _, CallStore as _,
    Context, Effect, canonical,
};
use toolcrib_app::store::{SqliteStore, StoreOptions};
use toolcrib_testkit::conformance::{intent, refusal, settlement};

const RECORDS: u64 = 30;
const ROUNDS: u64 = 200;

/// A row of the table as it is there.
type Row = (u64, Vec<u8>, String);

/// A database with its key and anchors, open for reading, and a second connection of whoever tampers.
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
        // Without the key: it must not be there to sign what was tampered with.
        let store = SqliteStore::open(&database).unwrap();
        let anchors = Some(Anchors::read(&anchors).unwrap());
        let evidence = Evidence { keys, anchors, ..Evidence::default() };
        let attacker = attacker(&database);
        let rows = rows(&attacker);
        assert_eq!((rows.len() as u64, checkpoints.len()), (RECORDS, 2));
        Self { store, attacker, evidence, rows, checkpoints, _folder: folder }
    }

    /// Puts these rows and checkpoints into the database.
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

    /// Tampers at many places and judges the first finding of each.
    async fn check(
        &self,
        name: &str,
        tamper: impl Fn(&mut Vec<Row>, &mut Vec<AuditCheckpoint>, usize, &mut fastrand::Rng),
        right: impl Fn(&Finding, u64) -> bool,
    ) {
        for round in 0..ROUNDS {
            let mut dice = fastrand::Rng::with_seed(round);
            // Not the last ones: without those it is the tail that is cut.
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

/// Gives rows the numbers of their places.
fn number(rows: &mut [Row]) {
    for (seq, row) in (1..).zip(rows) {
        row.0 = seq;
    }
}

/// Hashes everything again, as whoever has no key can.
fn hash_again(rows: &mut [Row]) {
    let mut previous = genesis(LOCAL_CHAIN);
    for (_, hash, text) in rows {
        previous = link(&previous, text);
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
            forged.1 = link(&previous.unwrap_or_else(|| genesis(LOCAL_CHAIN)), &forged.2).to_vec();
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
            // The old signature under a new hash.
            _ => {
                for made in checkpoints.iter_mut().filter(|made| made.seq > at as u64) {
                    made.head = canonical::hex(&rows[usize::try_from(made.seq).unwrap() - 1].1);
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
    check("UPDATE calls SET outcome = NULL WHERE id = ?1", &[CallTampering::Reopened]).await;
    check("DELETE FROM calls WHERE id = ?1", &[CallTampering::Deleted]).await;
    assert_eq!(findings().await, []);
    let taken = "DELETE FROM audit WHERE call = ?1 AND text LIKE '%settled%'";
    assert_eq!(attacker.execute(taken, [&calls[1]]).unwrap(), 1);
    let report = verify_calls(&store, &store, &store, &["ann"]).await.unwrap();
    assert_eq!(report.findings[0].what, CallTampering::Unrecorded);
    assert_eq!((report.findings.len(), report.findings[0].call.to_string()), (1, calls[1].clone()));
}
