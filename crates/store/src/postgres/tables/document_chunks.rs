//! Postgres: the text of documents, found by full-text search.

use tokio_postgres::Row;
use toolcrib_core::store::DocumentChunkStore;
use toolcrib_core::{BoxFuture, ChunkVector, DocumentChunk, FoundChunk, StoreError};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape::escape;
use super::{at_most, text};

const PUT: &str = "INSERT INTO document_chunks (owner, document, number, page, start, text, vector)
    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (owner, document, number) DO NOTHING";
const DELETE: &str = "DELETE FROM document_chunks WHERE owner = $1 AND document = $2";
const FROM_PAGE: &str = "SELECT id, document, number, page, start, text, 0::float8
    FROM document_chunks WHERE owner = $1 AND document = $2 AND page >= $3
    ORDER BY number LIMIT $4";
const BY_ID: &str = "SELECT id, document, number, page, start, text, 0::float8
    FROM document_chunks WHERE owner = $1 AND id = ANY ($2)";
const FIND: &str = "SELECT id, document, number, page, start, text,
    ts_rank(words, query, 1)::float8 AS rank
    FROM document_chunks, to_tsquery('simple', $2) query
    WHERE owner = $1 AND words @@ query ORDER BY rank DESC, id LIMIT $3";
const LAST: &str = "SELECT coalesce(max(id), 0) FROM document_chunks WHERE owner = $1";
const VECTORS: &str = "SELECT id, document, vector FROM document_chunks
    WHERE owner = $1 AND id > $2 ORDER BY id LIMIT $3";

impl DocumentChunkStore for PostgresStore {
    fn put_chunks<'a>(
        &'a self,
        owner: &'a str,
        document: &'a str,
        chunks: Vec<DocumentChunk>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.write(Put {
            owner: escape(owner).into_owned(),
            document: escape(document).into_owned(),
            chunks,
        })
    }

    fn delete_chunks<'a>(
        &'a self,
        owner: &'a str,
        document: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.write(Delete {
            owner: escape(owner).into_owned(),
            document: escape(document).into_owned(),
        })
    }

    fn chunks_from_page<'a>(
        &'a self,
        owner: &'a str,
        document: &'a str,
        page: u32,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<FoundChunk>, StoreError>> {
        Box::pin(async move {
            let (owner, document) = (escape(owner), escape(document));
            let (page, limit) = (i64::from(page), at_most(limit));
            self.fetch_all(FROM_PAGE, &[&owner, &document, &page, &limit], found).await
        })
    }

    fn chunks_by_id<'a>(
        &'a self,
        owner: &'a str,
        ids: &'a [i64],
    ) -> BoxFuture<'a, Result<Vec<FoundChunk>, StoreError>> {
        Box::pin(async move { self.fetch_all(BY_ID, &[&escape(owner), &ids], found).await })
    }

    fn find_chunks<'a>(
        &'a self,
        owner: &'a str,
        words: &'a [String],
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<FoundChunk>, StoreError>> {
        Box::pin(async move {
            let query = ts_query(words);
            if query.is_empty() {
                return Ok(Vec::new());
            }
            self.fetch_all(FIND, &[&escape(owner), &query, &at_most(limit)], found).await
        })
    }

    fn last_chunk<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<i64, StoreError>> {
        Box::pin(async move {
            let last = |row: &Row| Ok(row.try_get(0)?);
            Ok(self.fetch_optional(LAST, &[&escape(owner)], last).await?.unwrap_or_default())
        })
    }

    fn chunk_vectors<'a>(
        &'a self,
        owner: &'a str,
        after: i64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ChunkVector>, StoreError>> {
        Box::pin(async move {
            let vector = |row: &Row| {
                let (id, vector) = (row.try_get(0)?, row.try_get(2)?);
                Ok(ChunkVector { id, document: text(row, 1)?, vector })
            };
            self.fetch_all(VECTORS, &[&escape(owner), &after, &at_most(limit)], vector).await
        })
    }
}

/// Returns a query for any of the words, each in quotes, so that no character in it is an operator.
fn ts_query(words: &[String]) -> String {
    let one = |word: &String| {
        let word: String = word.chars().filter(|c| c.is_alphanumeric()).collect();
        let prefix = if word.chars().count() >= 4 { ":*" } else { "" };
        (!word.is_empty()).then(|| format!("'{word}'{prefix}"))
    };
    words.iter().filter_map(one).collect::<Vec<_>>().join(" | ")
}

struct Put {
    owner: String,
    document: String,
    chunks: Vec<DocumentChunk>,
}

impl Job for Put {
    type Answer = ();

    fn pipelined_statement(&self) -> Option<&'static str> {
        None
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            for chunk in &self.chunks {
                let [number, page, start] = [chunk.number, chunk.page, chunk.start].map(i64::from);
                let (text, vector) = (escape(&chunk.text), &chunk.vector);
                let (owner, document) = (&self.owner, &self.document);
                tx.link
                    .execute(PUT, &[owner, document, &number, &page, &start, &text, vector])
                    .await?;
            }
            Ok(JobOutput::unaudited(()))
        })
    }
}

struct Delete {
    owner: String,
    document: String,
}

impl Job for Delete {
    type Answer = ();

    fn pipelined_statement(&self) -> Option<&'static str> {
        None
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            tx.link.execute(DELETE, &[&self.owner, &self.document]).await?;
            Ok(JobOutput::unaudited(()))
        })
    }
}

fn found(row: &Row) -> Result<FoundChunk, Failure> {
    let number = |column: usize| -> Result<u32, Failure> {
        Ok(u32::try_from(row.try_get::<_, i64>(column)?)?)
    };
    let chunk = DocumentChunk {
        number: number(2)?,
        page: number(3)?,
        start: number(4)?,
        text: text(row, 5)?,
        vector: Vec::new(),
    };
    Ok(FoundChunk { id: row.try_get(0)?, document: text(row, 1)?, chunk, rank: row.try_get(6)? })
}
