//! Tests of artifacts on disk: private files, damage detection, quotas, expiry, and leftovers of
//! dead processes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::{
    ArtifactMeta, ArtifactStore, Clock, ConversationStore, RunId, RunStatus, RunStore, StoreError,
    StoredRun,
};
use toolcrib_store::{ArtifactLimits, Artifacts, SqliteStore};
use toolcrib_testkit::FakeClock;
use toolcrib_testkit::conformance::{conversation, new_artifact, put, run};

const DAY: i64 = 24 * 3600 * 1000;

struct World {
    folder: tempfile::TempDir,
    clock: Arc<FakeClock>,
    store: SqliteStore,
    artifacts: Artifacts,
}

impl World {
    fn new(limits: ArtifactLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("store.db")).unwrap();
        let clock = Arc::new(FakeClock::at(1_000));
        let artifacts = Artifacts::new(store.clone(), folder.path().join("files"), limits)
            .with_clock(Arc::clone(&clock) as Arc<dyn Clock>);
        Self { folder, clock, store, artifacts }
    }

    fn put(&self, bytes: &[u8]) -> ArtifactMeta {
        put(&self.artifacts, new_artifact("ann"), bytes).unwrap()
    }

    fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    fn file(&self, meta: &ArtifactMeta) -> PathBuf {
        self.files().join(&meta.artifact.0)
    }

    fn count(&self) -> usize {
        fs::read_dir(self.files()).unwrap().count()
    }

    fn is_there(&self, meta: &ArtifactMeta) -> bool {
        let row = self.artifacts.meta(&meta.artifact, "ann").unwrap().is_some();
        assert_eq!(row, self.file(meta).exists(), "a row without a file, or a file without a row");
        row
    }
}

fn world() -> World {
    World::new(ArtifactLimits::default())
}

/// Makes a file as old as an abandoned one.
fn age(path: &Path) {
    let old = SystemTime::now() - Duration::from_secs(61);
    File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
}

#[cfg(unix)]
#[test]
fn files_and_folder_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = world();
    let meta = world.put(b"secret");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&world.files()), mode(&world.file(&meta))), (0o700, 0o600));
}

#[test]
fn what_is_not_finished_leaves_no_file() {
    let world = world();
    let mut writer = world.artifacts.create(new_artifact("ann")).unwrap();
    writer.write(b"half").unwrap();
    assert_eq!(world.count(), 1);
    drop(writer);
    assert_eq!(world.count(), 0);
}

#[test]
fn damage_is_found_and_named() {
    for (spoil, words) in [
        ((|path| fs::remove_file(path).unwrap()) as fn(&Path), "its file is gone"),
        (|path| fs::write(path, b"hell").unwrap(), "its file has 4 bytes, not 5"),
        (|path| fs::write(path, b"hello!").unwrap(), "its file has 6 bytes, not 5"),
        (|path| fs::write(path, b"hullo").unwrap(), "its bytes are not those that were stored"),
    ] {
        let world = world();
        let (meta, other) = (world.put(b"hello"), world.put(b"whole"));
        spoil(&world.file(&meta));
        let error = world.artifacts.read(&meta.artifact, "ann", 0, 100).unwrap_err();
        let expected = format!("the artifact {} is damaged: {words}", meta.artifact);
        assert_eq!(error, StoreError::Failed(expected));
        assert_eq!(world.artifacts.read(&meta.artifact, "bob", 0, 100).unwrap(), None);
        assert!(world.artifacts.read(&other.artifact, "ann", 0, 100).unwrap().is_some());
        // Storing the same content again repairs it.
        world.put(b"hello");
        let read = world.artifacts.read(&meta.artifact, "ann", 0, 100).unwrap();
        assert_eq!(read.as_deref(), Some(b"hello".as_slice()));
    }
}

#[test]
fn quotas_refuse_what_is_too_much_and_expired_ones_make_room() {
    let limits = ArtifactLimits { owner_bytes: 10, run_bytes: 6, ..ArtifactLimits::default() };
    let world = World::new(limits);
    let of_run = |run, bytes: &[u8]| {
        put(&world.artifacts, NewArtifact { run, ..new_artifact("ann") }, bytes)
    };
    let refused = |made: Result<ArtifactMeta, StoreError>, whose: &str| {
        let Err(StoreError::Full(words)) = made else { panic!("{made:?}") };
        assert!(words.starts_with(whose), "{words}");
    };
    let run = Some(RunId::fresh());
    of_run(run, b"1234").unwrap();
    refused(of_run(run, b"567"), "the run has 4 bytes of artifacts, and 3 more");
    of_run(run, b"56").unwrap();
    // The same content again takes no more space.
    of_run(run, b"1234").unwrap();
    of_run(Some(RunId::fresh()), b"1234").unwrap();
    of_run(None, b"abcd").unwrap();
    refused(of_run(None, b"x"), "the owner has 10 bytes");
    put(&world.artifacts, new_artifact("bob"), b"other").unwrap();
    assert_eq!(world.count(), 4, "nothing is left of what was refused");
    world.clock.advance(DAY);
    of_run(None, b"x").unwrap();
    assert_eq!(world.count(), 1);
    assert_eq!(world.artifacts.list("ann", 10).unwrap().len(), 1);
}

#[test]
fn artifacts_end_after_their_time() {
    let world = world();
    let first = world.put(b"first");
    assert_eq!(first.expires_at, Some(1_000 + DAY));
    world.clock.advance(DAY / 2);
    let second = world.put(b"second");
    world.clock.advance(DAY / 2 - 1);
    world.artifacts.collect_garbage().unwrap();
    assert!(world.is_there(&first));
    world.clock.advance(1);
    world.artifacts.collect_garbage().unwrap();
    assert!(!world.is_there(&first) && world.is_there(&second));
    // Stored again, it gets a new expiry.
    world.put(b"second");
    world.clock.advance(DAY - 1);
    world.artifacts.collect_garbage().unwrap();
    assert!(world.is_there(&second));
}

#[tokio::test]
async fn a_run_that_is_not_over_keeps_what_it_made() {
    let world = world();
    let talk = conversation("ann");
    world.store.put_conversation(talk.clone()).await.unwrap();
    let [mut paused, mut running, ended] = [
        StoredRun { status: RunStatus::Paused, ..run(&talk) },
        run(&talk),
        StoredRun { status: RunStatus::Ended, ..run(&talk) },
    ];
    for row in [&paused, &running, &ended] {
        world.store.put_run(row.clone()).await.unwrap();
    }
    let make = |run: &StoredRun, bytes: &[u8]| {
        put(&world.artifacts, NewArtifact { run: Some(run.id), ..new_artifact("ann") }, bytes)
            .unwrap()
    };
    let [of_paused, of_running, of_ended] =
        [make(&paused, b"paused"), make(&running, b"running"), make(&ended, b"ended")];
    // Two runs created the same content; the newest of them has ended.
    let of_both = make(&paused, b"both");
    assert_eq!(make(&ended, b"both").run, Some(ended.id));
    let unknown = put(
        &world.artifacts,
        NewArtifact { run: Some(RunId::fresh()), ..new_artifact("ann") },
        b"of a run that is not stored",
    )
    .unwrap();
    world.clock.advance(10 * DAY);
    world.artifacts.collect_garbage().unwrap();
    let kept = |meta| world.is_there(meta);
    assert!(kept(&of_paused) && kept(&of_running) && kept(&of_both));
    assert!(!kept(&of_ended) && !kept(&unknown));
    paused.status = RunStatus::Ended;
    world.store.put_run(paused).await.unwrap();
    world.artifacts.collect_garbage().unwrap();
    assert!(!kept(&of_paused) && kept(&of_running) && !kept(&of_both));
    running.status = RunStatus::Ended;
    world.store.put_run(running).await.unwrap();
    world.artifacts.collect_garbage().unwrap();
    assert!(!kept(&of_running));
}

#[test]
fn a_sweep_removes_what_a_crash_left_behind() {
    let world = world();
    let (whole, lost) = (world.put(b"whole"), world.put(b"lost"));
    fs::remove_file(world.file(&lost)).unwrap();
    let at = |name: &str| world.files().join(name);
    let [old, young, partial, other] = [
        at("art_00000000000000000000000000000000"),
        at("art_11111111111111111111111111111111"),
        at("partial-0"),
        at("notes.txt"),
    ];
    for file in [&old, &young, &partial, &other] {
        fs::write(file, "x").unwrap();
    }
    for file in [&old, &partial, &other, &world.file(&whole)] {
        age(file);
    }
    world.artifacts.collect_garbage().unwrap();
    assert!(world.is_there(&whole) && !world.is_there(&lost));
    assert!(!old.exists() && !partial.exists(), "nobody's");
    assert!(young.exists() && other.exists(), "perhaps about to get its row, and not ours");
}

#[test]
fn a_sweep_leaves_files_that_are_still_written() {
    let world = world();
    let mut writer = world.artifacts.create(new_artifact("ann")).unwrap();
    writer.write(b"slow").unwrap();
    let partial = fs::read_dir(world.files()).unwrap().next().unwrap().unwrap().path();
    age(&partial);
    world.artifacts.collect_garbage().unwrap();
    let meta = writer.finish().unwrap();
    assert!(world.is_there(&meta));
}

#[test]
fn a_sweep_without_a_folder_is_one_of_nothing() {
    let world = world();
    world.artifacts.collect_garbage().unwrap();
    assert!(!world.files().exists());
}

#[test]
fn a_sweep_forgot_everything_when_the_folder_was_missing() {
    let world = world();
    let meta = world.put(b"kept");
    let away = world.folder.path().join("away");
    fs::rename(world.files(), &away).unwrap();
    let error = world.artifacts.collect_garbage().unwrap_err();
    assert!(error.to_string().contains("is missing"), "{error}");
    assert_eq!(world.artifacts.meta(&meta.artifact, "ann").unwrap(), Some(meta.clone()));
    fs::rename(away, world.files()).unwrap();
    world.artifacts.collect_garbage().unwrap();
    assert!(world.is_there(&meta));
}

#[test]
fn they_are_there_after_the_process() {
    let world = world();
    let meta = world.put(b"kept");
    let World { folder, store, artifacts, .. } = world;
    drop((store, artifacts));
    let store = SqliteStore::open(&folder.path().join("store.db")).unwrap();
    let again = Artifacts::new(store, folder.path().join("files"), ArtifactLimits::default());
    assert_eq!(again.meta(&meta.artifact, "ann").unwrap(), Some(meta.clone()));
    assert_eq!(
        again.read(&meta.artifact, "ann", 0, 9).unwrap().as_deref(),
        Some(b"kept".as_slice())
    );
}

#[test]
fn many_at_once_store_and_remove_the_same() {
    let world = world();
    let path = world.folder.path().join("store.db");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                // Like processes, separate handles share only the files.
                let store = SqliteStore::open(&path).unwrap();
                let mine = Artifacts::new(store, world.files(), ArtifactLimits::default());
                for n in 0..25_u8 {
                    let meta = put(&mine, new_artifact("ann"), &[n % 3]).unwrap();
                    if n % 2 == 0 {
                        mine.remove(&meta.artifact, "ann").unwrap();
                    } else {
                        let read = mine.read(&meta.artifact, "ann", 0, 1).unwrap();
                        assert!(read.is_none_or(|bytes| bytes == [n % 3]));
                    }
                }
            });
        }
    });
    for meta in world.artifacts.list("ann", 10).unwrap() {
        assert!(world.is_there(&meta));
    }
    assert_eq!(world.count(), world.artifacts.list("ann", 10).unwrap().len());
}

#[test]
fn a_sweep_on_its_own_thread_lets_go_of_the_store() {
    let World { folder, store, artifacts, .. } = world();
    let left = folder.path().join("files/art_00000000000000000000000000000000");
    fs::create_dir(folder.path().join("files")).unwrap();
    fs::write(&left, "x").unwrap();
    age(&left);
    let swept = artifacts.collect_garbage_in_background();
    while left.exists() {
        std::thread::yield_now();
    }
    let expected = put(&swept, new_artifact("ann"), b"kept").unwrap();
    drop((store, swept));
    // The last handle has closed the file.
    assert!(!folder.path().join("store.db-wal").exists());
    let again = SqliteStore::open(&folder.path().join("store.db")).unwrap();
    let again = Artifacts::new(again, folder.path().join("files"), ArtifactLimits::default());
    assert!(again.meta(&expected.artifact, "ann").unwrap().is_some());
}
