//! Operations on past calls.

use serde_json::json;
use toolcrib_core::{CallFilter, OutcomeKind};
use toolcrib_ops::OpError;
use toolcrib_ops::calls::{self, CallState, CallSummary, ExplainCallRequest, ShowCallRequest};

use crate::fixture::Fixture;

#[tokio::test]
async fn the_history_has_pages_and_hides_payloads_from_viewers() {
    let fixture = Fixture::new().await;
    let older = fixture.call("greet", json!({})).await;
    let newer = fixture.call("no_such_tool", json!({"name": "x"})).await;
    let page = CallFilter { limit: 1, ..CallFilter::default() };
    let first = calls::history(&fixture.store(), page.clone()).await.unwrap();
    assert_eq!((first.calls[0].facts.call, first.more), (newer, true));
    assert_eq!(CallSummary::new(&first.calls[0], None).status, CallState::Failed);
    assert!(CallSummary::new(&first.calls[0], None).message.is_some());
    let next = CallFilter { before: Some(newer), ..page.clone() };
    let second = calls::history(&fixture.store(), next).await.unwrap();
    assert_eq!((second.calls[0].facts.call, second.more), (older, false));
    assert!(second.calls[0].facts.args.is_some());
    let all = CallFilter { limit: 9, ..CallFilter::default() };
    for row in &calls::history(&fixture.viewer(), all).await.unwrap().calls {
        let summary = CallSummary::new(row, None);
        assert_eq!((summary.args, summary.args_hash, summary.message), (None, None, None));
    }
    let none = calls::history(&fixture.other_owner(), page).await.unwrap();
    assert!(none.calls.is_empty() && !none.more);
}

#[tokio::test]
async fn a_call_is_shown_and_explained_to_its_owner_only() {
    let fixture = Fixture::new().await;
    let call = fixture.call("greet", json!({})).await;
    let shown = calls::show(&fixture.store(), ShowCallRequest { call }).await.unwrap();
    assert_eq!(shown.status, CallState::Succeeded);
    let request = ExplainCallRequest { call };
    let reply = calls::explain(&fixture.store(), request).await.unwrap();
    assert_eq!(reply.outcome.as_ref().unwrap().kind, OutcomeKind::Succeeded);
    assert_eq!(reply.stages, reply.outcome.as_ref().unwrap().report.stages);
    let text = serde_json::to_string(&reply).unwrap();
    let read: calls::ExplainCallReply = serde_json::from_str(&text).unwrap();
    assert_eq!(read.row, reply.row);
    let foreign = calls::explain(&fixture.other_owner(), request).await.unwrap_err();
    assert!(matches!(foreign, OpError::NotFound { .. }), "{foreign:?}");
}

#[tokio::test]
async fn a_viewer_gets_an_explanation_without_payloads() {
    let fixture = Fixture::new().await;
    let call = fixture.call("greet", json!({})).await;
    let reply = calls::explain(&fixture.viewer(), ExplainCallRequest { call }).await.unwrap();
    assert!(reply.outcome.is_none() && reply.ruling.is_none() && reply.labels.is_none());
    assert!(reply.audit.is_empty() && reply.grants.is_empty());
    assert!(reply.stages.iter().all(|stage| stage.note.is_empty()), "{:?}", reply.stages);
    assert!(!reply.stages.is_empty());
    assert_eq!(reply.document.result, None);
}

#[tokio::test]
async fn the_beginning_of_an_id_names_a_call() {
    let fixture = Fixture::new().await;
    let first = fixture.call("greet", json!({})).await;
    let second = fixture.call("greet", json!({})).await;
    let store = fixture.store();
    assert_eq!(calls::resolve_call(&store, &first.to_string()).await.unwrap(), first);
    let error = calls::resolve_call(&store, "call_").await.unwrap_err();
    assert!(matches!(&error, OpError::Ambiguous { ids, .. } if ids.len() == 2), "{error:?}");
    let slip = format!("{}x", &second.to_string()[..30]);
    let error = calls::resolve_call(&store, &slip).await.unwrap_err();
    assert!(matches!(&error, OpError::NotFound { near, .. } if !near.is_empty()), "{error:?}");
}
