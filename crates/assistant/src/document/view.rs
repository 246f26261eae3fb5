//! The text of a document, part by part.

use super::documents::Documents;
use super::error::DocumentError;
use super::model::Document;

/// Chunks that a view reads at once; a view has at most 8,000 characters.
const VIEWED_CHUNKS: usize = 40;

/// Part of a document's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentView {
    /// The document.
    pub document: Document,
    /// The text, with a line before each page.
    pub text: String,
    /// Page and character where the next view starts.
    pub next: Option<(u32, u32)>,
}

impl Documents {
    /// Returns the text of a document, starting at a character of a page.
    ///
    /// # Errors
    /// [`DocumentError::Unknown`], [`DocumentError::NoPage`], [`DocumentError::Row`].
    pub async fn view(
        &self,
        owner: &str,
        name: &str,
        page: u32,
        offset: u32,
        max_chars: usize,
    ) -> Result<DocumentView, DocumentError> {
        let document = self.find(owner, name, false).await?.body;
        // Regression: a text without pages is a single page, and a request for its ninth page
        // returned its beginning.
        if document.unit.is_empty() && page > 1 {
            return Err(no_text_there(document, page, offset));
        }
        let page = if document.unit.is_empty() { 0 } else { page.max(1) };
        let chunks = &self.indexer.chunks;
        let mut view = View { text: String::new(), left: max_chars, page: None };
        let mut from = page;
        let mut after = None;
        loop {
            let batch = chunks.chunks_from_page(owner, &document.id, from, VIEWED_CHUNKS).await?;
            let is_last = batch.len() < VIEWED_CHUNKS;
            let known = after;
            for found in batch.iter().filter(|found| known.is_none_or(|n| found.chunk.number > n)) {
                let chunk = &found.chunk;
                after = Some(chunk.number);
                let skip = if chunk.page == page { offset.saturating_sub(chunk.start) } else { 0 };
                if let Some(at) = view.add(&document, chunk.page, &chunk.text, skip as usize) {
                    let next = Some((chunk.page, chunk.start + at));
                    return Ok(DocumentView { document, text: view.text, next });
                }
                from = chunk.page;
            }
            if is_last || known == after {
                break;
            }
        }
        if view.text.is_empty() {
            return Err(no_text_there(document, page, offset));
        }
        Ok(DocumentView { document, text: view.text, next: None })
    }
}

/// Explains why a view is empty: the existing pages, and the requested position.
fn no_text_there(document: Document, page: u32, offset: u32) -> DocumentError {
    let unit = document.unit.as_str();
    let parts = match (document.parts, unit) {
        (_, "") => "no pages; its text goes on by offset alone".to_owned(),
        (0, _) => "no text that was read so far".to_owned(),
        (1, unit) => format!("1 {unit}"),
        (count, unit) => format!("{count} {unit}s"),
    };
    let asked = match (unit, page, offset) {
        ("", 0 | 1, offset) => format!("offset {offset}"),
        ("", page, _) => format!("page {page}"),
        (unit, page, 0) => format!("{unit} {page}"),
        (unit, page, offset) => format!("{unit} {page}, offset {offset}"),
    };
    DocumentError::NoPage { name: document.name, parts, asked }
}

/// The text of a view while it is collected.
struct View {
    text: String,
    left: usize,
    page: Option<u32>,
}

impl View {
    /// Adds a chunk without its first characters; returns the character of the chunk at which the
    /// view is full.
    fn add(&mut self, document: &Document, page: u32, piece: &str, skip: usize) -> Option<u32> {
        if self.left == 0 {
            return Some(u32::try_from(skip).unwrap_or_default());
        }
        let part: String = piece.chars().skip(skip).take(self.left).collect();
        let taken = part.chars().count();
        if taken == 0 {
            return None;
        }
        if page > 0 && self.page != Some(page) {
            let gap = if self.text.is_empty() || self.text.ends_with('\n') { "" } else { "\n" };
            self.text += &format!("{gap}--- {} {page} of {} ---\n", document.unit, document.parts);
        }
        self.page = Some(page);
        self.text += &part;
        self.left -= taken;
        let is_cut = skip + taken < piece.chars().count();
        is_cut.then(|| u32::try_from(skip + taken).unwrap_or_default())
    }
}
