//! Remembered approvals over HTTP.

use std::collections::BTreeMap;

use serde_json::json;
use toolcrib_core::approval::ReasonKind;
use toolcrib_core::{Grant, GrantId, GrantScope, Risk};

use crate::support::TestDaemon;

fn grant(owner: &str) -> Grant {
    Grant {
        id: GrantId::fresh(),
        owner: owner.to_owned(),
        operation: "write_file".to_owned(),
        args: BTreeMap::from([("path".to_owned(), "notes/*".to_owned())]),
        definition_hash: "d".repeat(64),
        reasons: vec![ReasonKind::Risk],
        risk: Risk::High,
        scope: GrantScope::Always,
        run: None,
        conversation: None,
        created_by: "ann".to_owned(),
        created_at: 1,
        expires_at: None,
    }
}

#[tokio::test]
async fn a_remembered_approval_is_listed_and_taken_back_once() {
    let daemon = TestDaemon::start().await;
    let (own, other) = (grant(""), grant("somebody"));
    for grant in [&own, &other] {
        daemon.toolcrib.stores().grants.add(grant.clone()).await.unwrap();
    }
    let client = daemon.client();
    let list = client.get("/api/v1/grants").await.expect(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert_eq!(list["items"][0]["args"], json!({"path": "notes/*"}));
    let path = format!("/api/v1/grants/{}", own.id);
    assert_eq!(client.get(&path).await.expect(200)["operation"], "write_file");
    // A grant of another owner is reported as not found.
    let foreign = format!("/api/v1/grants/{}", other.id);
    assert_eq!(client.delete(&foreign).await.problem(), "not_found");
    assert_eq!(client.delete(&path).await.expect(200)["by"], "owner");
    assert_eq!(client.delete(&path).await.problem(), "not_found");
    assert_eq!(client.get("/api/v1/grants/none").await.problem(), "not_found");
    assert_eq!(daemon.toolcrib.stores().grants.list("somebody").await.unwrap().len(), 1);
    daemon.stop().await;
}
