//! Listing, showing, following and exporting records of the audit.

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_app::{Secrets, Stores};
use toolcrib_audit::ExportFrom;
use toolcrib_core::{CallId, Risk};
use toolcrib_ops::administration::Recorder;
use toolcrib_ops::audit::{
    self, ExportRequest, ListRecordsRequest, RecordFilter, RecordReply, ShowRecordsRequest,
    TailRequest,
};
use toolcrib_ops::{ErrorClass, StoreContext};

use crate::fixture::Fixture;

/// Creates a fixture with stores on disk, because in-memory stores record no calls.
async fn recording(risk: Risk) -> (TempDir, Fixture) {
    let folder = tempfile::tempdir().unwrap();
    let stores = Stores::open(Some(&folder.path().join("toolcrib.db"))).unwrap();
    (folder, Fixture::build(risk, |builder| builder.stores(stores)).await)
}

async fn list(ctx: &StoreContext<'_>, filter: RecordFilter) -> Vec<RecordReply> {
    let request = ListRecordsRequest { filter, before: None, limit: 500 };
    audit::list(ctx, request).await.unwrap().records
}

fn numbers(records: &[RecordReply]) -> Vec<u64> {
    records.iter().map(|record| record.seq).collect()
}

#[tokio::test]
async fn records_are_listed_backwards_page_by_page() {
    let (_folder, fixture) = recording(Risk::Safe).await;
    for _ in 0..4 {
        fixture.call("greet", json!({})).await;
    }
    let ctx = fixture.store();
    let all = numbers(&list(&ctx, RecordFilter::default()).await);
    assert!(all.len() >= 4 && all.is_sorted_by(|newer, older| newer > older), "{all:?}");
    let (mut read, mut before) = (Vec::new(), None);
    loop {
        let request = ListRecordsRequest { filter: RecordFilter::default(), before, limit: 3 };
        let page = audit::list(&ctx, request).await.unwrap();
        assert!(page.records.len() <= 3);
        read.extend(numbers(&page.records));
        match page.next {
            Some(next) => before = Some(next),
            None => break,
        }
    }
    assert_eq!(read, all);
    assert_eq!(list(&fixture.other_owner(), RecordFilter::default()).await, []);
}

#[tokio::test]
async fn records_are_filtered() {
    let (_folder, fixture) = recording(Risk::Safe).await;
    let first = fixture.call("greet", json!({})).await;
    fixture.call("greet", json!({})).await;
    let ctx = fixture.store();
    let of_call = RecordFilter { call: Some(first), ..RecordFilter::default() };
    let records = list(&ctx, of_call).await;
    assert!(!records.is_empty());
    assert!(records.iter().all(|record| record.record["call"] == json!(first)), "{records:?}");
    let settled = RecordFilter { kind: Some("settled".to_owned()), ..RecordFilter::default() };
    assert_eq!(list(&ctx, settled).await.len(), 2);
    for nothing in [
        RecordFilter { tool: Some("none".to_owned()), ..RecordFilter::default() },
        RecordFilter { until: Some(1), ..RecordFilter::default() },
        RecordFilter { by: Some("ben".to_owned()), ..RecordFilter::default() },
    ] {
        assert_eq!(list(&ctx, nothing.clone()).await, [], "{nothing:?}");
    }
}

#[tokio::test]
async fn a_viewer_sees_no_words_of_a_record() {
    let (_folder, fixture) = recording(Risk::High).await;
    fixture.call("greet", json!({})).await;
    let has = |records: &[RecordReply], member: &str| {
        records.iter().any(|record| record.record.get(member).is_some())
    };
    let whole = list(&fixture.store(), RecordFilter::default()).await;
    let reduced = list(&fixture.viewer(), RecordFilter::default()).await;
    assert_eq!(numbers(&whole), numbers(&reduced));
    assert!(has(&whole, "policy") || has(&whole, "reasons"), "{whole:?}");
    assert!(!has(&reduced, "policy") && !has(&reduced, "reasons"), "{reduced:?}");
}

#[tokio::test]
async fn records_of_a_call_and_single_records_are_shown() {
    let (_folder, fixture) = recording(Risk::Safe).await;
    let call = fixture.call("greet", json!({})).await;
    let ctx = fixture.store();
    let shown = audit::show(&ctx, ShowRecordsRequest::Call(call)).await.unwrap();
    let mut listed = list(&ctx, RecordFilter { call: Some(call), ..Default::default() }).await;
    listed.reverse();
    assert_eq!(shown, listed);
    let (chain, seq) = (Some(shown[0].chain), shown[0].seq);
    for chain in [chain, None] {
        let one = audit::show(&ctx, ShowRecordsRequest::Number { chain, seq }).await.unwrap();
        assert_eq!(one, shown[..1]);
    }
    for missing in [
        ShowRecordsRequest::Call(CallId::fresh()),
        ShowRecordsRequest::Number { chain: None, seq: 9_999 },
        ShowRecordsRequest::Number { chain: Some(77), seq: 1 },
    ] {
        let error = audit::show(&ctx, missing).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::NotFound, "{error}");
    }
}

#[tokio::test]
async fn the_newest_records_are_followed_by_those_written_later() {
    let (_folder, fixture) = recording(Risk::Safe).await;
    fixture.call("greet", json!({})).await;
    fixture.call("greet", json!({})).await;
    let ctx = fixture.store();
    let all = numbers(&list(&ctx, RecordFilter::default()).await);
    let first = audit::tail(&ctx, TailRequest::Newest(2)).await.unwrap();
    assert_eq!(numbers(&first.records), [all[1], all[0]]);
    let nothing = audit::tail(&ctx, TailRequest::After(first.position)).await.unwrap();
    assert_eq!(nothing.records, []);
    fixture.call("greet", json!({})).await;
    let later = audit::tail(&ctx, TailRequest::After(nothing.position)).await.unwrap();
    assert_eq!(numbers(&later.records).first(), Some(&(all[0] + 1)));
}

#[tokio::test]
async fn an_export_has_every_record_and_is_recorded_where_a_daemon_makes_it() {
    let (_folder, fixture) = recording(Risk::Safe).await;
    fixture.call("greet", json!({})).await;
    let ctx = fixture.store();
    let before = list(&ctx, RecordFilter::default()).await.len();
    let request = ExportRequest { from: ExportFrom::Beginning };
    let mut export = audit::export(&ctx, &Recorder::None, request).await.unwrap();
    let mut lines = Vec::new();
    while let Some(some) = export.next().await.unwrap() {
        lines.extend(some.iter().map(toolcrib_audit::ExportLine::text));
    }
    assert_eq!(export.records(), before as u64);
    assert!(lines.iter().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{lines:?}");
    assert_eq!(list(&ctx, RecordFilter::default()).await.len(), before);
    let secrets = Secrets::default();
    let recorder = Recorder::Audit { store: ctx, secrets: &secrets };
    audit::export(&ctx, &recorder, request).await.unwrap();
    let acts = RecordFilter { kind: Some("administered".to_owned()), ..RecordFilter::default() };
    let acts = list(&ctx, acts).await;
    assert_eq!(acts.len(), 1);
    assert!(acts[0].text().contains("audit.export"), "{acts:?}");
}
