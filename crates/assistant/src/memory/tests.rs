//! Memories at their limits.

use std::sync::Arc;

use toolcrib_core::{Author, Memory, MemoryCategory, MemoryStore, MemoryWrite};
use toolcrib_engine::store::MemoryMemories;

use super::*;

#[tokio::test]
async fn a_full_memory_takes_changes_and_nothing_new_until_one_is_forgotten() {
    let store = Arc::new(MemoryMemories::default());
    for n in 0..MAX_MEMORIES {
        let memory = Memory {
            owner: "ann".into(),
            key: format!("fact_{n}"),
            content: "It is so.".into(),
            category: MemoryCategory::General,
            hit_count: 1,
            created_at: 0,
            updated_at: 0,
            author: Author::default(),
            untrusted: None,
            revision: 0,
        };
        let write = MemoryWrite {
            owner: "ann".into(),
            key: memory.key.clone(),
            expected: None,
            memory: Some(memory),
            author: Author::default(),
            at: 0,
            undoes: None,
        };
        store.write_memory(write).await.unwrap();
    }
    let memories = Memories::new(store, Arc::new(|_| false));
    let new = |key: &'static str| NewMemory {
        owner: "ann",
        key,
        content: "It changed.",
        category: None,
        author: Author::default(),
        untrusted: None,
    };
    let refused = memories.store(new("one_more")).await.unwrap_err();
    assert_eq!(refused, MemoryError::Full);
    assert!(refused.to_string().contains("Forget one that is no longer needed"), "{refused}");
    // Nothing is lost: existing memories can be changed, and another owner can add memories.
    let (before, after) = memories.store(new("fact_7")).await.unwrap();
    assert_eq!((&*before.unwrap().content, &*after.content), ("It is so.", "It changed."));
    memories.store(NewMemory { owner: "bob", ..new("one_more") }).await.unwrap();
    memories.forget("ann", "fact_8", &Author::default()).await.unwrap();
    memories.store(new("one_more")).await.unwrap();
    assert_eq!(memories.all("ann").await.unwrap().len(), MAX_MEMORIES);
}
