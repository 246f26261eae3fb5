//! Tests of the writer: jobs that share a commit fail independently.

use std::path::Path;
use std::sync::mpsc::Receiver;

use super::*;
use crate::error::Failure;

/// Returns a writer whose thread waits for a signal, so that everything sent before is one batch.
fn held() -> (Writer, Sender<()>) {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch("CREATE TABLE t (x INTEGER PRIMARY KEY, y TEXT) STRICT").unwrap();
    let (go, wait) = channel();
    let first = move || wait.recv().map_err(io::Error::other);
    (Writer::start(conn, Settings::in_memory(Arc::default()), first).unwrap(), go)
}

type Told<T> = Receiver<Result<T, StoreError>>;

fn send<T: Send + 'static>(
    writer: &Writer,
    survives: Durability,
    work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
) -> Told<T> {
    let (tell, told) = channel();
    writer.send(Job::new(survives, work, move |result| tell.send(result).unwrap()));
    told
}

fn insert(x: i64, length: usize) -> impl FnOnce(&Connection) -> Result<(), Failure> {
    move |conn| {
        conn.execute("INSERT INTO t VALUES (?1, ?2)", (x, "y".repeat(length)))?;
        Ok(())
    }
}

fn kept(writer: &Writer) -> Vec<i64> {
    let told = send(writer, Durability::ProcessCrash, |conn| {
        let mut statement = conn.prepare("SELECT x FROM t ORDER BY x")?;
        Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    });
    told.recv().unwrap().unwrap()
}

#[test]
fn a_job_that_fails_takes_back_only_its_own_writes() {
    let (writer, go) = held();
    let first = send(&writer, Durability::ProcessCrash, insert(1, 1));
    let refused = send(&writer, Durability::ProcessCrash, |conn| {
        insert(2, 1)(conn)?;
        Err::<(), _>(StoreError::Missing("it".into()).into())
    });
    let doubled = send(&writer, Durability::ProcessCrash, |conn| {
        insert(3, 1)(conn)?;
        insert(1, 1)(conn)
    });
    let last = send(&writer, Durability::ProcessCrash, insert(4, 1));
    go.send(()).unwrap();
    assert_eq!(first.recv().unwrap(), Ok(()));
    assert_eq!(refused.recv().unwrap(), Err(StoreError::Missing("it".into())));
    assert!(matches!(doubled.recv().unwrap(), Err(StoreError::Failed(_))));
    assert_eq!(last.recv().unwrap(), Ok(()));
    assert_eq!(kept(&writer), [1, 4]);
}

#[test]
fn a_full_disk_fails_what_does_not_fit() {
    let (writer, go) = held();
    let limit = |pages: u32| {
        move |conn: &Connection| {
            Ok(conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?)
        }
    };
    let limited = send(&writer, Durability::ProcessCrash, limit(10));
    let small = send(&writer, Durability::ProcessCrash, insert(1, 1));
    let large = send(&writer, Durability::ProcessCrash, insert(2, 100_000));
    let after = send(&writer, Durability::ProcessCrash, insert(3, 1));
    go.send(()).unwrap();
    let (small, large, after) =
        (small.recv().unwrap(), large.recv().unwrap(), after.recv().unwrap());
    // The page limit itself is not transactional.
    drop(limited.recv());
    assert!(matches!(&large, Err(StoreError::Full(_))), "{large:?}");
    // SQLite may roll back the whole transaction; then no job may report success.
    let told: Vec<i64> =
        [(1, small), (3, after)].into_iter().filter(|(_, r)| r.is_ok()).map(|(x, _)| x).collect();
    assert_eq!(kept(&writer), told);
    send(&writer, Durability::ProcessCrash, limit(10_000)).recv().unwrap().unwrap();
    send(&writer, Durability::ProcessCrash, insert(4, 100_000)).recv().unwrap().unwrap();
    assert_eq!(kept(&writer).last(), Some(&4));
}

#[test]
fn a_transaction_that_is_gone_fails_the_whole_batch() {
    let (writer, go) = held();
    let before = send(&writer, Durability::ProcessCrash, insert(1, 1));
    let ends = send(&writer, Durability::ProcessCrash, |conn| Ok(conn.execute_batch("ROLLBACK")?));
    let after = send(&writer, Durability::ProcessCrash, insert(2, 1));
    go.send(()).unwrap();
    for told in [before, ends, after] {
        assert!(matches!(told.recv().unwrap(), Err(StoreError::Failed(_))));
    }
    assert_eq!(kept(&writer), [] as [i64; 0]);
    send(&writer, Durability::ProcessCrash, insert(3, 1)).recv().unwrap().unwrap();
    assert_eq!(kept(&writer), [3]);
}

#[test]
fn a_batch_is_synced_if_one_of_it_must_survive_power_loss() {
    let level = |conn: &Connection| -> Result<i64, Failure> {
        Ok(conn.pragma_query_value(None, "synchronous", |row| row.get(0))?)
    };
    let (writer, go) = held();
    let first = send(&writer, Durability::ProcessCrash, level);
    let second = send(&writer, Durability::PowerLoss, level);
    go.send(()).unwrap();
    let (normal, full) = (1, 2);
    assert_eq!((first.recv().unwrap(), second.recv().unwrap()), (Ok(full), Ok(full)));
    assert_eq!(send(&writer, Durability::ProcessCrash, level).recv().unwrap(), Ok(normal));
    assert_eq!(send(&writer, Durability::PowerLoss, level).recv().unwrap(), Ok(full));
}

#[test]
fn what_cannot_be_begun_safely_is_never_answered_with_success() {
    let conn = Connection::open_in_memory().unwrap();
    let settings = Settings::in_memory(Arc::default());
    let writer = Writer::start(conn, settings, || Err(io::Error::other("no disk"))).unwrap();
    for _ in 0..2 {
        let told = send(&writer, Durability::ProcessCrash, |_| Ok(()));
        assert_eq!(told.recv().unwrap(), Err(StoreError::Failed("no disk".into())));
    }
}

#[test]
fn dropping_the_writer_finishes_what_is_queued() {
    let (writer, go) = held();
    let told: Vec<_> =
        (0..600).map(|x| send(&writer, Durability::ProcessCrash, insert(x, 1))).collect();
    go.send(()).unwrap();
    drop(writer);
    assert!(told.iter().all(|told| told.try_recv().unwrap() == Ok(())));
}

#[test]
fn a_writer_that_waits_for_the_disk_blocks_no_reader() {
    let (writer, go) = held();
    let (tell, told) = channel();
    let sends = std::thread::spawn(move || {
        let told: Vec<_> =
            (0..5_000).map(|x| send(&writer, Durability::ProcessCrash, insert(x, 1))).collect();
        tell.send(()).unwrap();
        (writer, told)
    });
    let sent = told.recv_timeout(std::time::Duration::from_secs(20));
    go.send(()).unwrap();
    assert!(sent.is_ok(), "sending waited for the disk");
    let (writer, told) = sends.join().unwrap();
    drop(writer);
    assert!(told.iter().all(|told| told.try_recv().unwrap() == Ok(())));
}

fn outcome(
    writer: &Writer,
    work: impl Fn(&Connection) -> Result<(), Failure> + Send + 'static,
) -> Told<()> {
    let (tell, told) = channel();
    let answer = move |result| tell.send(result).unwrap();
    writer.send(Job::reserved(OnFullDisk::Keep, Durability::ProcessCrash, work, answer));
    told
}

#[test]
fn on_a_full_disk_outcomes_are_written_out_of_the_reserve() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    DiskReserve::for_database(&path).create().unwrap();
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch("CREATE TABLE t (x INTEGER PRIMARY KEY, y TEXT) STRICT").unwrap();
    let (go, wait) = channel();
    let disk =
        Some((Arc::new(DatabaseFiles::for_database(&path)), DiskReserve::for_database(&path)));
    let settings = Settings { disk, ..Settings::in_memory(Arc::default()) };
    let writer =
        Writer::start(conn, settings, move || wait.recv().map_err(io::Error::other)).unwrap();
    let full = || StoreError::Full("no room".into());
    let (reserve, no_room) = (DiskReserve::for_database(&path), full());
    // There is space as soon as the reserve is released.
    let ended = outcome(&writer, move |conn| match reserve.exists() {
        true => Err(no_room.clone().into()),
        false => insert(1, 1)(conn),
    });
    let other = send(&writer, Durability::ProcessCrash, insert(2, 1));
    let began = send(&writer, Durability::ProcessCrash, move |_| Err::<(), _>(full().into()));
    go.send(()).unwrap();
    assert_eq!(began.recv().unwrap(), Err(StoreError::Full("no room".into())));
    assert_eq!((ended.recv().unwrap(), other.recv().unwrap()), (Ok(()), Ok(())));
    // Another process took the space: only outcomes are written.
    std::fs::create_dir(folder.path().join("store.db.reserve")).unwrap();
    let refused = send(&writer, Durability::ProcessCrash, insert(3, 1)).recv().unwrap();
    assert!(matches!(refused, Err(StoreError::Full(_))), "{refused:?}");
    assert_eq!(outcome(&writer, |conn| insert(4, 1)(conn)).recv().unwrap(), Ok(()));
    std::fs::remove_dir(folder.path().join("store.db.reserve")).unwrap();
    let start = std::time::Instant::now();
    while send(&writer, Durability::ProcessCrash, insert(5, 1)).recv().unwrap().is_err() {
        assert!(start.elapsed() < Duration::from_secs(5));
    }
    assert!(DiskReserve::for_database(&path).exists());
    assert_eq!(kept(&writer), [1, 2, 4, 5]);
}

/// Returns a writer on a file, so that another connection can lock the database.
fn on_disk(path: &Path) -> Writer {
    let conn = Connection::open(path).unwrap();
    conn.execute_batch(
        "PRAGMA journal_mode = WAL;
        CREATE TABLE IF NOT EXISTS t (x INTEGER PRIMARY KEY, y TEXT) STRICT",
    )
    .unwrap();
    conn.busy_timeout(Duration::from_millis(20)).unwrap();
    Writer::start(conn, Settings::in_memory(Arc::default()), || Ok(())).unwrap()
}

#[test]
fn an_outcome_that_found_the_database_locked_was_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let writer = on_disk(&path);
    assert_eq!(kept(&writer), [] as [i64; 0]);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Waiting callers are answered at once; jobs that are not outcomes are refused permanently.
    for x in [1, 2] {
        let refused = outcome(&writer, move |conn| insert(x, 1)(conn)).recv().unwrap();
        assert!(matches!(refused, Err(StoreError::Busy(_))), "{refused:?}");
    }
    let refused = send(&writer, Durability::ProcessCrash, insert(3, 1)).recv().unwrap();
    assert!(matches!(refused, Err(StoreError::Busy(_))), "{refused:?}");
    other.execute_batch("ROLLBACK").unwrap();
    // Stored outcomes are written before later jobs.
    let doubled = send(&writer, Durability::ProcessCrash, insert(1, 1)).recv().unwrap();
    assert!(matches!(doubled, Err(StoreError::Failed(_))), "{doubled:?}");
    assert_eq!(kept(&writer), [1, 2]);
    // An outcome that is refused for another reason is not retried.
    let doubled = outcome(&writer, |conn| insert(2, 1)(conn)).recv().unwrap();
    assert!(matches!(doubled, Err(StoreError::Failed(_))), "{doubled:?}");
    send(&writer, Durability::ProcessCrash, |conn| Ok(conn.execute_batch("DELETE FROM t")?))
        .recv()
        .unwrap()
        .unwrap();
    assert_eq!(kept(&writer), [] as [i64; 0]);
}

#[test]
fn an_outcome_that_found_the_database_locked_is_written_when_it_closes_or_nothing_else_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let other = Connection::open(&path).unwrap();
    let count = || other.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0));
    let refuse_one = |x: i64| {
        let writer = on_disk(&path);
        assert!(!kept(&writer).contains(&x));
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let refused = outcome(&writer, move |conn| insert(x, 1)(conn)).recv().unwrap();
        assert!(matches!(refused, Err(StoreError::Busy(_))), "{refused:?}");
        other.execute_batch("ROLLBACK").unwrap();
        writer
    };
    drop(refuse_one(1));
    assert_eq!(count(), Ok(1));
    let writer = refuse_one(2);
    let start = std::time::Instant::now();
    while count() != Ok(2) {
        assert!(start.elapsed() < Duration::from_secs(5), "nobody tried again");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(writer);
    assert_eq!(count(), Ok(2));
}

#[test]
fn an_outcome_that_found_no_room_was_lost() {
    let (writer, go) = held();
    go.send(()).unwrap();
    let limit = |pages: u32| {
        send(&writer, Durability::ProcessCrash, move |conn| {
            Ok(conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?)
        })
    };
    drop(limit(10).recv());
    let refused = outcome(&writer, |conn| insert(1, 100_000)(conn)).recv().unwrap();
    assert!(matches!(refused, Err(StoreError::Full(_))), "{refused:?}");
    // It does not make outcomes fail that fit.
    assert_eq!(outcome(&writer, |conn| insert(2, 1)(conn)).recv().unwrap(), Ok(()));
    assert_eq!(kept(&writer), [2]);
    drop(limit(10_000).recv());
    send(&writer, Durability::ProcessCrash, insert(3, 1)).recv().unwrap().unwrap();
    assert_eq!(kept(&writer), [1, 2, 3]);
}
