//! Questions and their decisions.

use serde_json::json;
use toolcrib_core::store::{ApprovalWithDecision, PendingApproval};
use toolcrib_core::{ApprovalId, ApprovalStore, Decision, GrantScope, StoreError, UserQuestion};

use super::fixtures::{decided, question};

/// Questions come back whole, are decided once, and are pending until then.
///
/// # Panics
/// When the store does something else.
pub async fn approvals(store: &dyn ApprovalStore) {
    every_decision_comes_back(store).await;
    the_first_decision_wins(store).await;
    a_decision_made_ahead_counts_like_any_other(store).await;
    a_question_is_asked_once(store).await;
    pending_are_those_without_a_decision(store).await;
    the_newest_question_of_a_call_is_found(store).await;
    one_call_is_approved_once(store).await;
    questions_of_an_owner_come_newest_first(store).await;
}

async fn every_decision_comes_back(store: &dyn ApprovalStore) {
    for decision in [
        Decision::approve(),
        Decision::approve_for(GrantScope::Always),
        Decision::Deny { note: None },
        Decision::Deny { note: Some("not \u{1f4a5} today\n".into()) },
        Decision::Edit {
            args: json!({"path": "b", "depth": {"x": [1e-7, 18_446_744_073_709_551_615u64]}}),
        },
        Decision::Skip,
        Decision::Answer { text: "blue \u{0}".into() },
        Decision::Approve {
            scope: GrantScope::Always,
            only: [("path".to_owned(), "notes/*".to_owned())].into(),
            taint: true,
        },
    ] {
        let asked = question();
        store.ask(asked.clone()).await.unwrap();
        assert_question(store, &asked, None).await;
        let record = decided(decision, "ann");
        assert_eq!(store.decide(asked.request.id, record.clone()).await, Ok(Ok(())));
        assert_question(store, &asked, Some(&record)).await;
    }
}

async fn a_decision_made_ahead_counts_like_any_other(store: &dyn ApprovalStore) {
    let asked = question();
    store.ask(asked.clone()).await.unwrap();
    let first = decided(Decision::approve(), "ann");
    assert_eq!(store.decide_ahead(asked.request.id, first.clone()).await, Ok(Ok(())));
    assert_question(store, &asked, Some(&first)).await;
    assert_eq!(store.sync().await, Ok(()));
    let second = decided(Decision::Skip, "bob");
    assert_eq!(store.decide(asked.request.id, second.clone()).await, Ok(Err(first.clone())));
    assert_eq!(store.decide_ahead(asked.request.id, second).await, Ok(Err(first)));
    let missing = store.decide_ahead(ApprovalId::fresh(), decided(Decision::Skip, "ann")).await;
    assert!(matches!(missing, Err(StoreError::Missing(_))), "{missing:?}");
}

async fn assert_question(
    store: &dyn ApprovalStore,
    asked: &PendingApproval,
    decision: Option<&toolcrib_core::DecisionRecord>,
) {
    let (found, record): ApprovalWithDecision = store.get(asked.request.id).await.unwrap().unwrap();
    assert_eq!(found.request, asked.request);
    // A batch has no equality of its own; its JSON says all there is.
    let json = |waiting: &PendingApproval| serde_json::to_string(&waiting.batch).unwrap();
    assert_eq!(json(&found), json(asked));
    assert_eq!(record.as_ref(), decision);
}

async fn the_first_decision_wins(store: &dyn ApprovalStore) {
    let asked = question();
    let id = asked.request.id;
    let first = decided(Decision::Skip, "ann");
    assert!(matches!(store.decide(id, first.clone()).await, Err(StoreError::Missing(_))));
    assert!(store.get(id).await.unwrap().is_none());
    store.ask(asked).await.unwrap();
    store.decide(id, first.clone()).await.unwrap().unwrap();
    let second = decided(Decision::Deny { note: None }, "ben");
    assert_eq!(store.decide(id, second).await, Ok(Err(first.clone())));
    assert_eq!(store.decide(id, first.clone()).await, Ok(Err(first)));
}

async fn a_question_is_asked_once(store: &dyn ApprovalStore) {
    let asked = question();
    store.ask(asked.clone()).await.unwrap();
    let first = decided(Decision::Skip, "ann");
    store.decide(asked.request.id, first.clone()).await.unwrap().unwrap();
    let mut again = asked.clone();
    again.request.summary = "something else".into();
    assert!(matches!(store.ask(again).await, Err(StoreError::Conflict(_))));
    assert_question(store, &asked, Some(&first)).await;
}

async fn pending_are_those_without_a_decision(store: &dyn ApprovalStore) {
    let asked: Vec<PendingApproval> = (0..3).map(|_| question()).collect();
    for waiting in asked.iter().rev() {
        store.ask(waiting.clone()).await.unwrap();
    }
    store.decide(asked[1].request.id, decided(Decision::Skip, "ann")).await.unwrap().unwrap();
    let pending = store.pending().await.unwrap();
    let ids: Vec<ApprovalId> = pending.iter().map(|request| request.id).collect();
    assert_eq!(ids, [asked[0].request.id, asked[2].request.id], "oldest first");
    assert_eq!(pending[0], asked[0].request);
}

async fn the_newest_question_of_a_call_is_found(store: &dyn ApprovalStore) {
    let first = question();
    let call = first.request.call;
    assert!(store.for_call(call).await.unwrap().is_none());
    let mut second = question();
    second.request.call = call;
    let (words, none) = ("Which?".to_owned(), String::new());
    second.request.question =
        Some(UserQuestion { question: words, context: none, options: Vec::new() });
    store.ask(first.clone()).await.unwrap();
    store.ask(question()).await.unwrap();
    let record = decided(Decision::Skip, "ann");
    store.decide(first.request.id, record.clone()).await.unwrap().unwrap();
    let (found, decision) = store.for_call(call).await.unwrap().unwrap();
    assert_eq!((found.request, decision), (first.request, Some(record)));
    store.ask(second.clone()).await.unwrap();
    let (found, decision) = store.for_call(call).await.unwrap().unwrap();
    assert_eq!((found.request, decision), (second.request, None));
}

async fn one_call_is_approved_once(store: &dyn ApprovalStore) {
    let first = question();
    let mut second = question();
    second.request.call = first.request.call;
    store.ask(first.clone()).await.unwrap();
    let refused = store.ask(second.clone()).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    store.decide(first.request.id, decided(Decision::Skip, "ann")).await.unwrap().unwrap();
    let refused = store.ask(second.clone()).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    assert!(store.get(second.request.id).await.unwrap().is_none());
}

async fn questions_of_an_owner_come_newest_first(store: &dyn ApprovalStore) {
    let asked: Vec<PendingApproval> = (0..4)
        .map(|place| {
            let mut waiting = question();
            waiting.request.context.owner = if place == 1 { "ben 2" } else { "ann 2" }.into();
            waiting
        })
        .collect();
    for waiting in &asked {
        store.ask(waiting.clone()).await.unwrap();
    }
    let record = decided(Decision::Skip, "ann");
    store.decide(asked[2].request.id, record.clone()).await.unwrap().unwrap();
    let found = store.list("ann 2", 9).await.unwrap();
    let found: Vec<_> = found.into_iter().map(|(w, record)| (w.request, record)).collect();
    let of = |place: usize| asked[place].request.clone();
    assert_eq!(found, [(of(3), None), (of(2), Some(record)), (of(0), None)]);
    assert_eq!(store.list("ann 2", 2).await.unwrap().len(), 2);
    assert!(store.list("ann 2", 0).await.unwrap().is_empty());
    assert!(store.list("nobody", 9).await.unwrap().is_empty());
    let page = async |before: usize, limit| {
        let page = store.list_before("ann 2", asked[before].request.id, limit).await.unwrap();
        page.into_iter().map(|(waiting, _)| waiting.request.id).collect::<Vec<_>>()
    };
    assert_eq!(page(3, 9).await, [of(2).id, of(0).id]);
    assert_eq!(page(3, 1).await, [of(2).id]);
    assert!(page(0, 9).await.is_empty());
}
