//! The stores on disk do what every store does.

use proptest::prelude::*;
use toolcrib_store::SqliteStore;
use toolcrib_testkit::conformance::{self, Stores};

/// In memory, and in a file.
async fn check(suite: impl AsyncFn(&SqliteStore)) {
    suite(&SqliteStore::in_memory().unwrap()).await;
    let folder = tempfile::tempdir().unwrap();
    suite(&SqliteStore::open(&folder.path().join("store.db")).unwrap()).await;
}

#[tokio::test]
async fn approvals() {
    check(async |store| conformance::approvals(store).await).await;
}

#[tokio::test]
async fn grants() {
    check(async |store| conformance::grants(store).await).await;
}

#[tokio::test]
async fn conversations() {
    check(async |store| conformance::conversations(store).await).await;
}

#[tokio::test]
async fn runs() {
    check(async |store| conformance::runs(store).await).await;
}

#[tokio::test]
async fn checkpoints() {
    check(async |store| conformance::checkpoints(store).await).await;
}

#[tokio::test]
async fn facts() {
    check(async |store| conformance::facts(store).await).await;
}

/// What the engine's stores in memory are compared with too.
fn answers_as_the_model(store: &SqliteStore, bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let stores = Stores { runs: store, approvals: store, grants: store, facts: store };
    runtime.block_on(conformance::sequence(stores, bytes));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_sequence_answers_as_the_model(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        answers_as_the_model(&SqliteStore::in_memory().unwrap(), &bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]

    #[test]
    fn any_sequence_answers_as_the_model_in_a_file(
        bytes in prop::collection::vec(any::<u8>(), 200..400),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("store.db")).unwrap();
        answers_as_the_model(&store, &bytes);
    }
}
