//! Rows of the assistant and the changes that can be taken back.

use serde_json::{Value, json};
use toolcrib_core::{AssistantRowStore, AssistantRowWrite, Author, RowKind, StoreError};

/// Writes are based on what was read, are recorded all or none, and can be taken back.
///
/// # Panics
/// When the store does something else.
pub async fn assistant_rows(store: &dyn AssistantRowStore) {
    rows_belong_to_their_owner_and_kind(store).await;
    a_stale_write_changes_nothing(store).await;
    changes_are_listed_and_taken_back(store).await;
}

fn write(owner: &str, key: &str, expected: Option<i64>, body: Option<Value>) -> AssistantRowWrite {
    AssistantRowWrite {
        owner: owner.into(),
        kind: RowKind::List,
        key: key.into(),
        expected,
        body,
        note: format!("wrote {key}"),
        author: Author::person("ann"),
        at: 20,
        undoes: None,
    }
}

async fn bodies(store: &dyn AssistantRowStore, owner: &str) -> Vec<(String, Value)> {
    let rows = store.assistant_rows(owner, RowKind::List).await.unwrap();
    rows.into_iter().map(|row| (row.key, row.body)).collect()
}

async fn revision(store: &dyn AssistantRowStore, owner: &str, key: &str) -> Option<i64> {
    let row = store.assistant_row(owner, RowKind::List, key).await.unwrap();
    row.map(|row| row.revision)
}

async fn rows_belong_to_their_owner_and_kind(store: &dyn AssistantRowStore) {
    let body = json!({"text": "nul \u{0}", "n": [1, null]});
    for (owner, key) in [("a", "zebra\u{0}"), ("a", "ant"), ("b", "ant")] {
        let one = write(owner, key, None, Some(body.clone()));
        store.write_assistant_rows(vec![one]).await.unwrap();
    }
    let goal =
        AssistantRowWrite { kind: RowKind::Goal, ..write("c", "ant", None, Some(json!("goal"))) };
    store.write_assistant_rows(vec![goal]).await.unwrap();
    let row = |key: &str| (key.to_owned(), body.clone());
    assert_eq!(bodies(store, "a").await, [row("ant"), row("zebra\u{0}")]);
    assert_eq!(bodies(store, "c").await, []);
    assert_eq!(store.assistant_row_owners(RowKind::Goal).await.unwrap(), ["c"]);
    let owners = store.assistant_row_owners(RowKind::List).await.unwrap();
    assert!(owners.starts_with(&["a".into(), "b".into()]), "{owners:?}");
    assert_eq!(revision(store, "b", "zebra\u{0}").await, None);
}

async fn a_stale_write_changes_nothing(store: &dyn AssistantRowStore) {
    let owner = "stale";
    store.write_assistant_rows(vec![write(owner, "k", None, Some(json!(1)))]).await.unwrap();
    let one = revision(store, owner, "k").await;
    store.write_assistant_rows(vec![write(owner, "k", one, Some(json!(2)))]).await.unwrap();
    for stale in [
        write(owner, "k", one, Some(json!(3))),
        write(owner, "k", None, Some(json!(3))),
        write(owner, "k", one, None),
        write(owner, "none", one, Some(json!(3))),
    ] {
        // The write before it is good, and is not made either.
        let other = write(owner, "other", None, Some(json!("other")));
        let refused = store.write_assistant_rows(vec![other, stale.clone()]).await;
        assert_eq!(refused, Err(StoreError::Conflict(stale.key.clone())), "{stale:?}");
    }
    assert_eq!(bodies(store, owner).await, [("k".to_owned(), json!(2))]);
    let changes = store.assistant_row_changes(owner, RowKind::List, None, 10).await.unwrap();
    assert_eq!(changes.len(), 2, "{changes:?}");
    // Of concurrent writes on one revision, one succeeds.
    let now = revision(store, owner, "k").await;
    let (left, right) = tokio::join!(
        store.write_assistant_rows(vec![write(owner, "k", now, Some(json!("left")))]),
        store.write_assistant_rows(vec![write(owner, "k", now, Some(json!("right")))]),
    );
    assert!(left.is_ok() != right.is_ok(), "{left:?} {right:?}");
}

async fn changes_are_listed_and_taken_back(store: &dyn AssistantRowStore) {
    let owner = "undo";
    let changes = async |key: Option<&'static str>, limit| {
        store.assistant_row_changes(owner, RowKind::List, key, limit).await.unwrap()
    };
    assert_eq!(changes(None, 10).await, []);
    store.write_assistant_rows(vec![write(owner, "old", None, Some(json!("x")))]).await.unwrap();
    // A rename: two rows in one write.
    let old = revision(store, owner, "old").await;
    let rename = vec![write(owner, "old", old, None), write(owner, "new", None, Some(json!("x")))];
    store.write_assistant_rows(rename).await.unwrap();
    assert_eq!(bodies(store, owner).await, [("new".to_owned(), json!("x"))]);
    let all = changes(None, 10).await;
    let keys: Vec<&str> = all.iter().map(|change| &*change.key).collect();
    assert_eq!(keys, ["new", "old", "old"]);
    assert_eq!(changes(None, 1).await.len(), 1);
    let removed = changes(Some("old"), 10).await.remove(0);
    assert_eq!((removed.before.clone(), &*removed.note), (Some(json!("x")), "wrote old"));
    assert_eq!((removed.author, removed.at), (Author::person("ann"), 20));
    assert!(removed.can_be_undone);
    let back = AssistantRowWrite {
        undoes: Some(removed.number),
        ..write(owner, "old", None, removed.before)
    };
    store.write_assistant_rows(vec![back]).await.unwrap();
    let undoable: Vec<bool> =
        changes(Some("old"), 10).await.iter().map(|change| change.can_be_undone).collect();
    assert_eq!(undoable, [false, false, true]);
}
