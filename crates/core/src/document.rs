//! Pieces of the text of documents that people put in.

/// A piece of text: a paragraph or a few.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentChunk {
    /// Its number in the document, from 0.
    pub number: u32,
    /// Its page or sheet, from 1; 0 = the document has none.
    pub page: u32,
    /// Its first character in the page.
    pub start: u32,
    /// The text.
    pub text: String,
    /// Its vector, as the index stores it.
    pub vector: Vec<u8>,
}

/// A stored piece of text.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundChunk {
    /// Number in the store: later chunks have larger ones.
    pub id: i64,
    /// Id of the document.
    pub document: String,
    /// The piece; its vector is empty.
    pub chunk: DocumentChunk,
    /// How well it fits the words, the larger the better; 0 where it was not searched.
    pub rank: f64,
}

/// The vector of a stored piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkVector {
    /// Number in the store.
    pub id: i64,
    /// Id of the document.
    pub document: String,
    /// The vector.
    pub vector: Vec<u8>,
}
