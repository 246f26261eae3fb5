//! Jobs that share a commit: what one does wrong is its own matter.

use std::path::Path;
use std::sync::mpsc::Receiver;

use super::*;
use crate::error::Failure;

/// A writer whose thread waits until it is let go, so that everything sent before is one batch.
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
    survives: Survives,
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
    let told = send(writer, Survives::Kill, |conn| {
        let mut statement = conn.prepare("SELECT x FROM t ORDER BY x")?;
        Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    });
    told.recv().unwrap().unwrap()
}

#[test]
fn a_job_that_fails_takes_back_only_its_own_writes() {
    let (writer, go) = held();
    let first = send(&writer, Survives::Kill, insert(1, 1));
    let refused = send(&writer, Survives::Kill, |conn| {
        insert(2, 1)(conn)?;
        Err::<(), _>(StoreError::Missing("it".into()).into())
    });
    let doubled = send(&writer, Survives::Kill, |conn| {
        insert(3, 1)(conn)?;
        insert(1, 1)(conn)
    });
    let last = send(&writer, Survives::Kill, insert(4, 1));
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
    let limited = send(&writer, Survives::Kill, limit(10));
    let small = send(&writer, Survives::Kill, insert(1, 1));
    let large = send(&writer, Survives::Kill, insert(2, 100_000));
    let after = send(&writer, Survives::Kill, insert(3, 1));
    go.send(()).unwrap();
    let (small, large, after) =
        (small.recv().unwrap(), large.recv().unwrap(), after.recv().unwrap());
    // The limit itself is not part of a transaction.
    drop(limited.recv());
    assert!(matches!(&large, Err(StoreError::Full(_))), "{large:?}");
    // SQLite may give up the whole transaction; then nobody may have been told that it is written.
    let told: Vec<i64> =
        [(1, small), (3, after)].into_iter().filter(|(_, r)| r.is_ok()).map(|(x, _)| x).collect();
    assert_eq!(kept(&writer), told);
    send(&writer, Survives::Kill, limit(10_000)).recv().unwrap().unwrap();
    send(&writer, Survives::Kill, insert(4, 100_000)).recv().unwrap().unwrap();
    assert_eq!(kept(&writer).last(), Some(&4));
}

#[test]
fn a_transaction_that_is_gone_fails_the_whole_batch() {
    let (writer, go) = held();
    let before = send(&writer, Survives::Kill, insert(1, 1));
    let ends = send(&writer, Survives::Kill, |conn| Ok(conn.execute_batch("ROLLBACK")?));
    let after = send(&writer, Survives::Kill, insert(2, 1));
    go.send(()).unwrap();
    for told in [before, ends, after] {
        assert!(matches!(told.recv().unwrap(), Err(StoreError::Failed(_))));
    }
    assert_eq!(kept(&writer), [] as [i64; 0]);
    send(&writer, Survives::Kill, insert(3, 1)).recv().unwrap().unwrap();
    assert_eq!(kept(&writer), [3]);
}

#[test]
fn a_batch_is_synced_if_one_of_it_must_survive_power_loss() {
    let level = |conn: &Connection| -> Result<i64, Failure> {
        Ok(conn.pragma_query_value(None, "synchronous", |row| row.get(0))?)
    };
    let (writer, go) = held();
    let first = send(&writer, Survives::Kill, level);
    let second = send(&writer, Survives::PowerLoss, level);
    go.send(()).unwrap();
    let (normal, full) = (1, 2);
    assert_eq!((first.recv().unwrap(), second.recv().unwrap()), (Ok(full), Ok(full)));
    assert_eq!(send(&writer, Survives::Kill, level).recv().unwrap(), Ok(normal));
    assert_eq!(send(&writer, Survives::PowerLoss, level).recv().unwrap(), Ok(full));
}

#[test]
fn what_cannot_be_begun_safely_is_never_answered_with_success() {
    let conn = Connection::open_in_memory().unwrap();
    let settings = Settings::in_memory(Arc::default());
    let writer = Writer::start(conn, settings, || Err(io::Error::other("no disk"))).unwrap();
    for _ in 0..2 {
        let told = send(&writer, Survives::Kill, |_| Ok(()));
        assert_eq!(told.recv().unwrap(), Err(StoreError::Failed("no disk".into())));
    }
}

#[test]
fn dropping_the_writer_finishes_what_is_queued() {
    let (writer, go) = held();
    let told: Vec<_> = (0..600).map(|x| send(&writer, Survives::Kill, insert(x, 1))).collect();
    go.send(()).unwrap();
    drop(writer);
    assert!(told.iter().all(|told| told.try_recv().unwrap() == Ok(())));
}

#[test]
fn a_writer_that_waits_for_the_disk_blocks_nobody() {
    let (writer, go) = held();
    let (tell, told) = channel();
    let sends = std::thread::spawn(move || {
        let told: Vec<_> =
            (0..5_000).map(|x| send(&writer, Survives::Kill, insert(x, 1))).collect();
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
    writer.send(Job::outcome(Survives::Kill, work, answer));
    told
}

#[test]
fn on_a_full_disk_outcomes_are_written_out_of_the_reserve() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    Reserve::of(&path).make().unwrap();
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch("CREATE TABLE t (x INTEGER PRIMARY KEY, y TEXT) STRICT").unwrap();
    let (go, wait) = channel();
    let disk = Some((Arc::new(Place::of(&path)), Reserve::of(&path)));
    let settings = Settings { disk, ..Settings::in_memory(Arc::default()) };
    let writer =
        Writer::start(conn, settings, move || wait.recv().map_err(io::Error::other)).unwrap();
    let full = || StoreError::Full("no room".into());
    let (reserve, no_room) = (Reserve::of(&path), full());
    // There is room for it as soon as the reserve is given up.
    let ended = outcome(&writer, move |conn| match reserve.is_there() {
        true => Err(no_room.clone().into()),
        false => insert(1, 1)(conn),
    });
    let other = send(&writer, Survives::Kill, insert(2, 1));
    let began = send(&writer, Survives::Kill, move |_| Err::<(), _>(full().into()));
    go.send(()).unwrap();
    assert_eq!(began.recv().unwrap(), Err(StoreError::Full("no room".into())));
    assert_eq!((ended.recv().unwrap(), other.recv().unwrap()), (Ok(()), Ok(())));
    // Somebody else took the room: only outcomes are written.
    std::fs::create_dir(folder.path().join("store.db.reserve")).unwrap();
    let refused = send(&writer, Survives::Kill, insert(3, 1)).recv().unwrap();
    assert!(matches!(refused, Err(StoreError::Full(_))), "{refused:?}");
    assert_eq!(outcome(&writer, |conn| insert(4, 1)(conn)).recv().unwrap(), Ok(()));
    std::fs::remove_dir(folder.path().join("store.db.reserve")).unwrap();
    let start = std::time::Instant::now();
    while send(&writer, Survives::Kill, insert(5, 1)).recv().unwrap().is_err() {
        assert!(start.elapsed() < Duration::from_secs(5));
    }
    assert!(Reserve::of(&path).is_there());
    assert_eq!(kept(&writer), [1, 2, 4, 5]);
}

/// A writer on a file, whose database another connection can lock.
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
    // Whoever waits is told at once; what is no outcome is refused for good.
    for x in [1, 2] {
        let refused = outcome(&writer, move |conn| insert(x, 1)(conn)).recv().unwrap();
        assert!(matches!(refused, Err(StoreError::Busy(_))), "{refused:?}");
    }
    let refused = send(&writer, Survives::Kill, insert(3, 1)).recv().unwrap();
    assert!(matches!(refused, Err(StoreError::Busy(_))), "{refused:?}");
    other.execute_batch("ROLLBACK").unwrap();
    // They come before what is asked for later.
    let doubled = send(&writer, Survives::Kill, insert(1, 1)).recv().unwrap();
    assert!(matches!(doubled, Err(StoreError::Failed(_))), "{doubled:?}");
    assert_eq!(kept(&writer), [1, 2]);
    // One that is refused for another reason is not tried again.
    let doubled = outcome(&writer, |conn| insert(2, 1)(conn)).recv().unwrap();
    assert!(matches!(doubled, Err(StoreError::Failed(_))), "{doubled:?}");
    send(&writer, Survives::Kill, |conn| Ok(conn.execute_batch("DELETE FROM t")?))
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
        send(&writer, Survives::Kill, move |conn| {
            Ok(conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?)
        })
    };
    drop(limit(10).recv());
    let refused = outcome(&writer, |conn| insert(1, 100_000)(conn)).recv().unwrap();
    assert!(matches!(refused, Err(StoreError::Full(_))), "{refused:?}");
    // It takes down nothing that fits.
    assert_eq!(outcome(&writer, |conn| insert(2, 1)(conn)).recv().unwrap(), Ok(()));
    assert_eq!(kept(&writer), [2]);
    drop(limit(10_000).recv());
    send(&writer, Survives::Kill, insert(3, 1)).recv().unwrap().unwrap();
    assert_eq!(kept(&writer), [1, 2, 3]);
}
