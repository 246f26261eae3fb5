//! The text of documents, in memory.

use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::store::DocumentChunkStore;
use toolcrib_core::{BoxFuture, ChunkVector, DocumentChunk, FoundChunk, StoreError};

/// A stored chunk and its owner.
struct Row {
    owner: String,
    vector: Vec<u8>,
    found: FoundChunk,
}

#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
    last: i64,
}

/// A [`DocumentChunkStore`] that lives as long as the process.
#[derive(Default)]
pub struct MemoryDocumentChunks {
    rows: Mutex<Rows>,
}

impl MemoryDocumentChunks {
    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn select(&self, owner: &str, wanted: impl Fn(&FoundChunk) -> bool) -> Vec<FoundChunk> {
        let rows = self.lock();
        let of_owner = rows.rows.iter().filter(|row| row.owner == owner);
        of_owner.filter(|row| wanted(&row.found)).map(|row| row.found.clone()).collect()
    }
}

impl DocumentChunkStore for MemoryDocumentChunks {
    fn put_chunks<'a>(
        &'a self,
        owner: &'a str,
        document: &'a str,
        chunks: Vec<DocumentChunk>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let mut rows = self.lock();
        for chunk in chunks {
            let is_there = rows.rows.iter().any(|row| {
                row.owner == owner
                    && row.found.document == document
                    && row.found.chunk.number == chunk.number
            });
            if is_there {
                continue;
            }
            rows.last += 1;
            let found = FoundChunk {
                id: rows.last,
                document: document.to_owned(),
                chunk: DocumentChunk { vector: Vec::new(), ..chunk.clone() },
                rank: 0.0,
            };
            rows.rows.push(Row { owner: owner.to_owned(), vector: chunk.vector, found });
        }
        Box::pin(ready(Ok(())))
    }

    fn delete_chunks<'a>(
        &'a self,
        owner: &'a str,
        document: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.lock().rows.retain(|row| row.owner != owner || row.found.document != document);
        Box::pin(ready(Ok(())))
    }

    fn chunks_from_page<'a>(
        &'a self,
        owner: &'a str,
        document: &'a str,
        page: u32,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<FoundChunk>, StoreError>> {
        let wanted = |row: &FoundChunk| row.document == document && row.chunk.page >= page;
        let mut found = self.select(owner, wanted);
        found.sort_by_key(|row| row.chunk.number);
        found.truncate(limit);
        Box::pin(ready(Ok(found)))
    }

    fn chunks_by_id<'a>(
        &'a self,
        owner: &'a str,
        ids: &'a [i64],
    ) -> BoxFuture<'a, Result<Vec<FoundChunk>, StoreError>> {
        Box::pin(ready(Ok(self.select(owner, |row| ids.contains(&row.id)))))
    }

    fn find_chunks<'a>(
        &'a self,
        owner: &'a str,
        words: &'a [String],
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<FoundChunk>, StoreError>> {
        let count = |row: &FoundChunk| {
            let text = row.chunk.text.to_lowercase();
            let has = |word: &&String| {
                text.split(|c: char| !c.is_alphanumeric()).any(|own| {
                    own == word.as_str()
                        || (word.chars().count() >= 4 && own.starts_with(word.as_str()))
                })
            };
            words.iter().filter(has).count()
        };
        let mut found = self.select(owner, |row| count(row) > 0);
        for row in &mut found {
            row.rank = u32::try_from(count(row)).map_or(0.0, f64::from);
        }
        found.sort_by(|a, b| b.rank.total_cmp(&a.rank).then(a.id.cmp(&b.id)));
        found.truncate(limit);
        Box::pin(ready(Ok(found)))
    }

    fn last_chunk<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<i64, StoreError>> {
        let found = self.select(owner, |_| true);
        let last = found.iter().map(|row| row.id).max().unwrap_or_default();
        Box::pin(ready(Ok(last)))
    }

    fn chunk_vectors<'a>(
        &'a self,
        owner: &'a str,
        after: i64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ChunkVector>, StoreError>> {
        let rows = self.lock();
        let of_owner = rows.rows.iter().filter(|row| row.owner == owner && row.found.id > after);
        let vector = |row: &Row| ChunkVector {
            id: row.found.id,
            document: row.found.document.clone(),
            vector: row.vector.clone(),
        };
        Box::pin(ready(Ok(of_owner.take(limit).map(vector).collect())))
    }
}
