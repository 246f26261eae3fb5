//! Fault tests of the SQLite store: locked, full and failing disks, missing files and damage. The
//! store reports the problem, loses nothing that it acknowledged, and recovers where it can.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use toolcrib_core::{
    CallStore, ConversationAndRunStore, ConversationStore, Effect, Intent, KeyValueStore, RunStore,
    StoreError,
};
use toolcrib_store::{ExclusiveLock, Inspection, OpenError, SqliteStore, StoreOptions};
use toolcrib_testkit::conformance::{
    conversation, end_with, intent, message, outcome, run, settlement,
};

use crate::audit::verified;
use crate::processes::start;

/// A separate small file system, if this user may mount one.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    fn mount(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={size}");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(folder.path())
            .output();
        mounted.is_ok_and(|done| done.status.success()).then_some(Self { folder })
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("state/store.db")
    }

    /// Fills all free space.
    fn fill(&self) -> PathBuf {
        use std::io::Write;
        let path = self.folder.path().join("filler");
        let mut file = fs::File::create(&path).unwrap();
        for size in [65_536, 4_096, 1] {
            while file.write_all(&vec![1; size]).is_ok() {}
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).output();
    }
}

/// Waits for an answer within the required time.
async fn soon<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = ask().await {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(5), "it took more than 5 s");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn on_a_full_disk_what_runs_still_ends_and_nothing_new_begins() {
    let Some(disk) = SmallDisk::mount("16m") else { return };
    let store = SqliteStore::open(&disk.store()).unwrap();
    let epoch = store.claim().await.unwrap();
    // The reserve is created during the first writes.
    soon(async || disk.store().with_extension("db.reserve").exists().then_some(())).await;
    let filler = disk.fill();
    let mut running = Vec::new();
    let refused = loop {
        let begun = intent(Effect::SideEffect, epoch);
        match store.begin(begun.clone()).await {
            Ok(()) => running.push(begun),
            Err(error) => break error,
        }
        assert!(running.len() < 20_000, "the disk never got full");
    };
    assert!(matches!(refused, StoreError::Full(_)), "{refused:?}");
    assert!(refused.to_string().starts_with("the disk is full"), "{refused}");
    for effect in [Effect::SideEffect, Effect::Read] {
        let refused = store.begin(intent(effect, epoch)).await;
        assert!(matches!(refused, Err(StoreError::Full(_))), "{effect:?}: {refused:?}");
    }
    assert!(matches!(store.put_value("a", "b").await, Err(StoreError::Full(_))));
    // Running calls get their outcome, and reads continue.
    let last = running.split_off(running.len().saturating_sub(40));
    for begun in &last {
        let kept = outcome(&begun.facts, Ok("x".repeat(10_000).into()));
        let end = end_with(begun.facts.clone(), Some(1_500), epoch, &kept);
        store.settle(end).await.unwrap();
        assert!(store.call(begun.facts.call).await.unwrap().unwrap().outcome.is_some());
    }
    assert_eq!(store.open_calls().await.unwrap().len(), running.len());
    fs::remove_file(filler).unwrap();
    let next = soon(async || {
        let begun = intent(Effect::SideEffect, epoch);
        store.begin(begun.clone()).await.ok().map(|()| begun)
    })
    .await;
    store.settle(settlement(next.facts, Some(1_500), epoch)).await.unwrap();
    verified(&store).await;
    drop(store);
    assert_eq!(integrity(&disk.store()), "ok");
    assert!(disk.store().with_extension("db.reserve").exists(), "it is made again");
}

#[tokio::test]
async fn a_store_that_finds_no_space_is_opened_with_the_reserve() {
    let Some(disk) = SmallDisk::mount("16m") else { return };
    let path = disk.store();
    let reserve = path.with_extension("db.reserve");
    let store = SqliteStore::open(&path).unwrap();
    store.put_value("a", "b").await.unwrap();
    drop(store);
    assert!(reserve.exists());
    // The last connection ends on a separate thread and removes its log and then the index of the
    // log, which frees space for the next.
    let files = ["db-wal", "db-shm"].map(|extension| path.with_extension(extension));
    soon(async || files.iter().all(|file| !file.exists()).then_some(())).await;
    let filler = disk.fill();
    let store = SqliteStore::open(&path).unwrap();
    assert!(!reserve.exists());
    assert_eq!(store.value("a").await.unwrap().as_deref(), Some("b"));
    // A process claims the store and ends the open work of others; calls that may change something
    // do not run.
    let epoch = store.claim().await.unwrap();
    store.recover(epoch, 1).await.unwrap();
    let refused = store.begin(intent(Effect::SideEffect, epoch)).await.unwrap_err();
    assert!(matches!(refused, StoreError::Full(_)), "{refused}");
    for words in ["no record is lost", "as soon as there is space"] {
        assert!(refused.to_string().contains(words), "{refused}");
    }
    assert!(Inspection::read(&path).unwrap().problems.is_empty());
    fs::remove_file(filler).unwrap();
    soon(async || store.begin(intent(Effect::SideEffect, epoch)).await.ok()).await;
    assert!(reserve.exists());
}

/// A database with a page in the middle that no claim and no call touches.
async fn with_unread_pages(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    for at in 0..200 {
        store.put_value(&format!("fact {at}"), &"words ".repeat(100)).await.unwrap();
    }
}

/// Overwrites two of the last pages.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let from = bytes.len() - 3 * 4_096;
    bytes[from..from + 8_192].fill(0xff);
    fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn damage_of_a_page_that_is_not_read_is_found_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    with_unread_pages(&path).await;
    damage(&path);
    let later = SqliteStore::open(&path).unwrap();
    later.claim().await.unwrap();
    drop(later);
    let options = StoreOptions { check_after: Some(Duration::ZERO), ..StoreOptions::default() };
    let store = SqliteStore::open_with(&path, options).unwrap();
    let found = soon(async || store.claim().await.err()).await;
    for words in ["the database is damaged", "toolcrib restore"] {
        assert!(found.to_string().contains(words), "{found}");
    }
}

#[tokio::test]
async fn after_an_unclean_end_the_database_is_checked_before_it_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let (path, left) = (folder.path().join("store.db"), folder.path().join("left.db"));
    let log = |path: &Path| path.with_extension("db-wal");
    with_unread_pages(&path).await;
    let store = SqliteStore::open(&path).unwrap();
    store.claim().await.unwrap();
    // The files as a process leaves them that is killed.
    fs::copy(&path, &left).unwrap();
    fs::copy(log(&path), log(&left)).unwrap();
    assert!(fs::metadata(log(&left)).unwrap().len() > 0);
    drop(store);
    let copy = |name: &str| {
        let copy = folder.path().join(name);
        fs::copy(&left, &copy).unwrap();
        fs::copy(log(&left), log(&copy)).unwrap();
        copy
    };
    SqliteStore::open(&copy("sound.db")).unwrap();
    let harmed = copy("harmed.db");
    damage(&harmed);
    assert!(matches!(SqliteStore::open(&harmed), Err(OpenError::Damaged { .. })));
}

fn integrity(path: &Path) -> String {
    let conn = Connection::open(path).unwrap();
    conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_read_only_file_system_is_one_clear_line() {
    let Some(disk) = SmallDisk::mount("16m") else { return };
    drop(SqliteStore::open(&disk.store()).unwrap());
    let remounted =
        Command::new("mount").args(["-o", "remount,ro"]).arg(disk.folder.path()).output().unwrap();
    assert!(remounted.status.success(), "{remounted:?}");
    for path in [disk.store(), disk.folder.path().join("new/store.db")] {
        let error = SqliteStore::open(&path).err().unwrap();
        assert!(matches!(error, OpenError::ReadOnly { .. }), "{error:?}");
        let words = error.to_string();
        assert!(words.contains("store.db") && words.contains("read-only"), "{words}");
    }
}

#[test]
fn a_disk_without_room_is_no_place_for_a_new_store() {
    let Some(disk) = SmallDisk::mount("1m") else { return };
    let filler = disk.fill();
    let error = SqliteStore::open(&disk.store()).err().unwrap();
    assert!(matches!(error, OpenError::Full { .. }), "{error:?}");
    fs::remove_file(filler).unwrap();
    // The store opens completely, although there is no room for a reserve.
    drop(SqliteStore::open(&disk.store()).unwrap());
}

#[tokio::test]
async fn a_database_that_others_keep_locked_is_busy_and_then_free() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let busy = Some(Duration::from_millis(200));
    let store =
        SqliteStore::open_with(&path, StoreOptions { busy, ..StoreOptions::default() }).unwrap();
    let epoch = store.claim().await.unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let start = Instant::now();
    let error = store.begin(intent(Effect::SideEffect, epoch)).await.unwrap_err();
    assert!(start.elapsed() < Duration::from_millis(1_200), "{:?}", start.elapsed());
    assert!(matches!(error, StoreError::Busy(_)), "{error:?}");
    let words = error.to_string().to_lowercase();
    assert!(!words.contains("sqlite") && words.contains("another process"), "{words}");
    assert_eq!(store.open_calls().await, Ok(vec![]), "reads do not wait");
    other.execute_batch("ROLLBACK").unwrap();
    store.begin(intent(Effect::SideEffect, epoch)).await.unwrap();
}

#[tokio::test]
async fn a_lock_that_outlasts_the_wait_neither_loses_an_outcome_nor_stops_a_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let busy = Some(Duration::from_millis(100));
    let store =
        SqliteStore::open_with(&path, StoreOptions { busy, ..StoreOptions::default() }).unwrap();
    let epoch = store.claim().await.unwrap();
    let begun = intent(Effect::SideEffect, epoch);
    store.begin(begun.clone()).await.unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let late = store.settle(settlement(begun.facts.clone(), Some(1_500), epoch)).await;
    assert!(matches!(late, Err(StoreError::Busy(_))), "{late:?}");
    // An unawaited write waits for the lock, but the read does not.
    store.begin(intent(Effect::Read, epoch)).await.unwrap();
    let open = store.open_calls().await.unwrap();
    assert_eq!(open.iter().map(|row| row.facts.call).collect::<Vec<_>>(), [begun.facts.call]);
    let ended = store.release(epoch).await;
    assert!(matches!(ended, Err(StoreError::Busy(_))), "{ended:?}");
    other.execute_batch("ROLLBACK").unwrap();
    drop(store);
    let store = SqliteStore::open(&path).unwrap();
    let end = store.call(begun.facts.call).await.unwrap().unwrap().row.end;
    assert_eq!(end, Some(settlement(begun.facts, Some(1_500), epoch).record.end));
    verified(&store).await;
}

async fn check_lost(harm: impl FnOnce(&Path), words: &str, writes: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let epoch = store.claim().await.unwrap();
    harm(&path);
    let error = soon(async || {
        if writes {
            store.begin(intent(Effect::SideEffect, epoch)).await.err()
        } else {
            store.open_calls().await.err()
        }
    })
    .await;
    assert!(matches!(&error, StoreError::Failed(said) if said.contains(words)), "{error:?}");
    // The file does not reappear, and the store neither writes to the deleted file nor reads
    // another one.
    let after = store.begin(intent(Effect::Read, epoch)).await;
    assert!(matches!(after, Err(StoreError::Failed(_))), "{after:?}");
    assert!(store.open_calls().await.is_err() && store.put_value("a", "b").await.is_err());
}

#[tokio::test]
async fn a_file_that_is_taken_away_is_found_in_time() {
    let log = |path: &Path| fs::remove_file(path.with_extension("db-wal")).unwrap();
    let away = |path: &Path| fs::rename(path, path.with_extension("away")).unwrap();
    let replaced = |path: &Path| {
        let copy = path.with_extension("copy");
        fs::copy(path, &copy).unwrap();
        fs::rename(copy, path).unwrap();
    };
    // With writes the loss is detected before a commit, without them by a thread that checks.
    let (gone, other) = ("was deleted or moved away", "was replaced");
    tokio::join!(
        check_lost(log, gone, true),
        check_lost(away, gone, true),
        check_lost(replaced, other, true),
        check_lost(away, gone, false),
        check_lost(log, gone, false),
    );
}

/// A store with rows of every kind, closed.
fn used(path: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = SqliteStore::open(path).unwrap();
    runtime.block_on(async {
        let epoch = store.claim().await.unwrap();
        let talk = conversation("ann");
        store.put_conversation(talk.clone()).await.unwrap();
        for round in 0..20 {
            let now = run(&talk);
            store.checkpoint(now.clone(), vec![message(round, "m".repeat(500).into())]);
            let begun = intent(Effect::SideEffect, epoch);
            store.begin(begun.clone()).await.unwrap();
            if round % 4 > 0 {
                store.settle(settlement(begun.facts, Some(1_500), epoch)).await.unwrap();
            }
        }
        store.put_value("a", "b").await.unwrap();
    });
}

/// Uses a store that may be damaged: everything answers, in words where it cannot do better.
fn use_all(store: &SqliteStore) -> Vec<StoreError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut errors = Vec::new();
        let mut note = |error: Option<StoreError>| errors.extend(error);
        note(store.open_calls().await.err());
        note(store.runs("ann", None, 100).await.err());
        note(store.conversations("ann", 100).await.err());
        note(store.value("a").await.err());
        note(toolcrib_core::AuditStore::records(store, 1, 0, 1_000).await.err());
        match store.claim().await {
            Ok(epoch) => {
                note(store.recover(epoch, 5_000).await.err());
                let begun: Intent = intent(Effect::SideEffect, epoch);
                note(store.begin(begun.clone()).await.err());
                note(store.settle(settlement(begun.facts, Some(1_500), epoch)).await.err());
            }
            Err(error) => note(Some(error)),
        }
        errors
    })
}

/// Pseudorandom numbers with a fixed seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }
}

#[test]
fn a_flipped_byte_never_ends_in_a_panic_or_an_empty_store() {
    let folder = tempfile::tempdir().unwrap();
    let original = folder.path().join("store.db");
    used(&original);
    let bytes = fs::read(&original).unwrap();
    let mut numbers = Numbers(7);
    let (mut refused, mut failed) = (0, 0);
    for round in 0..200 {
        let place = folder.path().join(format!("copy{round}"));
        fs::create_dir(&place).unwrap();
        let path = place.join("store.db");
        let mut copy = bytes.clone();
        // Half of them where it hurts most: in the header.
        let bound = if round % 2 == 0 { copy.len() } else { 100 };
        let at = numbers.below(bound);
        copy[at] ^= 1 << numbers.below(8);
        fs::write(&path, &copy).unwrap();
        match SqliteStore::open(&path) {
            Err(error) => {
                refused += 1;
                let words = error.to_string();
                assert!(words.contains("store.db"), "byte {at}: {words}");
                assert_eq!(fs::read(&path).unwrap(), copy, "byte {at} was left as it was");
            }
            Ok(store) => {
                let errors = use_all(&store);
                failed += usize::from(!errors.is_empty());
                drop(store);
                assert!(fs::metadata(&path).unwrap().len() >= bytes.len() as u64, "byte {at}");
            }
        }
        fs::remove_dir_all(place).unwrap();
    }
    assert!(refused > 5 && failed > 5, "{refused} refused, {failed} failed");
}

#[test]
fn a_truncated_file_is_refused_or_fails_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    used(&path);
    let bytes = fs::read(&path).unwrap();
    for length in [0, 1, 50, 100, 512, 4_095, 4_096, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&path, &bytes[..length]).unwrap();
        let words = match SqliteStore::open(&path) {
            Err(error) => {
                assert_eq!(fs::read(&path).unwrap(), bytes[..length], "{length}");
                error.to_string()
            }
            Ok(store) => {
                let errors = use_all(&store);
                assert!(!errors.is_empty(), "{length} bytes of {} were enough", bytes.len());
                errors[0].to_string()
            }
        };
        let says = ["damaged", "not an SQLite database", "another application"];
        assert!(says.iter().any(|say| words.contains(say)), "{length}: {words}");
    }
}

#[test]
fn the_second_owner_is_told_about_the_first() {
    const OWNED: &str = "TOOLCRIB_TEST_OWNED";
    if let Some(path) = std::env::var_os(OWNED) {
        let error = ExclusiveLock::acquire(Path::new(&path)).unwrap_err();
        println!("\nsaid {error}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let held = ExclusiveLock::acquire(&path).unwrap();
    let ask = || {
        let child = start("faults::the_second_owner_is_told_about_the_first", OWNED, &path);
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    let said = ask();
    assert!(said.contains(&format!("in use by process {}", std::process::id())), "{said}");
    drop(held);
    ExclusiveLock::acquire(&path).unwrap();
}

/// A library that lets every sync of this process fail while a file is there.
#[cfg(target_os = "linux")]
const BAD_DISK: &str = r#"
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static int sync_of(int fd, long number) {
    const char *flag = getenv("TOOLCRIB_TEST_BAD_DISK");
    if (flag && access(flag, F_OK) == 0) { errno = EIO; return -1; }
    return (int)syscall(number, fd);
}
int fsync(int fd) { return sync_of(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_of(fd, SYS_fdatasync); }
"#;

#[cfg(target_os = "linux")]
#[test]
fn a_failed_sync_is_the_end_of_the_store() {
    const ROLE: &str = "TOOLCRIB_TEST_BAD_SYNC";
    const FLAG: &str = "TOOLCRIB_TEST_BAD_DISK";
    if let Some(path) = std::env::var_os(ROLE) {
        let flag = std::env::var_os(FLAG).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(write_on_a_bad_disk(Path::new(&path), Path::new(&flag)));
        println!("\nheld");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (folder.path().join("bad.c"), folder.path().join("bad.so"));
    fs::write(&source, BAD_DISK).unwrap();
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).output();
    // SQLite itself is built with it, so it is there wherever this is built.
    assert!(built.unwrap().status.success());
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "faults::a_failed_sync_is_the_end_of_the_store", "--nocapture"])
        .env("LD_PRELOAD", &library)
        .env(FLAG, folder.path().join("flag"))
        .env(ROLE, folder.path().join("store.db"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned();
    assert!(said.contains("\nheld"), "{said}{}", String::from_utf8_lossy(&child.stderr));
    assert_eq!(integrity(&folder.path().join("store.db")), "ok");
}

#[cfg(target_os = "linux")]
async fn write_on_a_bad_disk(path: &Path, flag: &Path) {
    let store = SqliteStore::open(path).unwrap();
    let epoch = store.claim().await.unwrap();
    let first = intent(Effect::SideEffect, epoch);
    store.begin(first.clone()).await.unwrap();
    fs::write(flag, "").unwrap();
    let end = settlement(first.facts.clone(), Some(1_500), epoch);
    let error = store.settle(end.clone()).await.unwrap_err();
    assert!(
        matches!(&error, StoreError::Failed(words) if words.contains("disk failed")),
        "{error}"
    );
    // The disk may report success again, but earlier writes may still be lost.
    fs::remove_file(flag).unwrap();
    for effect in [Effect::SideEffect, Effect::Read] {
        let answer = store.begin(intent(effect, epoch)).await;
        assert!(matches!(answer, Err(StoreError::Failed(_))), "{answer:?}");
    }
    assert!(store.settle(end).await.is_err() && store.put_value("a", "b").await.is_err());
    // Another process that opens the store sees the existing data.
    let again = SqliteStore::open(path).unwrap();
    assert!(again.call(first.facts.call).await.unwrap().is_some());
}

#[cfg(feature = "failpoints")]
#[test]
fn a_migration_that_is_killed_at_any_step_leaves_a_store_that_opens() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    const ROLE: &str = "TOOLCRIB_TEST_MIGRATE";
    const STEP: &str = "TOOLCRIB_TEST_MIGRATE_STEP";
    if let Some(path) = std::env::var_os(ROLE) {
        let step: usize = std::env::var(STEP).unwrap().parse().unwrap();
        let seen = AtomicUsize::new(0);
        fail::cfg_callback("migrate", move || {
            if seen.fetch_add(1, Ordering::Relaxed) == step {
                std::process::abort();
            }
        })
        .unwrap();
        drop(SqliteStore::open(Path::new(&path)).unwrap());
        println!("\nall steps");
        return;
    }
    for step in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("faults::a_migration_that_is_killed_at_any_step_leaves_a_store_that_opens")
            .env(ROLE, &path)
            .env(STEP, step.to_string())
            .output()
            .unwrap();
        let was_killed = !child.status.success();
        assert!(was_killed || String::from_utf8_lossy(&child.stdout).contains("all steps"));
        used(&path);
        assert_eq!(integrity(&path), "ok");
        if !was_killed {
            assert!(step >= 3, "each migration is one step");
            return;
        }
    }
}
