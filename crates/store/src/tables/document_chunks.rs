//! SQLite: the text of documents, searched with FTS5.

use rusqlite::{Connection, Row};
use toolcrib_core::store::DocumentChunkStore;
use toolcrib_core::{BoxFuture, ChunkVector, DocumentChunk, FoundChunk, StoreError};

use super::at_most;
use crate::error::Failure;
use crate::sqlite::SqliteStore;
use crate::writer::Durability;

/// Maximum number of chunks with a word that counts as rare.
const MOST_MATCHES: i64 = 200;
/// Maximum number of ranked matches of a search, at about 2 µs each.
const MOST_RANKED: i64 = 400;
/// Maximum number of common words that are searched together.
const MOST_COMMON: usize = 4;
const PUT: &str = "INSERT INTO document_chunks (owner, document, number, page, start, text, vector)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING";
const DELETE: &str = "DELETE FROM document_chunks WHERE owner = ?1 AND document = ?2";
const FROM_PAGE: &str = "SELECT id, document, number, page, start, text, 0.0 FROM document_chunks
    WHERE owner = ?1 AND document = ?2 AND page >= ?3 ORDER BY number LIMIT ?4";
const BY_ID: &str = "SELECT id, document, number, page, start, text, 0.0 FROM document_chunks
    WHERE owner = ?1 AND id = ?2";
/// A smaller `bm25` is better. Unsorted, because sorting would rank every match.
const FIND: &str = "SELECT rowid, -rank FROM document_words WHERE document_words MATCH ?1 LIMIT ?2";
/// Counts matching chunks up to a limit, to determine whether few match.
const COUNT: &str = "SELECT count(*) FROM
    (SELECT 1 FROM document_words WHERE document_words MATCH ?1 LIMIT ?2)";
const LAST: &str = "SELECT coalesce(max(id), 0) FROM document_chunks WHERE owner = ?1";
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
        let (owner, words) = (owner.to_owned(), words.to_vec());
        self.read(move |conn| {
            let Some(query) = bounded_query(conn, &words)? else { return Ok(Vec::new()) };
            let mut ranked: Vec<(i64, f64)> = conn
                .prepare_cached(FIND)?
                .query_map((&query, MOST_RANKED), |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<Result<_, _>>()?;
            ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            let mut get = conn.prepare_cached(BY_ID)?;
            let mut all = Vec::new();
            for (id, rank) in ranked {
                // Chunks of other owners match too.
                let chunk = get.query_and_then((&owner, id), found)?.next().transpose()?;
                all.extend(chunk.map(|chunk| FoundChunk { rank, ..chunk }));
                if all.len() >= limit {
                    break;
                }
            }
            Ok(all)
        })
    }

    fn last_chunk<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<i64, StoreError>> {
        let key = [owner.to_owned()];
        self.read(move |conn| Ok(conn.prepare_cached(LAST)?.query_row(key, |row| row.get(0))?))
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

/// Returns an FTS5 query that few chunks match, because each match is ranked (a third of a second
/// if half of 100,000 chunks match): chunks with any of the rare words; without such a word, chunks
/// with all words, or with as many of them as occur together. `None` if no chunk contains any of
/// the words.
fn bounded_query(conn: &Connection, words: &[String]) -> Result<Option<String>, Failure> {
    let count = |query: &str, most: i64| -> Result<i64, Failure> {
        Ok(conn.prepare_cached(COUNT)?.query_row((query, most), |row| row.get(0))?)
    };
    let (mut rare, mut common) = (Vec::new(), Vec::new());
    for word in words {
        // The word alone first: FTS5 collects all matches of a prefix before it returns the first
        // one.
        let (exact, prefix) = (quoted(word), prefix_of(word));
        match count(&exact, MOST_MATCHES + 1)? {
            exactly if exactly > MOST_MATCHES => common.push(exact),
            exactly => match count(&prefix, MOST_MATCHES + 1)? {
                0 => {}
                more if more > MOST_MATCHES && exactly > 0 => rare.push(exact),
                more if more > MOST_MATCHES => common.push(prefix),
                _ => rare.push(prefix),
            },
        }
    }
    if !rare.is_empty() {
        return Ok(Some(rare.join(" OR ")));
    }
    // The longer a word, the rarer.
    common.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
    let mut together = String::new();
    for word in common.into_iter().take(MOST_COMMON) {
        let more = if together.is_empty() { word } else { format!("{together} AND {word}") };
        if count(&more, 1)? > 0 {
            together = more;
        }
    }
    Ok((!together.is_empty()).then_some(together))
}

/// Quotes a word as a string of FTS5, so that no character in it is an operator.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}

/// Returns a query for words that begin with the word, unless it is short.
fn prefix_of(word: &str) -> String {
    let star = if word.chars().count() >= 4 { "*" } else { "" };
    quoted(word) + star
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
