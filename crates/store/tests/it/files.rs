//! Tests of the database files: private permissions, refusal of foreign files, reuse across
//! handles.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use toolcrib_core::{
    ConversationAndRunStore, ConversationStore, KeyValueStore, RunStore, StoreError,
};
use toolcrib_store::{OpenError, SqliteStore};
use toolcrib_testkit::conformance::{conversation, message, run};

#[cfg(unix)]
#[tokio::test]
async fn file_and_folders_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/store.db");
    let store = SqliteStore::open(&path).unwrap();
    store.put_value("a", "b").await.unwrap();
    assert_eq!(store.value("a").await.unwrap().as_deref(), Some("b"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.path().join("a")), 0o700);
    assert_eq!(mode(&folder.path().join("a/b")), 0o700);
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        assert_eq!(mode(&folder.path().join("a/b").join(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn the_last_handle_writes_what_is_queued_and_closes_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let talk = conversation("ann");
    let mut now = run(&talk);
    // These writes are not awaited.
    drop(store.put_conversation(talk.clone()));
    for round in 0..200 {
        now.updated_at = 1_000 + round;
        store.clone().checkpoint(now.clone(), vec![message(round.unsigned_abs(), "x".into())]);
    }
    assert_eq!(store.value("none").await, Ok(None));
    drop(store);
    let mut left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["store.db", "store.db.reserve"], "the log is folded into the file");
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.run(now.id).await, Ok(Some(now)));
    assert_eq!(store.messages(talk.id, 0).await.unwrap().len(), 200);
}

/// Everything in a folder, with contents and names.
fn contents(folder: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let mut all: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap()))
        .collect();
    all.sort();
    all
}

fn check_refused(make: impl FnOnce(&Path), words: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    make(&path);
    let before = contents(folder.path());
    let error = SqliteStore::open(&path).err().unwrap().to_string();
    assert!(error.contains(words) && error.contains("store.db"), "{error}");
    assert_eq!(contents(folder.path()), before, "left untouched after: {error}");
}

#[test]
fn files_that_are_not_ours_are_refused_and_left_untouched() {
    let other = "a database of another application";
    let none = "not an SQLite database";
    check_refused(|path| fs::write(path, "h").unwrap(), none);
    check_refused(|path| fs::write(path, "# notes\n".repeat(2_000)).unwrap(), none);
    check_refused(|path| fs::write(path, vec![0; 8_192]).unwrap(), none);
    check_refused(|path| fs::write(path, b"SQLite format 3\0").unwrap(), none);
    let plain = |sql: &'static str| {
        move |path: &Path| Connection::open(path).unwrap().execute_batch(sql).unwrap()
    };
    check_refused(plain("CREATE TABLE t (x)"), other);
    check_refused(plain("PRAGMA journal_mode = WAL; CREATE TABLE t (x)"), other);
    check_refused(plain("PRAGMA application_id = 7; PRAGMA user_version = 1"), other);
    let newest =
        fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/migrations")).unwrap().count();
    check_refused(
        |path| {
            drop(SqliteStore::open(path).unwrap());
            plain("PRAGMA user_version = 1000")(path);
        },
        &format!(
            "has version 1000, this Toolcrib knows versions up to {newest}: use a newer Toolcrib"
        ),
    );
}

#[test]
fn a_path_that_cannot_be_a_store_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "x").unwrap();
    for path in ["", "file/store.db"] {
        let opened = SqliteStore::open(&folder.path().join(path));
        assert!(matches!(opened, Err(OpenError::Io { .. })), "{path:?}");
    }
}

#[tokio::test]
async fn a_path_that_looks_like_a_uri_is_a_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file:x?mode=memory#y");
    let store = SqliteStore::open(&path).unwrap();
    store.put_value("a", "b").await.unwrap();
    drop(store);
    assert!(fs::metadata(&path).unwrap().len() > 0);
}

#[tokio::test]
async fn a_file_that_was_only_created_is_a_new_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fs::write(&path, "").unwrap();
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.value("a").await, Ok(None));
}

#[tokio::test]
async fn a_spoiled_row_is_an_error_of_its_reader_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    // A row is damaged: reading it returns a clear error, and other rows are unaffected.
    let talk = conversation("ann");
    store.put_conversation(talk.clone()).await.unwrap();
    store.put_messages(talk.id, vec![message(0, "good".into())]).await.unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute("UPDATE messages SET body = '{'", []).unwrap();
    let answer = store.messages(talk.id, 0).await;
    assert!(matches!(&answer, Err(StoreError::Failed(words)) if words.contains("cannot be")));
    assert_eq!(store.conversation(talk.id).await, Ok(Some(talk)));
}
