//! The stores in memory do what every store does.

use proptest::prelude::*;
use toolcrib_engine::store::{MemoryApprovals, MemoryGrants, MemoryRuns};
use toolcrib_testkit::conformance;

#[tokio::test]
async fn approvals() {
    conformance::approvals(&MemoryApprovals::default()).await;
}

#[tokio::test]
async fn grants() {
    conformance::grants(&MemoryGrants::default()).await;
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_sequence_answers_as_the_model(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (runs, approvals, grants) =
            (MemoryRuns::default(), MemoryApprovals::default(), MemoryGrants::default());
        runtime.block_on(conformance::sequence(
            conformance::Stores { runs: &runs, approvals: &approvals, grants: &grants, facts: &runs },
            &bytes,
        ));
    }
}
