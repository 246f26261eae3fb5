//! Operations on the heartbeat.

use toolcrib_ops::heartbeat;

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
