//! Operations on grants.

use std::collections::BTreeMap;

use serde_json::json;
use toolcrib_app::core::approval::ReasonKind;
use toolcrib_app::core::{Grant, GrantId, GrantScope, Risk};
use toolcrib_ops::OpError;
use toolcrib_ops::grants::{self, ListGrantsRequest, RevokeGrantRequest, ShowGrantRequest};

use crate::fixture::Fixture;

async fn add_grant(fixture: &Fixture, args: BTreeMap<String, String>) -> GrantId {
    let spec = fixture.toolcrib.spec("greet").unwrap();
    let grant = Grant {
        id: GrantId::fresh(),
        owner: String::new(),
        operation: "greet".to_owned(),
        args,
        definition_hash: spec.definition_hash(),
        reasons: vec![ReasonKind::Risk],
        risk: Risk::Critical,
        scope: GrantScope::Always,
        run: None,
        conversation: None,
        created_by: "ann".to_owned(),
        created_at: 1,
        expires_at: None,
    };
    let id = grant.id;
    fixture.toolcrib.stores().grants.add(grant).await.unwrap();
    id
}

#[tokio::test]
async fn a_grant_is_listed_and_shown_with_the_calls_that_it_would_have_matched() {
    let fixture = Fixture::new().await;
    let call = fixture.call("greet", json!({})).await;
    let id = add_grant(&fixture, BTreeMap::new()).await;
    let request = ListGrantsRequest { with_past_calls: true };
    let listed = grants::list(&fixture.store(), request).await.unwrap();
    let shown = ShowGrantRequest { id, with_past_calls: true };
    let shown = grants::show(&fixture.store(), shown).await.unwrap();
    assert_eq!(listed, std::slice::from_ref(&shown));
    let past = shown.past_calls.unwrap();
    assert_eq!(past.calls.iter().map(|row| row.facts.call).collect::<Vec<_>>(), [call]);
    assert!(!past.truncated);
    assert_eq!(grants::list(&fixture.other_owner(), request).await.unwrap(), []);
}

#[tokio::test]
async fn a_viewer_sees_no_arguments_of_a_grant() {
    let fixture = Fixture::new().await;
    let args = BTreeMap::from([("path".to_owned(), "notes/*".to_owned())]);
    let id = add_grant(&fixture, args.clone()).await;
    let request = ShowGrantRequest { id, with_past_calls: false };
    let shown = grants::show(&fixture.store(), request).await.unwrap();
    assert_eq!(shown.args, Some(args));
    let shown = grants::show(&fixture.viewer(), request).await.unwrap();
    assert_eq!(shown.args, None);
    assert_eq!(serde_json::to_value(shown).unwrap().get("args"), None);
}

#[tokio::test]
async fn a_grant_is_revoked_once_and_by_its_owner() {
    let fixture = Fixture::new().await;
    let id = add_grant(&fixture, BTreeMap::new()).await;
    let request = RevokeGrantRequest { id };
    let foreign = grants::revoke(&fixture.other_owner(), request).await.unwrap_err();
    assert!(matches!(foreign, OpError::NotFound { .. }), "{foreign:?}");
    let revoked = grants::revoke(&fixture.store(), request).await.unwrap();
    assert_eq!((revoked.revoked, &*revoked.by), (id, "ann"));
    let again = grants::revoke(&fixture.store(), request).await.unwrap_err();
    assert!(matches!(again, OpError::NotFound { .. }), "{again:?}");
}
