//! Operations on the heartbeat.

use toolcrib_ops::OpError;
use toolcrib_ops::heartbeat::{self, ArrivalKind, TellHeartbeatRequest};

use crate::fixture::Fixture;

#[tokio::test]
async fn the_prompt_is_hidden_from_viewers() {
    let fixture = Fixture::new().await;
    let shown = heartbeat::show(&fixture.ctx()).await.unwrap();
    assert!(shown.prompt.is_some_and(|prompt| !prompt.is_empty()));
    assert!(!shown.running && shown.history.is_empty());
    let seen = heartbeat::show(&fixture.ctx_of(fixture.viewer())).await.unwrap();
    assert_eq!((seen.prompt, seen.interval_minutes), (None, shown.interval_minutes));
}

#[tokio::test]
async fn what_programs_hand_in_is_in_the_next_prompt() {
    let fixture = Fixture::new().await;
    let ctx = fixture.ctx();
    let new = TellHeartbeatRequest {
        kind: ArrivalKind::Message,
        from: "Mia".to_owned(),
        title: String::new(),
        text: "Call me.".to_owned(),
    };
    let told = heartbeat::tell(&ctx, new.clone()).await.unwrap();
    assert_eq!((told.kind, told.from.as_str()), (ArrivalKind::Message, "Mia"));
    let prompt = heartbeat::show(&ctx).await.unwrap().prompt.unwrap();
    assert!(prompt.contains("## New Messages") && prompt.contains("> Call me."), "{prompt}");
    let empty = TellHeartbeatRequest { text: " ".to_owned(), ..new };
    assert!(matches!(heartbeat::tell(&ctx, empty).await, Err(OpError::Invalid(_))));
}
