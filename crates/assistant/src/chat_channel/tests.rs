//! The state of an account with the in-memory store.

use std::sync::Arc;

use toolcrib_engine::store::MemoryAssistantRows;

use super::{ChannelState, ChatChannels, Inbound, InboundBatch, InboundKind, MAX_TEXT_CHARS};

fn text(id: &str, user: &str, text: &str) -> Inbound {
    Inbound {
        id: id.to_owned(),
        user: user.to_owned(),
        name: "Ann\nAdmin".to_owned(),
        room: user.to_owned(),
        kind: InboundKind::Text { text: text.to_owned(), forwarded: false, ignored: None },
    }
}

fn batch(cursor: &str, events: Vec<Inbound>) -> InboundBatch {
    InboundBatch { cursor: cursor.to_owned(), events }
}

#[tokio::test]
async fn a_message_is_taken_once_with_its_position() {
    let channels = ChatChannels::new(Arc::new(MemoryAssistantRows::default()));
    let accept = |from: Option<&'static str>, batch: InboundBatch| {
        let channels = channels.clone();
        async move { channels.accept("", "t", (from, &batch), |_| true).await.unwrap() }
    };
    accept(None, batch("2", vec![text("1", "7", "hello")])).await;
    // The same batch again, as another process reads it.
    assert!(accept(None, batch("2", vec![text("1", "7", "hello")])).await.is_stale);
    // The service delivers the message a second time behind its position.
    accept(Some("2"), batch("3", vec![text("1", "7", "hello"), text("2", "7", "more")])).await;
    let state = channels.get("", "t").await.unwrap();
    let waiting: Vec<&str> = state.people["7"].waiting.iter().map(|one| one.id.as_str()).collect();
    assert_eq!((waiting, state.cursor.as_deref()), (vec!["1", "2"], Some("3")));
    assert_eq!(state.people["7"].name, "AnnAdmin");
}

#[test]
fn a_stranger_is_refused_once_and_the_number_of_strangers_is_bounded() {
    let mut state = ChannelState::default();
    let mut refused = 0;
    for round in 0..3 {
        let events = (0..1_000).map(|n| text(&format!("{round}-{n}"), &format!("u{n}"), "hi"));
        let from = state.cursor.clone();
        let batch = batch(&round.to_string(), events.collect());
        refused += state.accept(from.as_deref(), &batch, |_| false, 0).refusals.len();
    }
    assert_eq!((refused, state.strangers.len(), state.people.len()), (100, 100, 0));
    assert!(serde_json::to_string(&state).unwrap().len() < 60_000);
}

#[test]
fn long_texts_and_too_many_texts_are_answered_in_words() {
    let mut state = ChannelState::default();
    let long = "x".repeat(MAX_TEXT_CHARS + 1);
    let mut events = vec![text("long", "7", &long)];
    events.extend((0..60).map(|n| text(&n.to_string(), "7", "hi")));
    state.accept(None, &batch("1", events), |_| true, 0);
    let person = &state.people["7"];
    assert_eq!((person.waiting.len(), person.outbox.len()), (50, 11));
    assert!(person.outbox[0].text.contains("16001 characters"), "{:?}", person.outbox[0]);
}
