//! Operations on grants.

use std::collections::BTreeMap;

use serde_json::json;
use toolcrib_core::approval::ReasonKind;
use toolcrib_core::{ApprovalRequest, Decision, DecisionRecord, Grant, GrantId, GrantScope, Risk};
use toolcrib_ops::OpError;
use toolcrib_ops::grants::{
    self, ListGrantsRequest, PreviewGrantRequest, RevokeGrantRequest, ShowGrantRequest,
};

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

/// Asks a question about a call of a tool with high risk.
async fn question(fixture: &Fixture) -> ApprovalRequest {
    fixture.call("greet", json!({"name": "ann"})).await;
    let pending = fixture.toolcrib.stores().approvals.pending().await.unwrap();
    pending.into_iter().next().unwrap()
}

fn approve(scope: GrantScope, only: &[(&str, &str)]) -> Decision {
    let only = only.iter().map(|(name, glob)| ((*name).to_owned(), (*glob).to_owned()));
    Decision::Approve { scope, only: only.collect(), taint: false }
}

#[tokio::test]
async fn an_approval_is_previewed_with_the_calls_that_it_would_have_matched() {
    let fixture = Fixture::asking().await;
    let question = question(&fixture).await;
    let preview = async |decision: Decision| {
        let request = PreviewGrantRequest { question: &question, decision: &decision };
        grants::preview(&fixture.store(), request).await
    };
    let always = preview(approve(GrantScope::Always, &[])).await.unwrap();
    assert_eq!(
        (always.grant.operation.as_str(), always.grant.scope),
        ("greet", GrantScope::Always)
    );
    assert!(!always.leaves_taint && always.past_calls.is_ok());
    let other = preview(approve(GrantScope::Always, &[("name", "ben*")])).await.unwrap_err();
    assert!(matches!(&other, OpError::Invalid(why) if why.contains("look like that")), "{other}");
    let no_run = preview(approve(GrantScope::Run, &[])).await.unwrap_err();
    assert!(matches!(&no_run, OpError::Invalid(why) if why.contains("no run")), "{no_run}");
    let once = preview(approve(GrantScope::Once, &[])).await.unwrap_err();
    assert!(matches!(&once, OpError::Invalid(why) if why.contains("not remembered")), "{once}");
    let document = always.document().unwrap();
    assert_eq!((document.operation.as_str(), document.risk.as_str()), ("greet", "high"));
    assert_eq!(grants::list(&fixture.store(), ListGrantsRequest::default()).await.unwrap(), []);
}

#[tokio::test]
async fn a_decision_that_is_remembered_is_told_apart_from_one_that_is_not() {
    let fixture = Fixture::asking().await;
    let question = question(&fixture).await;
    let store = fixture.store();
    assert!(grants::is_remembered(&store, question.id).await.unwrap(), "nothing is decided");
    let record = DecisionRecord {
        decision: approve(GrantScope::Always, &[]),
        decided_by: "ann".to_owned(),
        decided_at: 7,
    };
    let approvals = &fixture.toolcrib.stores().approvals;
    approvals.decide(question.id, record.clone()).await.unwrap().unwrap();
    assert!(!grants::is_remembered(&store, question.id).await.unwrap());
    let grant = toolcrib_app::grant_from_decision(&question, &record).unwrap();
    fixture.toolcrib.stores().grants.add(grant).await.unwrap();
    assert!(grants::is_remembered(&store, question.id).await.unwrap());
}
