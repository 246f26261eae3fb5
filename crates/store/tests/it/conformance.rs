//! Runs the store conformance suites of `core` on SQLite.

use std::sync::Arc;

use proptest::prelude::*;
use toolcrib_store::{ArtifactLimits, Artifacts, SqliteStore, StoreOptions};
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
async fn assistant_rows() {
    check(async |store| conformance::assistant_rows(store).await).await;
}

#[tokio::test]
async fn document_chunks() {
    check(async |store| conformance::document_chunks(store).await).await;
}

#[tokio::test]
async fn memories() {
    check(async |store| conformance::memories(store).await).await;
}

#[tokio::test]
async fn notifications() {
    check(async |store| conformance::notifications(store).await).await;
}

#[tokio::test]
async fn tasks() {
    check(async |store| conformance::tasks(store).await).await;
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

#[tokio::test]
async fn history() {
    check(async |store| conformance::history(store, store).await).await;
}

#[tokio::test]
async fn usage() {
    check(async |store| conformance::usage(store, store).await).await;
}

#[tokio::test]
async fn switches() {
    check(async |store| conformance::switches(store).await).await;
}

#[tokio::test]
async fn tokens() {
    check(async |store| conformance::tokens(store).await).await;
}

#[tokio::test]
async fn artifacts() {
    check(async |store| {
        let folder = tempfile::tempdir().unwrap();
        let limits = ArtifactLimits::default();
        conformance::artifacts(&Artifacts::new(store.clone(), folder.path().into(), limits));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn audit() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        StoreOptions { signer: Some(Arc::new(conformance::TestSigner)), ..StoreOptions::default() };
    let store = SqliteStore::open_with(&folder.path().join("store.db"), options).unwrap();
    conformance::audit(Arc::new(store)).await;
}

/// The suite that the engine's in-memory stores are compared with too.
fn answers_as_the_model(store: &SqliteStore, bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let stores = Stores { runs: store, approvals: store, grants: store, facts: store };
    runtime.block_on(conformance::random_operations(stores, bytes));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_sequence_answers_as_the_model(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        answers_as_the_model(&SqliteStore::in_memory().unwrap(), &bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_sequence_of_calls_answers_as_the_model(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let store = SqliteStore::in_memory().unwrap();
        runtime.block_on(conformance::random_call_operations(&store, Some(&store), &bytes));
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
