//! SQLite: the text of documents, found by the words of FTS5.

use rusqlite::Row;
use toolcrib_core::store::DocumentChunkStore;
use toolcrib_core::{BoxFuture, ChunkVector, ChunkVersion, DocumentChunk, FoundChunk, StoreError};

use super::at_most;
use crate::error::Failure;
use crate::sqlite::SqliteStore;
use crate::writer::Durability;

const PUT: &str = "INSERT INTO document_chunks (owner, document, number, page, start, text, vector)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING";
const DELETE: &str = "DELETE FROM document_chunks WHERE owner = ?1 AND document = ?2";
const FROM_PAGE: &str = "SELECT id, document, number, page, start, text, 0.0 FROM document_chunks
    WHERE owner = ?1 AND document = ?2 AND page >= ?3 ORDER BY number LIMIT ?4";
const BY_ID: &str = "SELECT id, document, number, page, start, text, 0.0 FROM document_chunks
    WHERE owner = ?1 AND id = ?2";
/// `bm25` is the smaller the better. The join is on the row numbers of the words.
const FIND: &str = "SELECT c.id, c.document, c.number, c.page, c.start, c.text, -w.rank
    FROM document_words w JOIN document_chunks c ON c.id = w.rowid
    WHERE document_words MATCH ?2 AND c.owner = ?1 ORDER BY w.rank LIMIT ?3";
const VERSION: &str = "SELECT count(*), coalesce(max(id), 0) FROM document_chunks WHERE owner = ?1";
const VECTORS: &str = "SELECT id, document, vector FROM document_chunks
    WHERE owner = ?1 AND id > ?2 ORDER BY id LIMIT ?3";

impl DocumentChunkStore for SqliteStore {
    fn put_chunks<'a>(
        &'a self,
        owner: &'a str,
        document: &'a str,
        chunks: Vec<DocumentChunk>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (owner, document) = (owner.to_owned(), document.to_owned());
        self.write(Durability::ProcessCrash, move |conn| {
            let mut put = conn.prepare_cached(PUT)?;
            for chunk in &chunks {
                let DocumentChunk { number, page, start, text, vector } = chunk;
                put.execute((&owner, &document, number, page, start, text, vector))?;
            }
            Ok(())
        })
    }

    fn delete_chunks<'a>(
        &'a self,
        owner: &'a str,
        document: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let key = (owner.to_owned(), document.to_owned());
        self.write(Durability::PowerLoss, move |conn| {
            conn.prepare_cached(DELETE)?.execute((&key.0, &key.1))?;
            Ok(())
        })
    }

    fn chunks_from_page<'a>(
        &'a self,
        owner: &'a str,
        document: &'a str,
        page: u32,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<FoundChunk>, StoreError>> {
        let key = (owner.to_owned(), document.to_owned(), page, at_most(limit));
        self.read(move |conn| conn.prepare_cached(FROM_PAGE)?.query_and_then(key, found)?.collect())
    }

    fn chunks_by_id<'a>(
        &'a self,
        owner: &'a str,
        ids: &'a [i64],
    ) -> BoxFuture<'a, Result<Vec<FoundChunk>, StoreError>> {
        let (owner, ids) = (owner.to_owned(), ids.to_vec());
        self.read(move |conn| {
            let mut get = conn.prepare_cached(BY_ID)?;
            let mut all = Vec::with_capacity(ids.len());
            for id in ids {
                all.extend(get.query_and_then((&owner, id), found)?.next().transpose()?);
            }
            Ok(all)
        })
    }

    fn find_chunks<'a>(
        &'a self,
        owner: &'a str,
        words: &'a [String],
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<FoundChunk>, StoreError>> {
        let (owner, query) = (owner.to_owned(), fts_query(words));
        self.read(move |conn| {
            if query.is_empty() {
                return Ok(Vec::new());
            }
            let key = (&owner, &query, at_most(limit));
            conn.prepare_cached(FIND)?.query_and_then(key, found)?.collect()
        })
    }

    fn chunk_version<'a>(
        &'a self,
        owner: &'a str,
    ) -> BoxFuture<'a, Result<ChunkVersion, StoreError>> {
        let key = [owner.to_owned()];
        self.read(move |conn| {
            let version =
                |row: &Row<'_>| Ok(ChunkVersion { count: row.get(0)?, last: row.get(1)? });
            Ok(conn.prepare_cached(VERSION)?.query_row(key, version)?)
        })
    }

    fn chunk_vectors<'a>(
        &'a self,
        owner: &'a str,
        after: i64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ChunkVector>, StoreError>> {
        let key = (owner.to_owned(), after, at_most(limit));
        self.read(move |conn| {
            let vector = |row: &Row<'_>| -> Result<ChunkVector, Failure> {
                Ok(ChunkVector { id: row.get(0)?, document: row.get(1)?, vector: row.get(2)? })
            };
            conn.prepare_cached(VECTORS)?.query_and_then(key, vector)?.collect()
        })
    }
}

/// Any of the words, each as a string of FTS5, so that nothing in it is an operator.
fn fts_query(words: &[String]) -> String {
    let one = |word: &String| {
        let prefix = if word.chars().count() >= 4 { "*" } else { "" };
        format!("\"{}\"{prefix}", word.replace('"', "\"\""))
    };
    words.iter().map(one).collect::<Vec<_>>().join(" OR ")
}

fn found(row: &Row<'_>) -> Result<FoundChunk, Failure> {
    let chunk = DocumentChunk {
        number: row.get(2)?,
        page: row.get(3)?,
        start: row.get(4)?,
        text: row.get(5)?,
        vector: Vec::new(),
    };
    Ok(FoundChunk { id: row.get(0)?, document: row.get(1)?, chunk, rank: row.get(6)? })
}
