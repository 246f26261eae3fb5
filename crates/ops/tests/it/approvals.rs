//! Operations on questions to people.

use serde_json::{Value, json};
use toolcrib_app::Stores;
use toolcrib_core::{Answer, ApprovalId, Decision, DecisionRecord, Origin, RawArgs};
use toolcrib_ops::approvals::{
    self, ApprovalDetails, CheckDecisionRequest, ContinuedBy, DecideBody, ListApprovalsRequest,
    ShowApprovalRequest,
};
use toolcrib_ops::person::Person;
use toolcrib_ops::{ErrorClass, OpError, Resource};

use crate::fixture::Fixture;

/// Asks a question about a call with these arguments.
async fn ask(fixture: &Fixture, args: Value) -> ApprovalId {
    let call = fixture.toolcrib.call("greet", RawArgs::Value(args), Origin::Rest).await.unwrap();
    let suspended = match call {
        Answer::Suspended(request) => Some(request.id),
        Answer::Done(_) => None,
    };
    suspended.unwrap()
}

async fn deny(stores: &Stores, id: ApprovalId) {
    let decision = Decision::Deny { note: Some("not now".to_owned()) };
    let record = DecisionRecord { decision, decided_by: "ann".to_owned(), decided_at: 7 };
    stores.approvals.decide(id, record).await.unwrap().unwrap();
}

#[tokio::test]
async fn questions_are_listed_and_shown_with_earlier_decisions() {
    let fixture = Fixture::asking().await;
    let ctx = fixture.store();
    let first = ask(&fixture, json!({"name": "ann"})).await;
    deny(ctx.stores, first).await;
    let second = ask(&fixture, json!({"name": "ben"})).await;
    let pending = approvals::list(&ctx, ListApprovalsRequest::Pending).await.unwrap();
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0].document.approval, second.to_string());
    let all = ListApprovalsRequest::All { before: None, limit: 10 };
    let all = approvals::list(&ctx, all).await.unwrap();
    let states: Vec<&str> = all.iter().map(|entry| entry.document.state.as_str()).collect();
    assert_eq!(states, ["pending", "decided"]);
    let before = ListApprovalsRequest::All { before: Some(second), limit: 10 };
    assert_eq!(approvals::list(&ctx, before).await.unwrap().len(), 1);
    let reply = approvals::show(&ctx, ShowApprovalRequest { id: second }).await.unwrap();
    let details = reply.into_details(ContinuedBy::Call, None);
    assert_eq!(details.earlier.len(), 1);
    assert_eq!(details.earlier[0].args, json!({"name": "ann"}));
    // A command reads the same document from a daemon.
    let sent = serde_json::to_value(&details).unwrap();
    let read: ApprovalDetails = serde_json::from_value(sent.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), sent);
    assert_eq!((sent["goes_on"].as_str(), read.approval.nonce.len()), (Some("call"), 64));
}

#[tokio::test]
async fn a_viewer_sees_no_payload_of_a_question_and_another_owner_no_question() {
    let fixture = Fixture::asking().await;
    let id = ask(&fixture, json!({"name": "zebra"})).await;
    deny(fixture.store().stores, id).await;
    let request = ListApprovalsRequest::All { before: None, limit: 10 };
    let seen = approvals::list(&fixture.viewer(), request).await.unwrap();
    assert!(seen[0].request.is_none() && seen[0].decision.is_none());
    let text = serde_json::to_string(&seen[0].document).unwrap();
    assert!(!text.contains("zebra") && !text.contains("not now"), "{text}");
    assert!(approvals::list(&fixture.other_owner(), request).await.unwrap().is_empty());
    let error = approvals::find(&fixture.other_owner(), id).await.unwrap_err();
    assert!(matches!(error, OpError::NotFound { what: Resource::Approval, .. }), "{error:?}");
}

#[tokio::test]
async fn a_shortened_id_names_its_question() {
    let fixture = Fixture::asking().await;
    let id = ask(&fixture, json!({"name": "ann"})).await;
    let text = id.to_string();
    let ctx = fixture.store();
    assert_eq!(approvals::resolve_approval(&ctx, &text).await.unwrap(), id);
    assert_eq!(approvals::resolve_approval(&ctx, &text[..text.len() - 4]).await.unwrap(), id);
    let unknown = ApprovalId::fresh().to_string();
    let error = approvals::resolve_approval(&ctx, &unknown).await.unwrap_err();
    assert!(matches!(error, OpError::NotFound { ref near, .. } if near[0] == text), "{error:?}");
}

#[test]
fn what_does_not_belong_to_a_decision_is_not_ignored() {
    let body = DecideBody {
        text: Some("red".to_owned()),
        ..DecideBody::new(Decision::Skip, "n".to_owned())
    };
    assert!(
        matches!(body.decision(), Err(OpError::Invalid(why)) if why.contains("text belongs to answer"))
    );
}

#[tokio::test]
async fn a_decision_is_about_what_was_seen_and_by_another_person_where_that_is_wanted() {
    let fixture = Fixture::asking().await;
    fixture.call("greet", json!({})).await;
    let pending = fixture.toolcrib.stores().approvals.pending().await.unwrap();
    let question = &pending[0];
    let seen = approvals::nonce(question);
    let approve = Decision::approve();
    let right = CheckDecisionRequest {
        question,
        decision: &approve,
        seen: Some(&seen),
        person: Person::Token("token ci (token_1)"),
        four_eyes: true,
    };
    let class = |request| approvals::check_decision(request).err().map(|error| error.class());
    assert_eq!(class(right), None);
    assert_eq!(class(CheckDecisionRequest { seen: None, ..right }), None);
    let other = CheckDecisionRequest { seen: Some("other"), ..right };
    assert_eq!(class(other), Some(ErrorClass::Conflict));
    let same = CheckDecisionRequest { person: Person::Owner, ..right };
    assert_eq!(class(same), Some(ErrorClass::Denied));
    assert_eq!(class(CheckDecisionRequest { four_eyes: false, ..same }), None);
    let answer = Decision::Answer { text: "red".to_owned() };
    let kind = CheckDecisionRequest { decision: &answer, ..right };
    assert_eq!(class(kind), Some(ErrorClass::Invalid));
}
