//! Calls held against their records.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::{
    AuditEvent, AuditStore as _, CallDetails, CallEnd, CallId, CallRecord, CallStore as _, Context,
    Effect, Intent, ModelResult, Origin, Outcome, OutcomeKind, Report, Settlement, ToolName, Trust,
};

use crate::{CallTampering, verify_calls};
use toolcrib_engine::store::{MemoryAudit, MemoryCalls};

fn intent() -> Intent {
    let facts = CallDetails {
        call: CallId::fresh(),
        run: None,
        origin: Origin::Cli,
        context: Arc::new(Context::default()),
        tool: Some(ToolName::local("write_file").unwrap()),
        asked: None,
        operation: Some("write_file".to_owned()),
        definition_hash: Some("d".to_owned()),
        risk: None,
        effect: Some(Effect::SideEffect),
        args: Some("{}".to_owned()),
        args_hash: Some("a".to_owned()),
        approval: None,
        approved_by: None,
        policy: None,
        parent: None,
        received_at: 1,
    };
    Intent { facts, started_at: 2, epoch: 0 }
}

fn settlement(intent: Intent) -> Settlement {
    let outcome = Outcome {
        call: intent.facts.call,
        asked: "write_file".to_owned(),
        tool: intent.facts.tool.clone(),
        kind: OutcomeKind::Succeeded,
        result: Ok(ModelResult {
            result: json!({"written": 3, "share": 0.1, "at": null}),
            media: Vec::new(),
            for_people: Vec::new(),
            resources: Vec::new(),
            structured: Some(Value::Null),
            is_error: false,
            error_type: None,
            sandbox: None,
            artifact: None,
            trust: Trust::Tool,
            source: None,
            flagged: false,
            changes: Vec::new(),
        }),
        notes: vec!["a note".to_owned()],
        report: Report { attempts: 1, ..Report::default() },
        unrecorded: None,
    };
    let end = CallEnd {
        outcome: OutcomeKind::Succeeded,
        error_type: None,
        message: None,
        attempts: 1,
        run_nanos: 7,
        ended_at: 3,
        output_hash: None,
    };
    let Intent { facts, started_at, epoch } = intent;
    let record = CallRecord { facts, started_at: Some(started_at), epoch, end };
    Settlement { record, outcome: None }.with_outcome(&outcome)
}

/// Something done to a call between its record and its row; what is found.
type Change = fn(&mut Settlement);

async fn check(change: Option<Change>, has_record: bool, has_row: bool, wanted: &[CallTampering]) {
    let (calls, audit) = (MemoryCalls::default(), MemoryAudit::default());
    let begun = intent();
    let mut settled = settlement(begun.clone());
    if has_record {
        audit.append(AuditEvent::started(&begun)).await.unwrap();
        audit.append(AuditEvent::settled(&settled.record)).await.unwrap();
    }
    if has_row {
        calls.begin(begun).await.unwrap();
        if let Some(change) = change {
            change(&mut settled);
        }
        calls.settle(settled).await.unwrap();
    }
    let report = verify_calls(&audit, &calls, &calls, &[""]).await.unwrap();
    let found: Vec<_> = report.findings.into_iter().map(|found| found.what).collect();
    assert_eq!(found, wanted);
}

#[tokio::test]
async fn every_difference_between_calls_and_records_is_named() {
    let altered = |member: &str| CallTampering::RowAltered { members: vec![member.to_owned()] };
    check(None, true, true, &[]).await;
    check(None, true, false, &[CallTampering::Deleted]).await;
    check(None, false, true, &[CallTampering::Unrecorded]).await;
    let change: Change = |s| s.outcome = s.outcome.take().map(|text| text.replace('3', "4"));
    check(Some(change), true, true, &[CallTampering::OutcomeAltered]).await;
    let change: Change = |s| s.outcome = None;
    check(Some(change), true, true, &[CallTampering::OutcomeAltered]).await;
    let change: Change = |s| s.record.end.outcome = OutcomeKind::Failed;
    check(Some(change), true, true, &[altered("outcome")]).await;
    let change: Change = |s| s.record.facts.args_hash = None;
    check(Some(change), true, true, &[altered("args_hash")]).await;
    let change: Change = |s| s.record.end.output_hash = Some("0".repeat(64));
    check(Some(change), true, true, &[altered("output_hash")]).await;
}

#[tokio::test]
async fn a_call_that_lost_its_outcome_is_named() {
    let (calls, audit) = (MemoryCalls::default(), MemoryAudit::default());
    let begun = intent();
    calls.begin(begun.clone()).await.unwrap();
    audit.append(AuditEvent::settled(&settlement(begun.clone()).record)).await.unwrap();
    let report = verify_calls(&audit, &calls, &calls, &[""]).await.unwrap();
    assert_eq!(report.findings[0].what, CallTampering::Reopened);
    assert_eq!(report.findings[0].call, begun.facts.call);
    assert!(report.findings[0].to_string().contains("record 1"));
}
