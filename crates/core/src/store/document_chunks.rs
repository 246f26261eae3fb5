//! Store of the text of documents.

use super::StoreError;
use crate::BoxFuture;
use crate::document::{ChunkVector, DocumentChunk, FoundChunk};

/// Stores the text of documents in chunks, and finds chunks by words.
pub trait DocumentChunkStore: Send + Sync {
    /// Adds chunks of a document. A chunk with the number of an earlier one is skipped.
    fn put_chunks<'a>(
        &'a self,
        owner: &'a str,
        document: &'a str,
        chunks: Vec<DocumentChunk>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes all chunks of a document.
    fn delete_chunks<'a>(
        &'a self,
        owner: &'a str,
        document: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns the chunks of a document from a page on, in order, at most `limit`.
    fn chunks_from_page<'a>(
        &'a self,
        owner: &'a str,
        document: &'a str,
        page: u32,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<FoundChunk>, StoreError>>;

    /// Returns the chunks with these numbers in the store, in any order. Unknown numbers are
    /// skipped.
    fn chunks_by_id<'a>(
        &'a self,
        owner: &'a str,
        ids: &'a [i64],
    ) -> BoxFuture<'a, Result<Vec<FoundChunk>, StoreError>>;

    /// Returns the chunks that have any of these words, or words that begin with them, the best
    /// first. Among many chunks, a store may ignore words that are too common to distinguish them.
    fn find_chunks<'a>(
        &'a self,
        owner: &'a str,
        words: &'a [String],
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<FoundChunk>, StoreError>>;

    /// Returns the number of the last chunk of an owner; 0 if there is none. It changes when chunks
    /// are added.
    fn last_chunk<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<i64, StoreError>>;

    /// Returns the vectors of an owner's chunks after a number, in order, at most `limit`.
    fn chunk_vectors<'a>(
        &'a self,
        owner: &'a str,
        after: i64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ChunkVector>, StoreError>>;
}
