//! Stage 12: attempts, timeouts, panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;
use toolcrib_core::{Effect, ErrorType, OutcomeKind, ToolError, ToolOutput};
use toolcrib_engine::{Engine, EngineSettings, ToolSettings};
use toolcrib_testkit::ScriptedTool;

use crate::support::{call, engine, failure, with};

/// Fails `times` times, then works.
fn flaky(times: u32, error: ToolError) -> ScriptedTool {
    let left = Arc::new(AtomicU32::new(times));
    ScriptedTool::new("flaky").does(move |_, _| {
        let fails =
            left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        let result = if fails { Err(error.clone()) } else { Ok(ToolOutput::text("ok")) };
        Box::pin(std::future::ready(result))
    })
}

#[tokio::test(start_paused = true)]
async fn only_declared_effect_and_typed_error_allow_another_attempt() {
    let network = || ToolError::new(ErrorType::NetworkError, "down");
    for (effect, error, times, runs, works) in [
        (Effect::Read, network(), 2, 3, true),
        (Effect::Idempotent, network(), 1, 2, true),
        (Effect::Read, network(), 9, 3, false),
        (Effect::SideEffect, network(), 1, 1, false),
        (Effect::Destructive, network(), 1, 1, false),
        (Effect::Read, ToolError::execution("network down, please retry"), 1, 1, false),
        (Effect::Read, network().transient(false), 1, 1, false),
    ] {
        let (engine, tool) = with(flaky(times, error).spec(|s| s.effect = effect)).await;
        let outcome = call(&engine, "flaky", json!({})).await;
        assert_eq!(
            (tool.runs(), outcome.kind == OutcomeKind::Succeeded),
            (runs, works),
            "{effect:?}"
        );
        assert_eq!(outcome.report.attempts as usize, runs);
    }
}

#[tokio::test(start_paused = true)]
async fn waits_grow_by_half_with_up_to_three_tenths_more() {
    let (engine, _) = with(flaky(2, ToolError::new(ErrorType::RateLimited, "slow down"))).await;
    let begun = tokio::time::Instant::now();
    call(&engine, "flaky", json!({})).await;
    let waited = begun.elapsed().as_secs_f64();
    let least = 1.5 + 2.25;
    assert!((least..least * 1.3 + 0.01).contains(&waited), "{waited}");
}

/// Regression: each attempt had the whole timeout, so a dead server cost three of them.
#[tokio::test(start_paused = true)]
async fn attempts_share_one_deadline() {
    let tool = ScriptedTool::new("dead")
        .hangs()
        .spec(|s| (s.timeout, s.effect) = (Duration::from_secs(20), Effect::Read));
    let (engine, tool) = with(tool).await;
    let begun = tokio::time::Instant::now();
    let outcome = call(&engine, "dead", json!({})).await;
    assert_eq!((outcome.kind, tool.runs()), (OutcomeKind::TimedOut, 1));
    assert_eq!(begun.elapsed().as_secs(), 20);

    // Each attempt fails after 4 of the 10 s, so there is no time for a third one.
    let tool = ScriptedTool::new("slow").does(|_, _| {
        Box::pin(async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            Err(ToolError::new(ErrorType::NetworkError, "down"))
        })
    });
    let (engine, tool) = with(tool.spec(|s| s.timeout = Duration::from_secs(10))).await;
    let begun = tokio::time::Instant::now();
    let outcome = call(&engine, "slow", json!({})).await;
    assert_eq!(outcome.error_type(), Some(ErrorType::NetworkError));
    assert_eq!(tool.runs(), 2);
    assert!(begun.elapsed() <= Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_owner_sets_attempts_and_backoff_of_a_tool() {
    let down = || ToolError::new(ErrorType::NetworkError, "down");
    let said = |attempts, backoff| ToolSettings {
        attempts: Some(attempts),
        backoff: Some(backoff),
        ..ToolSettings::default()
    };
    for (attempts, runs) in [(1, 1), (5, 5)] {
        let mut settings = EngineSettings::default();
        settings.tools.insert("flaky".into(), said(attempts, Duration::from_millis(10)));
        let tool = Arc::new(flaky(9, down()));
        let engine = engine(Engine::builder().settings(settings), &[&tool]).await;
        let begun = tokio::time::Instant::now();
        call(&engine, "flaky", json!({})).await;
        assert_eq!(tool.runs(), runs);
        assert!(begun.elapsed() < Duration::from_millis(200), "{:?}", begun.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_says_how_long_and_warns_of_effects() {
    for (effect, warns) in [(Effect::Read, false), (Effect::SideEffect, true)] {
        let tool = ScriptedTool::new("slow")
            .hangs()
            .spec(|s| (s.timeout, s.effect, s.attempts) = (Duration::from_secs(5), effect, 1));
        let (engine, _) = with(tool).await;
        let outcome = call(&engine, "slow", json!({})).await;
        let (kind, error_type, message) = failure(&outcome);
        assert_eq!((kind, error_type), (OutcomeKind::TimedOut, ErrorType::Timeout));
        assert!(message.starts_with("Tool execution timed out after 5s"), "{message}");
        assert_eq!(message.contains("unknown"), warns, "{message}");
        assert_eq!(outcome.exit_code(), 124);
    }
}

#[tokio::test(start_paused = true)]
async fn the_token_reaches_the_tool_when_its_time_is_over() {
    let token = Arc::new(std::sync::Mutex::new(None));
    let kept = Arc::clone(&token);
    let tool = ScriptedTool::new("slow").spec(|s| s.attempts = 1).does(move |ctx, _| {
        *kept.lock().unwrap() = Some(ctx.cancel.clone());
        Box::pin(std::future::pending())
    });
    let (engine, _) = with(tool).await;
    call(&engine, "slow", json!({})).await;
    assert!(token.lock().unwrap().as_ref().unwrap().is_cancelled());
}

#[tokio::test]
async fn a_crash_is_a_result_and_the_process_lives() {
    let (engine, tool) =
        with(ScriptedTool::new("bad").does(|_, args| match args["how"].as_str() {
            Some("later") => Box::pin(async {
                tokio::task::yield_now().await;
                panic!("later")
            }),
            _ => panic!("at once"),
        }))
        .await;
    for how in ["now", "later"] {
        let outcome = call(&engine, "bad", json!({"how": how})).await;
        let (kind, error_type, message) = failure(&outcome);
        assert_eq!((kind, error_type), (OutcomeKind::Failed, ErrorType::Crashed));
        assert!(message.contains(if how == "now" { "at once" } else { "later" }), "{message}");
    }
    assert_eq!(tool.runs(), 2);
}
