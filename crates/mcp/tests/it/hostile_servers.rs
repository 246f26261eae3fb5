//! Servers that flood, ask endlessly, or send unreadable data.

use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib_core::{Outcome, OutcomeKind};
use toolcrib_mcp::client::ConnectionState;

use crate::test_backend::{World, world_of};

async fn hostile(files: &[(&str, &str)]) -> Option<World> {
    world_of("hostile.py", files, |_| {}).await
}

fn text(outcome: &Outcome) -> String {
    outcome.result.as_ref().map(|result| result.result.to_string()).unwrap_or_default()
}

/// Returns the resident memory of this process, in MB.
fn resident_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

#[tokio::test]
async fn a_flood_of_changed_lists_costs_a_few_looks() {
    let Some(world) = hostile(&[]).await else { return };
    let before = resident_mb();
    let outcome = world.call("flood", json!({"kind": "changed", "count": 50_000})).await;
    assert_eq!(outcome.kind, OutcomeKind::Succeeded, "{outcome:?}");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let looks = world.calls().iter().filter(|call| *call == "list").count();
    assert!((2..=6).contains(&looks), "{looks}");
    let grown = resident_mb().saturating_sub(before);
    assert!(grown < 50, "{grown} MB");
}

#[tokio::test]
async fn a_flood_of_other_notifications_is_left_out() {
    for kind in ["log", "progress", "updated", "custom"] {
        let Some(world) = hostile(&[]).await else { return };
        let before = resident_mb();
        let outcome = world.call("flood", json!({"kind": kind, "count": 100_000})).await;
        assert_eq!(outcome.kind, OutcomeKind::Succeeded, "{kind}: {outcome:?}");
        let grown = resident_mb().saturating_sub(before);
        assert!(grown < 50, "{kind}: {grown} MB");
        assert!(world.connection.errors().contains("left out so far"), "{kind}");
        assert!(world.host.progress.lock().unwrap().len() < 5_000);
    }
}

#[tokio::test]
async fn a_server_that_does_not_stop_is_in_quarantine() {
    for (kind, count) in [("custom", 1_000_000), ("request", 5_000)] {
        let Some(world) = hostile(&[]).await else { return };
        let outcome = world.call("flood", json!({"kind": kind, "count": count})).await;
        assert_eq!(outcome.kind, OutcomeKind::Unknown, "{kind}: {outcome:?}");
        let error = loop {
            let error = world.connection.connect().await.unwrap_err();
            if error.detail.as_ref().is_some_and(|why| why.contains("quarantine")) {
                break error;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        assert!(error.message.contains("It is tried again in"), "{error:?}");
        let ConnectionState::Error { reason } = world.connection.state() else { panic!() };
        assert!(reason.contains("it is in quarantine for 5 minutes: it sent"), "{reason}");
        assert_eq!(world.calls().iter().filter(|call| *call == "start").count(), 1);
    }
}

/// Regression: a question was shown to the client of the newest call, and its answer went into
/// another result.
#[tokio::test]
async fn a_question_that_may_belong_to_several_calls_is_declined() {
    let Some(world) = hostile(&[]).await else { return };
    let asks = async {
        while !world.calls().iter().any(|call| call == "held") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        world.call("ask_while_held", json!({})).await
    };
    let (held, asked) = tokio::join!(world.call("hold", json!({})), asks);
    assert!(text(&asked).contains("decline"), "{asked:?}");
    assert!(text(&held).contains("held"), "{held:?}");
    assert!(world.host.asked.lock().unwrap().is_empty());
    assert!(world.connection.errors().contains("does not say which one"));
    // If the call runs alone, the question is shown to its client.
    let alone = world.call("ask_while_held", json!({})).await;
    assert!(text(&alone).contains("Ada"), "{alone:?}");
    assert_eq!(*world.host.asked_for.lock().unwrap(), [alone.call]);
}

/// The server may still work on an abandoned call, and ask a question for it.
#[tokio::test]
async fn a_question_after_a_call_was_given_up_is_declined() {
    let short = |config: &mut toolcrib_mcp::client::ServerConfig| {
        config.timeout = Duration::from_millis(500);
    };
    let Some(world) = world_of("hostile.py", &[], short).await else { return };
    assert_eq!(world.call("hold", json!({})).await.kind, OutcomeKind::TimedOut);
    let asked = world.call("ask_while_held", json!({})).await;
    assert!(text(&asked).contains("decline"), "{asked:?}");
}

#[tokio::test]
async fn questions_of_one_call_are_bounded() {
    let Some(world) = hostile(&[]).await else { return };
    let outcome = world.call("ask_often", json!({"count": 10})).await;
    assert_eq!(outcome.kind, OutcomeKind::Succeeded, "{outcome:?}");
    world.host.asked.lock().unwrap().clear();
    let outcome = world.call("ask_often", json!({"count": 100_000})).await;
    assert_eq!(outcome.kind, OutcomeKind::Unknown, "{outcome:?}");
    assert!(outcome.to_text().contains("too many questions"), "{}", outcome.to_text());
    assert_eq!(world.host.asked.lock().unwrap().len(), 10);
}

#[tokio::test]
async fn only_pages_of_the_web_are_opened() {
    let Some(world) = hostile(&[]).await else { return };
    for (url, opened) in [("https://a.example/", true), ("file:///etc/passwd", false)] {
        let outcome = world.call("ask_page", json!({"url": url})).await;
        assert_eq!(text(&outcome).contains("accept"), opened, "{url}: {outcome:?}");
    }
    assert_eq!(world.host.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_start_without_an_answer_is_bounded() {
    let begin = Instant::now();
    let Some(world) = hostile(&[("hostile.json", r#"{"hangs": true}"#)]).await else { return };
    assert!(begin.elapsed() < Duration::from_secs(25), "{:?}", begin.elapsed());
    let ConnectionState::Error { reason } = world.connection.state() else { panic!() };
    assert!(reason.contains("within 15 s"), "{reason}");
}

/// Regression: each of these calls waited for its timeout of a minute.
#[tokio::test]
async fn an_answer_that_cannot_be_read_ends_its_call_at_once() {
    let Some(world) = hostile(&[]).await else { return };
    for (kind, why) in [
        ("long", "longer than 16 MB"),
        ("long_id_last", "longer than 16 MB"),
        ("utf8", "invalid UTF-8"),
        ("deep", "nested too deeply"),
        ("half", "cut off"),
        ("id_object", "not a JSON-RPC message"),
        ("id_float", "not a JSON-RPC message"),
    ] {
        let begin = Instant::now();
        let outcome = world.call("unreadable", json!({"kind": kind})).await;
        assert!(begin.elapsed() < Duration::from_secs(20), "{kind}");
        assert_eq!(outcome.kind, OutcomeKind::Unknown, "{kind}: {outcome:?}");
        assert!(outcome.to_text().contains(why), "{kind}: {}", outcome.to_text());
        assert!(world.connection.errors().contains("cannot be read"), "{kind}");
    }
    assert_eq!(world.call("plain", json!({})).await.kind, OutcomeKind::Succeeded);
    assert_eq!(world.calls().iter().filter(|call| *call == "start").count(), 1);
}

#[tokio::test]
async fn stray_answers_and_lines_are_counted() {
    let Some(world) = hostile(&[]).await else { return };
    assert_eq!(world.call("stray", json!({"count": 5})).await.kind, OutcomeKind::Succeeded);
    let log = world.connection.errors();
    for part in
        ["it answered request 100003", "such answers so far: 4", "is not a message", "so far: 2"]
    {
        assert!(log.contains(part), "{part}: {log}");
    }
}

#[tokio::test]
async fn an_endless_list_is_cut_and_says_so() {
    let before = resident_mb();
    let Some(world) = hostile(&[("hostile.json", r#"{"endless": true}"#)]).await else { return };
    let cut = world.connection.cut().await.unwrap();
    assert!(cut.contains("was cut after") && cut.contains("16 MB"), "{cut}");
    assert!(world.connection.errors().contains("was cut after"));
    let grown = resident_mb().saturating_sub(before);
    assert!(grown < 120, "{grown} MB");
}

/// Definitions arrive in their wire form, with members that none of our libraries knows.
#[tokio::test]
async fn a_member_that_nothing_here_knows_is_part_of_a_definition() {
    let tool = |more: serde_json::Value| {
        let mut tool =
            json!({"name": "add", "description": "Adds.", "inputSchema": {"type": "object"}});
        tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([tool]).to_string()
    };
    let first = tool(json!({"execution": {"later": 1}}));
    let Some(world) = crate::test_backend::world(&[("tools.json", &first)], |_| {}).await else {
        return;
    };
    assert_eq!(world.connection.offered().await.unwrap().tools["add"]["execution"]["later"], 1);
    world.connection.disconnect().await;
    let second = tool(json!({"execution": {"later": 2}}));
    std::fs::write(world.folder.path().join("tools.json"), second).unwrap();
    let held = world.connection.pending_reviews().await.unwrap();
    assert_eq!(held.len(), 1, "{held:?}");
    assert!(held[0].diff.contains("later"), "{}", held[0].diff);
    // The tool stays held when the server is not connected.
    world.connection.disconnect().await;
    assert_eq!(world.connection.known_pending_reviews().await.len(), 1);
    world.connection.accept_reviews().await.unwrap();
    world.connection.disconnect().await;
    assert_eq!(world.connection.known_pending_reviews().await, []);
}

/// A tool that was never reviewed is not called, and its server cannot see the workspace.
#[tokio::test]
async fn a_server_is_reviewed_before_its_first_call() {
    let Some(world) = hostile(&[]).await else { return };
    assert_eq!(*world.host.first_sights.lock().unwrap(), [true, false]);
    world.connection.disconnect().await;
    *world.host.pins.lock().unwrap() = None;
    let source = toolcrib_mcp::client::McpSource::new(world.connection.clone());
    world.engine.catalog().attach(&source).await.unwrap();
    let outcome = world.call("plain", json!({})).await;
    assert_eq!(outcome.kind, OutcomeKind::Failed, "{outcome:?}");
    assert!(!world.calls().iter().any(|call| call == "plain"));
}

/// Regression: each start of such a server took ten seconds.
#[tokio::test]
async fn a_server_that_ignores_discover_is_remembered() {
    let Some(world) = hostile(&[("hostile.json", r#"{"silent": true}"#)]).await else { return };
    world.connection.disconnect().await;
    let begin = Instant::now();
    world.connection.connect().await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_tool_that_requires_a_task_is_called_as_one() {
    let Some(world) = hostile(&[]).await else { return };
    let outcome = world.call("slow", json!({})).await;
    assert!(text(&outcome).contains("the task is done"), "{outcome:?}");
    let looks = world.calls().iter().filter(|call| *call == "tasks/get").count();
    assert_eq!(looks, 3, "{:?}", world.calls());
}
