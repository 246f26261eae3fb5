//! Tests of streams that break, stall, carry an error, or are cancelled.

use super::*;
use crate::model::FailureKind;

/// Sends this as the first answer and a valid one as the second: expects two attempts, and that the
/// first one's text is discarded.
async fn check_asked_again(first: Answer, shown: &str, why: &str) {
    let server = Server::start([first, good()]).await;
    let (model, _) = chat(&server);
    let (reply, deltas) = ask(&model, true).await;
    let reply = reply.unwrap_or_else(|error| panic!("{why}: {error}"));
    assert_eq!((reply.attempts, reply.turn.text.as_str()), (2, "hello"), "{why}");
    let retry = deltas.iter().position(|delta| matches!(delta, Delta::Retry { .. }));
    let (before, after) = deltas.split_at(retry.expect("a retry"));
    assert_eq!((text_of(before).as_str(), text_of(after).as_str()), (shown, "hello"), "{why}");
    let Delta::Retry { why: told, .. } = &after[0] else { panic!("{after:?}") };
    assert!(told.contains(why), "{told}");
}

#[tokio::test]
async fn an_answer_that_did_not_come_whole_is_asked_for_again() {
    let half = || sse(&["ha", "lf"]);
    check_asked_again(Answer::new(200, half()).cut(), "half", "broke").await;
    check_asked_again(Answer::new(200, half()), "half", "ended before it was whole").await;
    check_asked_again(Answer::new(200, "data: {\"choi"), "", "ended before it was whole").await;
    check_asked_again(Answer::new(200, ": ping\n\n"), "", "ended before it was whole").await;
    check_asked_again(Answer::new(200, ""), "", "ended before it was whole").await;
}

#[tokio::test]
async fn a_whole_answer_that_ends_early_is_asked_for_again() {
    let whole = r#"{"choices":[{"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}"#;
    for cut in [1, 12, whole.len() - 1] {
        let server =
            Server::start([Answer::new(200, &whole[..cut]), Answer::new(200, whole)]).await;
        let (model, _) = chat(&server);
        let reply = ask(&model, false).await.0.unwrap_or_else(|error| panic!("{cut}: {error}"));
        assert_eq!((reply.attempts, reply.turn.text.as_str()), (2, "hello"), "{cut}");
    }
}

#[tokio::test]
async fn an_error_inside_a_stream_is_one() {
    let error = r#"{"error":{"message":"Overloaded","type":"overloaded_error","code":529}}"#;
    let event = format!("data: {error}\n\n");
    check_asked_again(Answer::new(200, sse(&["ha"]) + &event), "ha", "Overloaded").await;
    check_asked_again(Answer::new(200, event), "", "(529)").await;
    check_asked_again(Answer::new(200, error), "", "overloaded").await;

    let quota = r#"data: {"error":{"message":"no more","code":"insufficient_quota"}}"#;
    let server = Server::start([Answer::new(200, format!("{}{quota}\n\n", sse(&["ha"])))]).await;
    let (model, _) = chat(&server);
    let error = ask(&model, true).await.0.expect_err("no answer");
    assert_eq!((error.kind, error.attempts), (FailureKind::NoCredit, 1));
    assert_eq!(error.partial, "ha");
}

#[tokio::test]
async fn an_overloaded_provider_of_messages_says_so_in_the_stream() {
    let stream = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",",
        "\"role\":\"assistant\",\"content\":[]}}\n\n",
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
    );
    let server = Server::start([Answer::new(200, stream)]).await;
    let model = model(settings(&server, ProviderKind::Anthropic).0);
    let error = ask(&model, true).await.0.expect_err("no answer");
    assert_eq!((error.kind, error.attempts), (FailureKind::Unavailable, 3));
    assert!(error.message.contains("Overloaded"), "{error}");
}

#[tokio::test]
async fn silence_ends_an_attempt() {
    let quiet = Answer::new(200, sse(&["ha"])).silent();
    let server = Server::start([quiet.clone(), good()]).await;
    let (mut settings, _) = settings(&server, ProviderKind::OpenAiChat);
    settings.idle = Duration::from_millis(80);
    settings.retries = 1;
    let model = model(settings);
    let (reply, deltas) = ask(&model, true).await;
    assert_eq!(reply.expect("an answer").attempts, 2);
    assert_eq!(text_of(&deltas), "hahello");
    server.now([quiet]);
    let error = ask(&model, true).await.0.expect_err("silence");
    assert_eq!((error.kind, error.partial.as_str()), (FailureKind::Idle, "ha"));
    assert!(error.message.contains("0.08 s"), "{error}");
}

#[tokio::test]
async fn the_whole_time_is_bounded_too() {
    let server = Server::start([Answer::new(200, sse(&["ha"])).silent()]).await;
    let (mut settings, _) = settings(&server, ProviderKind::OpenAiChat);
    settings.timeout = Duration::from_millis(80);
    for stream in [true, false] {
        let error = ask(&model(settings.clone()), stream).await.0.expect_err("time is over");
        assert_eq!((error.kind, error.attempts), (FailureKind::Connection, 1), "{error}");
        assert!(error.message.contains("not whole within 0.08 s"), "{error}");
    }
}

#[tokio::test]
async fn nothing_is_lost_when_only_the_connection_ends_badly() {
    for end in [Answer::cut, Answer::silent] {
        let server = Server::start([end(Answer::new(200, sse(&["hello"]) + SSE_END))]).await;
        let (model, _) = chat(&server);
        let reply = ask(&model, true).await.0.expect("the answer was whole");
        assert_eq!((reply.turn.text.as_str(), reply.attempts), ("hello", 1));
    }
}

#[tokio::test]
async fn what_is_no_answer_is_told_and_not_asked_again() {
    for (body, part) in [
        ("<html><head><title>My NAS</title></head></html>", "My NAS"),
        ("{\"status\":\"fine\"}", "not an answer of a model"),
        ("welcome", "welcome"),
    ] {
        for stream in [true, false] {
            let server = Server::start([Answer::new(200, body)]).await;
            let (model, _) = chat(&server);
            let error = ask(&model, stream).await.0.expect_err("no answer");
            assert_eq!((error.kind, error.attempts), (FailureKind::Unreadable, 1), "{error}");
            assert!(error.message.contains(part), "{error}");
        }
    }
    let server =
        Server::start([Answer::new(502, "<html><title>502 Bad Gateway</title></html>")]).await;
    let (model, _) = chat(&server);
    let error = ask(&model, true).await.0.expect_err("no answer");
    assert_eq!((error.kind, error.attempts), (FailureKind::Unavailable, 3));
    assert!(error.message.contains("\"502 Bad Gateway\""), "{error}");
}

#[tokio::test]
async fn stopping_keeps_what_has_come() {
    let server = Server::start([Answer::new(200, sse(&["so", " far"])).silent()]).await;
    let (model, _) = chat(&server);
    let cancel = CancellationToken::new();
    let stopper = cancel.clone();
    let mut shown = String::new();
    let mut sink = |delta| {
        if let Delta::Text { text } = delta {
            shown.push_str(&text);
        }
        if shown == "so far" {
            stopper.cancel();
        }
    };
    let request = request(true);
    let error = model.ask(&request, &mut sink, &cancel).await.expect_err("stopped");
    assert_eq!(error.kind, FailureKind::Cancelled);
    assert_eq!((error.partial.as_str(), error.attempts), ("so far", 1));

    // A request that is stopped before it begins sends nothing.
    let error = model.ask(&request, &mut |_| {}, &cancel).await.expect_err("stopped");
    assert_eq!((error.kind, error.attempts), (FailureKind::Cancelled, 0));
    assert_eq!(server.seen().len(), 1);
}
