//! Tests of retries: which failures are retried, when, and which never are.

use super::*;
use crate::model::FailureKind;

/// Waits that were made before each further attempt, in milliseconds.
fn waits(deltas: &[Delta]) -> Vec<u128> {
    let waits = deltas.iter().filter_map(|delta| match delta {
        Delta::Retry { wait, .. } => Some(wait.as_millis()),
        _ => None,
    });
    waits.collect()
}

#[tokio::test]
async fn passing_failures_are_asked_again_with_the_same_bytes() {
    for status in [408, 409, 500, 502, 503, 504, 529] {
        let server = Server::start([failing(status, "x"), failing(status, "x"), good()]).await;
        let (model, clock) = chat(&server);
        let (reply, deltas) = ask(&model, true).await;
        let reply = reply.unwrap_or_else(|error| panic!("{status}: {error}"));
        assert_eq!((reply.attempts, reply.turn.text.as_str()), (3, "hello"));
        let seen = server.seen();
        assert!(seen.len() == 3 && seen.iter().all(|s| s.body == seen[0].body), "{status}");
        let waits = waits(&deltas);
        assert!(
            (1000..=1250).contains(&waits[0]) && (2000..=2500).contains(&waits[1]),
            "{waits:?}"
        );
        assert_eq!(clock.slept().len(), 2);
        let attempts = deltas.iter().filter_map(|delta| match delta {
            Delta::Retry { attempt, .. } => Some(*attempt),
            _ => None,
        });
        assert_eq!(attempts.collect::<Vec<_>>(), [2, 3]);
    }
}

#[tokio::test]
async fn the_provider_says_when() {
    let retry_info =
        r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"9s"}]}}]"#;
    for (answer, ms) in [
        (failing(429, "x").header("Retry-After", "7"), 7000),
        (failing(429, "x").header("retry-after-ms", "1500").header("Retry-After", "7"), 1500),
        (failing(503, "x").header("Retry-After", "Sun, 06 Nov 1994 08:50:00 GMT"), 23_000),
        (Answer::new(429, retry_info), 9000),
    ] {
        let server = Server::start([answer, good()]).await;
        let (model, clock) = chat(&server);
        let (reply, deltas) = ask(&model, true).await;
        assert_eq!(reply.expect("an answer").attempts, 2);
        assert_eq!(waits(&deltas), [ms]);
        assert_eq!(clock.slept(), [Duration::from_millis(u64::try_from(ms).unwrap())]);
    }
}

#[tokio::test]
async fn too_long_a_wait_is_told_instead() {
    let server = Server::start([failing(429, "x").header("Retry-After", "3600")]).await;
    let (model, clock) = chat(&server);
    let error = ask(&model, true).await.0.expect_err("no answer");
    assert_eq!(
        (error.kind, error.status, error.attempts),
        (FailureKind::RateLimited, Some(429), 1)
    );
    assert_eq!(error.retry_after, Some(Duration::from_secs(3600)));
    assert!(error.message.contains("60 min"), "{error}");
    assert_eq!(clock.slept(), []);
}

#[tokio::test]
async fn it_ends_after_the_retries_or_the_time() {
    let server = Server::start([failing(500, "x")]).await;
    let (model, _) = chat(&server);
    let error = ask(&model, true).await.0.expect_err("no answer");
    assert_eq!((error.kind, error.attempts), (FailureKind::Unavailable, 3));
    assert!(error.message.contains("Tried 3 times"), "{error}");

    let (mut settings, _) = settings(&server, ProviderKind::OpenAiChat);
    settings.retries = 0;
    assert_eq!(ask(&super::model(settings.clone()), true).await.0.expect_err("none").attempts, 1);
    settings.retries = 9;
    settings.timeout = Duration::from_secs(5);
    let error = ask(&super::model(settings), true).await.0.expect_err("no answer");
    assert_eq!(error.attempts, 3, "1 s, 2 s, and no time for 4 s more");
}

#[tokio::test]
async fn some_failures_are_never_asked_again() {
    for (status, code, message, kind) in [
        (401, "invalid_api_key", "Incorrect API key", FailureKind::BadKey),
        (403, "", "no", FailureKind::BadKey),
        (402, "", "pay", FailureKind::NoCredit),
        (429, "insufficient_quota", "You exceeded your current quota", FailureKind::NoCredit),
        (400, "context_length_exceeded", "too long", FailureKind::ContextExceeded),
        (400, "content_filter", "no", FailureKind::Moderated),
        (400, "", "bad", FailureKind::BadRequest),
        (413, "", "bad", FailureKind::BadRequest),
        (422, "", "bad", FailureKind::BadRequest),
    ] {
        let body = serde_json::json!({"error": {"message": message, "code": code}}).to_string();
        let server = Server::start([Answer::new(status, body)]).await;
        let (model, _) = chat(&server);
        let error = ask(&model, true).await.0.expect_err("no answer");
        assert_eq!((error.kind, error.status), (kind, Some(status)), "{error}");
        assert_eq!(server.seen().len(), 1, "{error}");
    }
}

#[tokio::test]
async fn a_dead_server_is_tried_again_and_reported() {
    let server = Server::start([good()]).await;
    let (settings, clock) = settings(&server, ProviderKind::Ollama);
    drop(server);
    // The task of the server ends at the next turn of the runtime; then the port is closed.
    tokio::task::yield_now().await;
    let error = ask(&model(settings), true).await.0.expect_err("no answer");
    assert_eq!((error.kind, error.attempts), (FailureKind::Connection, 3));
    assert!(error.message.contains("ollama serve"), "{error}");
    assert_eq!(clock.slept().len(), 2);
}

#[tokio::test]
async fn own_limits_make_wait_or_tell() {
    let server = Server::start([good()]).await;
    let (mut settings, clock) = settings(&server, ProviderKind::OpenAiChat);
    settings.max_per_minute = Some(2);
    settings.max_per_hour = Some(3);
    let model = model(settings);
    for _ in 0..2 {
        ask(&model, true).await.0.expect("an answer");
    }
    clock.pass(Duration::from_secs(10));
    let (reply, deltas) = ask(&model, true).await;
    assert_eq!(reply.expect("an answer").attempts, 1);
    assert_eq!(waits(&deltas), [50_000]);
    let error = ask(&model, true).await.0.expect_err("the hour is used up");
    assert_eq!((error.kind, error.attempts), (FailureKind::RateLimited, 0));
    assert_eq!(server.seen().len(), 3);
}
