//! Tests of artifacts in a shared database: two processes, parts, quotas, expiry, and leftovers of
//! dead writers.

use std::sync::Arc;

use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::{
    ArtifactStore as _, Clock, ConversationStore as _, RunId, RunStatus, RunStore as _, StoreError,
    StoredRun,
};
use toolcrib_store::{ArtifactLimits, PostgresStore, SharedArtifacts, StoreOptions};
use toolcrib_testkit::FakeClock;
use toolcrib_testkit::conformance::{self, conversation, new_artifact, put, run};
use toolcrib_testkit::postgres_server::PostgresServer;

use super::{FAST, open};

const MIB: usize = 1024 * 1024;
const DAY: i64 = 24 * 3600 * 1000;

fn artifacts(store: &Arc<PostgresStore>, folder: &tempfile::TempDir) -> SharedArtifacts {
    let folder = folder.path().join("partial");
    SharedArtifacts::new((**store).clone(), folder, ArtifactLimits::default())
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n % 251) as u8 ^ (n / MIB) as u8).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_daemon_reads_the_artifacts_of_every_other() {
    let server = PostgresServer::start_with(FAST);
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let stores = [open(&server.database("shared")).await, open(&server.url("shared")).await];
    let one = artifacts(&stores[0], &folders[0]);
    let other = artifacts(&stores[1], &folders[1]);
    conformance::artifacts(&one);

    // More than one part, none of it at a boundary.
    let bytes = pattern(5 * MIB + 1_000);
    let meta = put(&one, new_artifact("ann"), &bytes).unwrap();
    assert_eq!(server.sql("shared", &parts_of(&meta.artifact.0)), "6");
    assert_eq!(other.meta(&meta.artifact, "ann").unwrap(), Some(meta.clone()));
    for (offset, length) in [
        (0, usize::MAX),
        (0, 10),
        (MIB - 1, 2),
        (MIB, MIB),
        (3 * MIB + 7, 2 * MIB),
        (bytes.len() - 1, 50),
        (bytes.len(), 1),
    ] {
        let read = other.read(&meta.artifact, "ann", offset as u64, length).unwrap().unwrap();
        let end = bytes.len().min(offset.saturating_add(length));
        assert!(read == bytes[offset..end], "{offset} {length}: {} bytes", read.len());
    }
    assert_eq!(other.read(&meta.artifact, "bob", 0, 10).unwrap(), None);

    // An artifact that one process removes is deleted for the other too, with its content.
    assert!(other.remove(&meta.artifact, "ann").unwrap());
    assert_eq!(one.read(&meta.artifact, "ann", 0, 10).unwrap(), None);
    assert_eq!(server.sql("shared", &parts_of(&meta.artifact.0)), "0");
    for folder in &folders {
        let left = std::fs::read_dir(folder.path().join("partial")).map_or(0, Iterator::count);
        assert_eq!(left, 0, "files of artifacts that are being written have no name");
    }
}

fn parts_of(artifact: &str) -> String {
    format!("SELECT count(*) FROM artifact_parts WHERE artifact = '{artifact}'")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_quotas_expiry_and_leftovers_of_shared_artifacts() {
    let server = PostgresServer::start_with(FAST);
    let folder = tempfile::tempdir().unwrap();
    let store = open(&server.database("limits")).await;
    let clock = Arc::new(FakeClock::at(1_000));
    let limits = ArtifactLimits { owner_bytes: 100, run_bytes: 50, ..ArtifactLimits::default() };
    let artifacts = SharedArtifacts::new((*store).clone(), folder.path().into(), limits)
        .with_clock(Arc::clone(&clock) as Arc<dyn Clock>);

    let whole = put(&artifacts, new_artifact("ann"), &[b'a'; 60]).unwrap();
    let full = put(&artifacts, new_artifact("ann"), &[b'b'; 60]).unwrap_err();
    assert!(matches!(&full, StoreError::Full(why) if why.contains("the owner has 60")), "{full}");
    let of_run = NewArtifact { run: Some(RunId::fresh()), ..new_artifact("bob") };
    let full = put(&artifacts, of_run, &[b'c'; 60]).unwrap_err();
    assert!(matches!(&full, StoreError::Full(why) if why.contains("the run has 0")), "{full}");
    put(&artifacts, new_artifact("bob"), &[b'c'; 60]).unwrap();

    let changed = "UPDATE artifact_parts SET content = 'x'::bytea || substring(content FROM 2)";
    server.sql("limits", &format!("{changed} WHERE artifact = '{}'", whole.artifact));
    let damaged = artifacts.read(&whole.artifact, "ann", 0, 100).unwrap_err().to_string();
    assert!(damaged.contains(&whole.artifact.0) && damaged.contains("not those"), "{damaged}");
    server.sql(
        "limits",
        &format!("DELETE FROM artifact_parts WHERE artifact = '{}'", whole.artifact),
    );
    let damaged = artifacts.read(&whole.artifact, "ann", 0, 100).unwrap_err().to_string();
    assert!(damaged.contains("a part is missing"), "{damaged}");

    // A run that continues retains its artifacts; the rest expires, which frees space.
    let talk = conversation("carl");
    store.put_conversation(talk.clone()).await.unwrap();
    let paused = StoredRun { status: RunStatus::Paused, ..run(&talk) };
    store.put_run(paused.clone()).await.unwrap();
    let of_run = NewArtifact { run: Some(paused.id), ..new_artifact("carl") };
    let kept = put(&artifacts, of_run, &[b'd'; 40]).unwrap();
    clock.advance(DAY + 1);
    put(&artifacts, new_artifact("ann"), &[b'b'; 90]).unwrap();
    assert_eq!(artifacts.meta(&whole.artifact, "ann").unwrap(), None);
    assert!(artifacts.meta(&kept.artifact, "carl").unwrap().is_some());

    // A dead writer has stored parts without a row, and so has a running one.
    let insert =
        "INSERT INTO artifact_parts VALUES ('art_old', 0, now() - interval '2 hours', 'x'),
        ('art_new', 0, now(), 'x')";
    server.sql("limits", insert);
    drop(artifacts);
    drop(store);
    let again = Arc::new(
        PostgresStore::connect(&server.url("limits"), StoreOptions::default()).await.unwrap(),
    );
    let artifacts = SharedArtifacts::new((*again).clone(), folder.path().into(), limits);
    put(&artifacts, new_artifact("eve"), b"waits for what was queued before it").unwrap();
    assert_eq!(server.sql("limits", &parts_of("art_old")), "0");
    assert_eq!(server.sql("limits", &parts_of("art_new")), "1");
}

/// Two processes store and remove artifacts of the same content at once: each that is there can be
/// read, and each that is stored was there.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stored_and_removed_at_once_by_two_processes() {
    let server = PostgresServer::start_with(FAST);
    let folder = tempfile::tempdir().unwrap();
    let stores = [open(&server.database("races")).await, open(&server.url("races")).await];
    let threads: Vec<_> = (0..4)
        .map(|n: usize| {
            let artifacts = artifacts(&stores[n % 2], &folder);
            std::thread::spawn(move || {
                for round in 0..25 {
                    let bytes = vec![b'0' + (round % 3) as u8; 1_000];
                    let meta = put(&artifacts, new_artifact("ann"), &bytes).unwrap();
                    let read = artifacts.read(&meta.artifact, "ann", 0, 2_000).unwrap();
                    assert!(read.is_none_or(|read| read == bytes));
                    if n >= 2 {
                        artifacts.remove(&meta.artifact, "ann").unwrap();
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        tokio::task::block_in_place(|| thread.join()).unwrap();
    }
    let incomplete = "SELECT count(*) FROM artifacts a
        WHERE NOT EXISTS (SELECT FROM artifact_parts p WHERE p.artifact = a.ref)";
    assert_eq!(server.sql("races", incomplete), "0");
}
