//! Verifying the audit.

use serde_json::json;
use toolcrib_app::Stores;
use toolcrib_ops::audit::{self, VerifyRequest};

use crate::fixture::Fixture;

#[tokio::test]
async fn an_untouched_audit_is_sound_and_rows_are_compared_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let stores = Stores::open(Some(&folder.path().join("toolcrib.db"))).unwrap();
    let fixture = Fixture::with(|builder| builder.stores(stores)).await;
    fixture.call("greet", json!({})).await;
    let ctx = fixture.store();
    let reply = audit::verify(&ctx, VerifyRequest::default()).await.unwrap();
    assert!(reply.sound && reply.calls.is_none() && reply.decisions.is_none(), "{reply:?}");
    let records: u64 = reply.chains.iter().map(|chain| chain.records).sum();
    assert!(records > 0, "{reply:?}");
    let request = VerifyRequest { rows: true, ..VerifyRequest::default() };
    let reply = audit::verify(&ctx, request).await.unwrap();
    assert!(reply.sound, "{reply:?}");
    assert_eq!(reply.calls.map(|report| report.calls), Some(1));
    assert!(reply.decisions.is_some());
}
