//! Memories and the changes that can be taken back.

use toolcrib_core::{Author, Memory, MemoryCategory, MemoryStore, MemoryWrite, StoreError};

/// A write is based on what was read, is recorded, and can be taken back.
///
/// # Panics
/// When the store does something else.
pub async fn memories(store: &dyn MemoryStore) {
    rows_belong_to_their_owner(store).await;
    a_stale_write_changes_nothing(store).await;
    changes_are_found_and_taken_back(store).await;
}

fn memory(owner: &str, key: &str, content: &str) -> Memory {
    Memory {
        owner: owner.into(),
        key: key.into(),
        content: content.into(),
        category: MemoryCategory::Learning,
        hit_count: 3,
        created_at: 10,
        updated_at: 20,
        author: Author::person("ann"),
        untrusted: Some("fetch_url".into()),
        revision: 0,
    }
}

fn write(expected: Option<i64>, memory: Memory) -> MemoryWrite {
    MemoryWrite {
        owner: memory.owner.clone(),
        key: memory.key.clone(),
        expected,
        author: memory.author.clone(),
        at: memory.updated_at,
        memory: Some(memory),
        undoes: None,
    }
}

async fn contents(store: &dyn MemoryStore, owner: &str) -> Vec<(String, String)> {
    let rows = store.memories(owner).await.unwrap();
    rows.into_iter().map(|row| (row.key, row.content)).collect()
}

async fn rows_belong_to_their_owner(store: &dyn MemoryStore) {
    assert_eq!(store.memory_version("a").await.unwrap(), 0);
    for (owner, key) in [("a", "zebra\u{0}"), ("a", "ant"), ("b", "ant")] {
        store.write_memory(write(None, memory(owner, key, owner))).await.unwrap();
    }
    let pair = |key: &str| (key.to_owned(), "a".to_owned());
    assert_eq!(contents(store, "a").await, [pair("ant"), pair("zebra\u{0}")]);
    assert_eq!(contents(store, "c").await, []);
    let found = store.memory("b", "ant").await.unwrap().unwrap();
    assert_eq!(Memory { revision: 0, ..found }, memory("b", "ant", "b"));
    assert_eq!(store.memory("b", "zebra\u{0}").await.unwrap(), None);
    let under = store.memories_under("ant").await.unwrap();
    let owners: Vec<&str> = under.iter().map(|memory| memory.owner.as_str()).collect();
    assert_eq!(owners, ["a", "b"]);
    assert_eq!(store.memories_under("zebra\u{0}").await.unwrap().len(), 1);
    assert!(store.memory_version("a").await.unwrap() > 0);
}

async fn a_stale_write_changes_nothing(store: &dyn MemoryStore) {
    store.write_memory(write(None, memory("stale", "k", "one"))).await.unwrap();
    let one = store.memory("stale", "k").await.unwrap().unwrap();
    let two = write(Some(one.revision), memory("stale", "k", "two"));
    store.write_memory(two.clone()).await.unwrap();
    let version = store.memory_version("stale").await.unwrap();
    let gone = MemoryWrite { key: "none".into(), ..two.clone() };
    let remove = MemoryWrite { memory: None, ..two.clone() };
    for stale in [two, gone, remove, write(None, memory("stale", "k", "three"))] {
        let refused = store.write_memory(stale.clone()).await;
        assert_eq!(refused, Err(StoreError::Conflict(stale.key.clone())), "{stale:?}");
    }
    assert_eq!(store.memory_version("stale").await.unwrap(), version);
    assert_eq!(contents(store, "stale").await, [("k".to_owned(), "two".to_owned())]);
    // Of concurrent writes on one revision, one succeeds.
    let now = store.memory("stale", "k").await.unwrap().unwrap().revision;
    let (left, right) = tokio::join!(
        store.write_memory(write(Some(now), memory("stale", "k", "left"))),
        store.write_memory(write(Some(now), memory("stale", "k", "right"))),
    );
    assert!(left.is_ok() != right.is_ok(), "{left:?} {right:?}");
}

async fn changes_are_found_and_taken_back(store: &dyn MemoryStore) {
    let owner = "undo";
    assert_eq!(store.last_memory_change(owner, None).await.unwrap(), None);
    store.write_memory(write(None, memory(owner, "k", "one"))).await.unwrap();
    store.write_memory(write(None, memory(owner, "other", "o"))).await.unwrap();
    let row = store.memory(owner, "k").await.unwrap().unwrap();
    let removed = MemoryWrite { memory: None, ..write(Some(row.revision), row.clone()) };
    store.write_memory(removed).await.unwrap();
    assert_eq!(store.memory(owner, "k").await.unwrap(), None);
    let last = store.last_memory_change(owner, None).await.unwrap().unwrap();
    assert_eq!((&*last.key, &last.author), ("k", &Author::person("ann")));
    let before = last.before.clone().unwrap();
    assert_eq!(before.content, "one");
    let undo = MemoryWrite { undoes: Some(last.number), ..write(None, before) };
    store.write_memory(undo).await.unwrap();
    assert_eq!(store.memory(owner, "k").await.unwrap().unwrap().content, "one");
    // What was taken back, and what took it back, are not found again.
    let last = store.last_memory_change(owner, None).await.unwrap().unwrap();
    assert_eq!((&*last.key, last.before), ("other", None));
    let of_key = store.last_memory_change(owner, Some("k")).await.unwrap().unwrap();
    assert_eq!((&*of_key.key, of_key.before), ("k", None));
    assert_eq!(store.last_memory_change(owner, Some("nothing")).await.unwrap(), None);
}
