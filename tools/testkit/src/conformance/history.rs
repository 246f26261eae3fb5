//! Looking back at calls.

use std::sync::Arc;

use serde_json::json;
use toolcrib_core::{
    CallDetails, CallFilter, CallHistory, CallId, CallRow, CallStatus, CallStore, Clock as _,
    Context, ErrorType, OutcomeKind, RunId, Settlement, SystemClock, ToolError, ToolName,
};

use super::call_fixtures::{end_with, facts, intent, outcome};

/// In milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Calls are found by what is asked for, the newest first, page by page; metrics are exact.
///
/// # Panics
/// When the store does something else.
pub async fn history(calls: &dyn CallStore, history: &dyn CallHistory) {
    every_filter_fits_exactly(calls, history).await;
    pages_are_whole(calls, history).await;
    ids_are_found_by_how_they_begin(calls, history).await;
    metrics_are_exact(calls, history).await;
    metrics_are_of_an_owner_and_a_time(calls, history).await;
}

/// A call of this owner by this tool, received then.
fn of(owner: &str, tool: &str, received_at: i64) -> CallDetails {
    CallDetails {
        tool: Some(ToolName::local(tool).unwrap()),
        operation: Some(format!("{tool}.do")),
        // Such a call is stored when it has begun.
        effect: None,
        received_at,
        ..facts(owner)
    }
}

/// Begins and ends it: with this error, or well.
async fn end(calls: &dyn CallStore, epoch: u64, facts: CallDetails, error: Option<ErrorType>) {
    run_for(calls, epoch, facts, error, 500, 2_000).await;
}

async fn run_for(
    calls: &dyn CallStore,
    epoch: u64,
    facts: CallDetails,
    error: Option<ErrorType>,
    run_nanos: u64,
    ended_at: i64,
) {
    begin(calls, epoch, facts.clone()).await;
    let result = error.map_or(Ok(json!("done")), |error| {
        Err(ToolError::new(error, format!("It went wrong at {ended_at}.")))
    });
    let Settlement { mut record, .. } =
        end_with(facts.clone(), Some(1_500), epoch, &outcome(&facts, result.clone()));
    record.end.run_nanos = run_nanos;
    record.end.ended_at = ended_at;
    let settlement = Settlement { record, outcome: None }.with_outcome(&outcome(&facts, result));
    calls.settle(settlement).await.unwrap();
}

async fn begin(calls: &dyn CallStore, epoch: u64, facts: CallDetails) {
    let begun = intent(None, epoch);
    calls.begin(toolcrib_core::Intent { facts, ..begun }).await.unwrap();
}

fn ids(rows: &[CallRow]) -> Vec<CallId> {
    rows.iter().map(|row| row.facts.call).collect()
}

fn all(owner: &str) -> CallFilter {
    CallFilter { owner: owner.to_owned(), limit: 100, ..CallFilter::default() }
}

async fn check(history: &dyn CallHistory, filter: CallFilter, expected: &[CallId]) {
    let found = history.calls(filter.clone()).await.unwrap();
    assert_eq!(ids(&found), expected, "{filter:?}");
}

async fn every_filter_fits_exactly(calls: &dyn CallStore, history: &dyn CallHistory) {
    let epoch = calls.claim().await.unwrap();
    let run = RunId::fresh();
    // Ids are made now, so calls are received about now.
    let today = SystemClock.now_ms() / DAY * DAY;
    let at = |after: i64| today + after;
    let context = |agent: &str, conversation: &str| {
        Arc::new(Context {
            owner: "filters".into(),
            agent: agent.into(),
            conversation: conversation.into(),
            ..Context::default()
        })
    };
    let a =
        CallDetails { context: context("general", "c1"), ..of("filters", "read_file", at(1_000)) };
    let b = CallDetails {
        run: Some(run),
        context: context("baker", "c1"),
        ..of("filters", "write_file", at(2_000))
    };
    let c = CallDetails {
        parent: Some(a.call),
        context: context("general", "c2"),
        ..of("filters", "read_file", at(3_000))
    };
    let d = CallDetails {
        tool: None,
        operation: None,
        asked: Some("no such tool".into()),
        context: context("general", ""),
        ..of("filters", "read_file", at(500))
    };
    let (ia, ib, ic, id) = (a.call, b.call, c.call, d.call);
    end(calls, epoch, a.clone(), None).await;
    end(calls, epoch, b.clone(), Some(ErrorType::Timeout)).await;
    begin(calls, epoch, c).await;
    end(calls, epoch, d, Some(ErrorType::ToolNotFound)).await;
    end(calls, epoch, of("somebody", "read_file", at(1_000)), None).await;

    check(history, all("filters"), &[id, ic, ib, ia]).await;
    check(history, all("nobody"), &[]).await;
    let tool = |name: &str| CallFilter { tool: Some(name.into()), ..all("filters") };
    check(history, tool("read_file"), &[ic, ia]).await;
    check(history, tool("read"), &[]).await;
    check(history, tool("no such tool"), &[]).await;
    let operation = Some("write_file.do".to_owned());
    check(history, CallFilter { operation, ..all("filters") }, &[ib]).await;
    let agent = |name: &str| CallFilter { agent: Some(name.into()), ..all("filters") };
    check(history, agent("general"), &[id, ic, ia]).await;
    check(history, agent("baker"), &[ib]).await;
    let talk = |name: &str| CallFilter { conversation: Some(name.into()), ..all("filters") };
    check(history, talk("c1"), &[ib, ia]).await;
    check(history, talk(""), &[id]).await;
    check(history, CallFilter { owner: "somebody".into(), ..talk("c1") }, &[]).await;
    check(history, CallFilter { run: Some(run), ..all("filters") }, &[ib]).await;
    let inside = |parent| CallFilter { parent: Some(parent), ..all("filters") };
    check(history, inside(ia), &[ic]).await;
    check(history, inside(ib), &[]).await;
    let status = |status| CallFilter { status: Some(status), ..all("filters") };
    check(history, status(CallStatus::Open), &[ic]).await;
    check(history, status(CallStatus::Ended(OutcomeKind::Succeeded)), &[ia]).await;
    check(history, status(CallStatus::Ended(OutcomeKind::TimedOut)), &[ib]).await;
    check(history, status(CallStatus::Ended(OutcomeKind::Failed)), &[id]).await;
    check(history, status(CallStatus::Ended(OutcomeKind::Unknown)), &[]).await;
    let timed = |since, until| CallFilter { since, until, ..all("filters") };
    check(history, timed(Some(at(2_000)), None), &[ic, ib]).await;
    check(history, timed(Some(at(2_001)), None), &[ic]).await;
    check(history, timed(None, Some(at(2_000))), &[id, ia]).await;
    check(history, timed(Some(at(1_000)), Some(at(3_000))), &[ib, ia]).await;
    check(history, timed(Some(at(3_001)), None), &[]).await;
    // A call that waited for a person for days has an id from before.
    let waited = of("waited", "read_file", at(5 * DAY));
    let its = waited.call;
    end(calls, epoch, waited, None).await;
    let waited = |since, until| CallFilter { owner: "waited".into(), ..timed(since, until) };
    check(history, waited(Some(at(4 * DAY)), None), &[its]).await;
    check(history, waited(Some(at(4 * DAY)), Some(at(6 * DAY))), &[its]).await;
    check(history, waited(None, Some(at(4 * DAY))), &[]).await;

    let both = CallFilter { since: Some(at(600)), until: Some(at(3_000)), ..tool("read_file") };
    check(history, both, &[ia]).await;
    let both = CallFilter { status: Some(CallStatus::Open), ..talk("c2") };
    check(history, both, &[ic]).await;
    check(history, CallFilter { limit: 2, ..all("filters") }, &[id, ic]).await;
    check(history, CallFilter { limit: 0, ..all("filters") }, &[]).await;

    // Rows are whole.
    let rows = history.calls(talk("c1")).await.unwrap();
    assert_eq!((&rows[0].facts, &rows[1].facts), (&b, &a));
    assert_eq!((rows[0].epoch, rows[0].started_at), (epoch, Some(1_500)));
    let ended = rows[0].end.as_ref().unwrap();
    assert_eq!(
        (ended.outcome, ended.error_type),
        (OutcomeKind::TimedOut, Some(ErrorType::Timeout))
    );
    assert_eq!((ended.run_nanos, ended.ended_at), (500, 2_000));
    let open = history.calls(status(CallStatus::Open)).await.unwrap();
    assert_eq!(open[0].end, None);
}

async fn pages_are_whole(calls: &dyn CallStore, history: &dyn CallHistory) {
    let epoch = calls.claim().await.unwrap();
    let mut made = Vec::new();
    for at in 0..25 {
        let facts = of("pages", "read_file", at);
        made.push(facts.call);
        end(calls, epoch, facts, None).await;
    }
    made.reverse();
    for limit in [1, 4, 25, usize::MAX] {
        let (mut read, mut before) = (Vec::new(), None);
        loop {
            let page = history.calls(CallFilter { before, limit, ..all("pages") }).await.unwrap();
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            before = Some(last.facts.call);
            read.extend(ids(&page));
        }
        assert_eq!(read, made, "{limit}");
    }
}

async fn ids_are_found_by_how_they_begin(calls: &dyn CallStore, history: &dyn CallHistory) {
    let epoch = calls.claim().await.unwrap();
    let (first, second) = (of("like", "read_file", 1), of("like", "read_file", 2));
    let (old, new) = (first.call, second.call);
    begin(calls, epoch, first).await;
    end(calls, epoch, second, None).await;
    let whole = old.to_string();
    let found = async |owner, prefix: &str, limit| {
        history.calls_with_id_prefix(owner, prefix, limit).await.unwrap()
    };
    assert_eq!(found("like", &whole, 9).await, [old]);
    assert_eq!(found("like", "call_", 9).await, [new, old]);
    assert_eq!(found("like", "", 9).await, [new, old]);
    assert_eq!(found("like", "call_", 1).await, [new]);
    for (owner, prefix) in [
        ("nobody", "call_"),
        ("like", "run_"),
        ("like", "%"),
        ("like", "call_\u{e9}"),
        ("like", "call_\u{0}"),
        ("like", &format!("{whole}0")),
    ] {
        assert_eq!(found(owner, prefix, 9).await, [], "{owner} {prefix:?}");
    }
}

async fn metrics_are_exact(calls: &dyn CallStore, history: &dyn CallHistory) {
    let epoch = calls.claim().await.unwrap();
    // 100, 99, … 1, of which every tenth failed.
    for n in (1..=100_u64).rev() {
        let error = n.is_multiple_of(10).then_some(ErrorType::ExecutionError);
        let ended_at = 5_000 + i64::try_from(n).unwrap();
        run_for(calls, epoch, of("metrics", "steady", 1_000), error, n, ended_at).await;
    }
    let last = of("metrics", "shaky", 9_000);
    let last_error = last.call;
    run_for(calls, epoch, last, Some(ErrorType::Timeout), 7, 9_900).await;
    run_for(calls, epoch, of("metrics", "shaky", 8_000), Some(ErrorType::ExecutionError), 9, 8_100)
        .await;
    // Denied before it ran: no failure of the tool, and no time of it.
    let denied = of("metrics", "shaky", 9_500);
    let error = ToolError::new(ErrorType::PolicyDenied, "A rule forbids this.");
    let refused = end_with(denied.clone(), None, epoch, &outcome(&denied, Err(error)));
    calls.settle(refused).await.unwrap();
    run_for(calls, epoch, of("metrics", "shaky", 9_600), Some(ErrorType::UnknownOutcome), 1, 9_999)
        .await;
    begin(calls, epoch, of("metrics", "shaky", 9_700)).await;
    begin(calls, epoch, of("metrics", "waiting", 4_000)).await;

    let found = history.metrics("metrics", None).await.unwrap();
    let names: Vec<&str> = found.iter().map(|tool| tool.tool.as_str()).collect();
    assert_eq!(names, ["shaky", "steady", "waiting"]);
    let [shaky, steady, waiting] = found.try_into().unwrap();
    assert_eq!((steady.count, steady.succeeded, steady.failed), (100, 90, 10));
    assert_eq!((steady.p50_nanos, steady.p95_nanos), (Some(50), Some(95)));
    let failure = steady.last_error.unwrap();
    assert_eq!(
        (failure.error_type, failure.message.as_str(), failure.at),
        (ErrorType::ExecutionError, "It went wrong at 5100.", 5_100)
    );
    assert_eq!(steady.last_at, 1_000);
    assert_eq!((shaky.count, shaky.succeeded, shaky.failed), (4, 0, 1));
    assert_eq!((shaky.timed_out, shaky.not_run, shaky.unknown), (1, 1, 1));
    assert_eq!((shaky.p50_nanos, shaky.p95_nanos), (Some(7), Some(9)));
    assert_eq!(shaky.last_error.map(|error| error.call), Some(last_error));
    assert_eq!(shaky.last_at, 9_700);
    assert_eq!((waiting.count, waiting.p50_nanos, waiting.last_at), (0, None, 4_000));
    assert_eq!(waiting.last_error, None);
}

async fn metrics_are_of_an_owner_and_a_time(calls: &dyn CallStore, history: &dyn CallHistory) {
    let epoch = calls.claim().await.unwrap();
    run_for(calls, epoch, of("window", "early", 1_000), None, 1, 1_001).await;
    run_for(calls, epoch, of("window", "late", 2_000), None, 1, 2_001).await;
    run_for(calls, epoch, of("elsewhere", "other", 2_000), None, 1, 2_001).await;
    for (since, expected) in [
        (None, ["early", "late"].as_slice()),
        (Some(1_000), &["early", "late"]),
        (Some(1_001), &["late"]),
        (Some(2_001), &[]),
    ] {
        let found = history.metrics("window", since).await.unwrap();
        let names: Vec<&str> = found.iter().map(|tool| tool.tool.as_str()).collect();
        assert_eq!(names, expected, "{since:?}");
    }
}
