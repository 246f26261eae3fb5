//! Chunks of the text of documents that people add.

/// A chunk of text: one or more paragraphs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentChunk {
    /// Number of the chunk in the document, from 0.
    pub number: u32,
    /// Page or sheet of the chunk, from 1; 0 if the document has none.
    pub page: u32,
    /// Position of the chunk's first character in the page.
    pub start: u32,
    /// The text.
    pub text: String,
    /// Embedding vector, as the index stores it.
    pub vector: Vec<u8>,
}

/// A stored chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundChunk {
    /// Number in the store: later chunks have larger ones.
    pub id: i64,
    /// Id of the document.
    pub document: String,
    /// The chunk; its vector is empty.
    pub chunk: DocumentChunk,
    /// Rank of the chunk for the searched words (larger is better); 0 if the chunk was not found by
    /// a search.
    pub rank: f64,
}

/// The vector of a stored chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkVector {
    /// Number in the store.
    pub id: i64,
    /// Id of the document.
    pub document: String,
    /// The vector.
    pub vector: Vec<u8>,
}
