//! The stores in memory pass the conformance suite of all stores.

use proptest::prelude::*;
use std::sync::Arc;
use toolcrib_engine::store::{
    MemoryApprovals, MemoryArtifacts, MemoryAssistantRows, MemoryAudit, MemoryCalls,
    MemoryDocumentChunks, MemoryGrants, MemoryMemories, MemoryNotifications, MemoryRuns,
    MemorySwitches, MemoryTasks, MemoryTokens, MemoryUsage,
};
use toolcrib_testkit::conformance;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls() {
    let store = Arc::new(MemoryCalls::default());
    conformance::calls(Arc::clone(&store) as _, store, None).await;
}

#[tokio::test]
async fn audit() {
    let signed = MemoryAudit::signed_by(Arc::new(conformance::TestSigner));
    conformance::audit_chain(&signed).await;
}

#[tokio::test]
async fn approvals() {
    conformance::approvals(&MemoryApprovals::default()).await;
}

#[tokio::test]
async fn grants() {
    conformance::grants(&MemoryGrants::default()).await;
}

#[tokio::test]
async fn memories() {
    conformance::memories(&MemoryMemories::default()).await;
}

#[tokio::test]
async fn notifications() {
    conformance::notifications(&MemoryNotifications::default()).await;
}

#[tokio::test]
async fn assistant_rows() {
    conformance::assistant_rows(&MemoryAssistantRows::default()).await;
}

#[tokio::test]
async fn document_chunks() {
    conformance::document_chunks(&MemoryDocumentChunks::default()).await;
}

#[tokio::test]
async fn tasks() {
    conformance::tasks(&MemoryTasks::default()).await;
}

#[tokio::test]
async fn conversations() {
    conformance::conversations(&MemoryRuns::default()).await;
}

#[tokio::test]
async fn runs() {
    conformance::runs(&MemoryRuns::default()).await;
}

#[tokio::test]
async fn checkpoints() {
    conformance::checkpoints(&MemoryRuns::default()).await;
}

#[tokio::test]
async fn facts() {
    conformance::facts(&MemoryRuns::default()).await;
}

#[tokio::test]
async fn history() {
    let calls = MemoryCalls::default();
    conformance::history(&calls, &calls).await;
}

#[tokio::test]
async fn usage() {
    let calls = Arc::new(MemoryCalls::default());
    let usage = MemoryUsage::with_calls(Arc::clone(&calls) as _);
    conformance::usage(&usage, &*calls).await;
}

#[tokio::test]
async fn switches() {
    conformance::switches(&MemorySwitches::default()).await;
}

#[tokio::test]
async fn tokens() {
    conformance::tokens(&MemoryTokens::default()).await;
}

#[test]
fn artifacts() {
    conformance::artifacts(&MemoryArtifacts::default());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_sequence_answers_as_the_model(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (runs, approvals, grants) =
            (MemoryRuns::default(), MemoryApprovals::default(), MemoryGrants::default());
        runtime.block_on(conformance::random_operations(
            conformance::Stores { runs: &runs, approvals: &approvals, grants: &grants, facts: &runs },
            &bytes,
        ));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_sequence_of_calls_answers_as_the_model(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let store = MemoryCalls::default();
        runtime.block_on(conformance::random_call_operations(&store, None, &bytes));
    }
}
