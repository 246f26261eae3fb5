//! Conversations and their messages.

use serde_json::{Value, json};
use toolcrib_core::{
    Conversation, ConversationId, ConversationStore, RunId, StoreError, StoredMessage,
};

use super::fixtures::{conversation, message};

/// Conversations keep their owner and their messages' order, without gaps.
///
/// # Panics
/// When the store does something else.
pub async fn conversations(store: &dyn ConversationStore) {
    a_conversation_changes_but_not_its_owner(store).await;
    the_newest_come_first(store).await;
    messages_are_added_and_answered(store).await;
    what_does_not_fit_is_not_written(store).await;
    bodies_come_back_as_they_were(store).await;
}

async fn a_conversation_changes_but_not_its_owner(store: &dyn ConversationStore) {
    let made = conversation("ann");
    assert_eq!(store.conversation(made.id).await, Ok(None));
    store.put_conversation(made.clone()).await.unwrap();
    assert_eq!(store.conversation(made.id).await, Ok(Some(made.clone())));
    let renamed = Conversation {
        title: "About \"caf\u{e9}s\"".into(),
        agent: "baker".into(),
        workspace: String::new(),
        ..made.clone()
    };
    let sent = Conversation { created_at: 5, updated_at: 5_000, ..renamed.clone() };
    store.put_conversation(sent).await.unwrap();
    assert_eq!(store.conversation(made.id).await, Ok(Some(renamed.clone())));
    let stolen = Conversation { owner: "ben".into(), ..made.clone() };
    assert!(matches!(store.put_conversation(stolen.clone()).await, Err(StoreError::Conflict(_))));
    assert!(matches!(store.change_conversation(stolen).await, Err(StoreError::Conflict(_))));
    assert_eq!(store.conversation(made.id).await, Ok(Some(renamed.clone())));
    store.change_conversation(made.clone()).await.unwrap();
    assert_eq!(store.conversation(made.id).await, Ok(Some(made.clone())));
    // What was deleted does not come back by a change.
    store.delete_conversation("ann", made.id).await.unwrap();
    let gone = store.change_conversation(renamed).await;
    assert_eq!(gone, Err(StoreError::Missing(made.id.to_string())));
    assert_eq!(store.conversation(made.id).await, Ok(None));
}

async fn the_newest_come_first(store: &dyn ConversationStore) {
    let made: Vec<Conversation> = (0..3).map(|_| conversation("newest")).collect();
    for one in &made {
        store.put_conversation(one.clone()).await.unwrap();
    }
    store.put_conversation(conversation("other")).await.unwrap();
    let later = StoredMessage { created_at: 7_000, ..message(0, json!("hello")) };
    store.put_messages(made[1].id, vec![later]).await.unwrap();
    let earlier = StoredMessage { created_at: 6_000, ..message(1, json!("late clock")) };
    store.put_messages(made[1].id, vec![earlier]).await.unwrap();
    let list = store.conversations("newest", 10).await.unwrap();
    let ids: Vec<ConversationId> = list.iter().map(|c| c.id).collect();
    assert_eq!(ids, [made[1].id, made[2].id, made[0].id]);
    assert_eq!(list[0].updated_at, 7_000);
    assert_eq!(store.conversations("newest", 2).await.unwrap(), list[..2]);
    assert_eq!(store.conversations("newest", usize::MAX).await.unwrap(), list);
    assert!(store.conversations("newest", 0).await.unwrap().is_empty());
    assert!(store.conversations("new", 10).await.unwrap().is_empty());
    // Page by page, those of the same time by their ids.
    for (at, last) in list.iter().enumerate() {
        let before = (last.updated_at, last.id);
        let rest = store.conversations_before("newest", before, 9).await.unwrap();
        assert_eq!(rest, list[at + 1..]);
        let next = store.conversations_before("newest", before, 1).await.unwrap();
        assert_eq!(next, list[at + 1..list.len().min(at + 2)]);
    }
}

async fn messages_are_added_and_answered(store: &dyn ConversationStore) {
    let id = new(store).await;
    let mut all = vec![message(0, json!("question")), message(1, json!({"calls": 1}))];
    store.put_messages(id, all.clone()).await.unwrap();
    assert_eq!(store.messages(id, 0).await.unwrap(), all);
    // The call is answered and the next message comes; place, run and time of the answered one
    // stay.
    all[1].body = json!({"calls": 1, "results": 1});
    let writer = RunId::fresh();
    all.push(StoredMessage { run: Some(writer), ..message(2, json!("thanks")) });
    let sent = vec![
        StoredMessage { run: Some(RunId::fresh()), created_at: 9, ..all[1].clone() },
        all[2].clone(),
    ];
    store.put_messages(id, sent).await.unwrap();
    assert_eq!(store.messages(id, 0).await.unwrap(), all);
    assert_eq!(store.messages(id, 2).await.unwrap(), all[2..]);
    assert_eq!(store.messages_page(id, 0, 2).await.unwrap(), all[..2]);
    assert_eq!(store.messages_page(id, 2, 2).await.unwrap(), all[2..]);
    assert!(store.messages_page(id, 0, 0).await.unwrap().is_empty());
    assert_eq!(store.messages_of_run(id, writer).await.unwrap(), all[2..]);
    assert!(store.messages_of_run(id, RunId::fresh()).await.unwrap().is_empty());
    assert!(store.messages(id, 3).await.unwrap().is_empty());
    assert!(store.messages(id, u64::MAX).await.unwrap().is_empty());
    assert!(store.messages(ConversationId::fresh(), 0).await.unwrap().is_empty());
}

async fn what_does_not_fit_is_not_written(store: &dyn ConversationStore) {
    let id = new(store).await;
    let first = message(0, json!("first"));
    store.put_messages(id, vec![first.clone()]).await.unwrap();
    for places in [vec![2], vec![1, 3], vec![0, 1, 3], vec![2, 1], vec![u64::MAX]] {
        let messages = places.iter().map(|seq| message(*seq, json!("lost"))).collect();
        let answer = store.put_messages(id, messages).await;
        assert!(matches!(answer, Err(StoreError::Conflict(_))), "{places:?}: {answer:?}");
        assert_eq!(store.messages(id, 0).await.unwrap(), std::slice::from_ref(&first));
    }
    for messages in [vec![], vec![first]] {
        let answer = store.put_messages(ConversationId::fresh(), messages).await;
        assert!(matches!(answer, Err(StoreError::Missing(_))), "{answer:?}");
    }
    store.put_messages(id, vec![]).await.unwrap();
}

async fn bodies_come_back_as_they_were(store: &dyn ConversationStore) {
    let id = new(store).await;
    let deep = (0..300).fold(json!("deep"), |inner, _| json!([inner]));
    let bodies: Vec<Value> = vec![
        json!({"z": 1, "a": {"y": 2, "b": 3}}),
        json!([0.1, -0.0, 1e300, i64::MIN, u64::MAX]),
        json!("\u{0}\u{2028}\u{1f9ea}'); DROP TABLE messages; --"),
        json!("x".repeat(300_000)),
        deep,
        Value::Null,
    ];
    let messages: Vec<StoredMessage> =
        bodies.into_iter().zip(0..).map(|(body, seq)| message(seq, body)).collect();
    store.put_messages(id, messages.clone()).await.unwrap();
    let found = store.messages(id, 0).await.unwrap();
    assert_eq!(found, messages);
    // Equal objects may still differ in the order of their keys; a signature over them would not
    // survive that.
    assert_eq!(found[0].body.to_string(), messages[0].body.to_string());
}

async fn new(store: &dyn ConversationStore) -> ConversationId {
    let made = conversation("ann");
    store.put_conversation(made.clone()).await.unwrap();
    made.id
}
