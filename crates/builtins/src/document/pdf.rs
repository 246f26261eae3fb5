//! PDF to text: each page is a part. `pdf_extract` decodes the file, fonts and encodings. Page
//! content is rewritten before it gets there, because the library panics on much that real pages
//! contain. The glyphs that it reports become lines in [`line_layout`].
#![deny(clippy::indexing_slicing)]

mod line_layout;
mod rewrite_content;

use std::collections::HashSet;
use std::io::Write;
use std::panic;

use pdf_extract::encryption::DecryptionError;
use pdf_extract::{Document, Error, ObjectId};

use super::page_ranges::PageRanges;
use super::worker::{PartWriter, WorkerError};
use super::worker_protocol::{FailureReason, Format, Part, ReadFailure};
use line_layout::LineBuilder;

/// Maximum number of pages of a document; a crafted page tree can look endless.
const MAX_PAGES: usize = 100_000;

pub(super) fn read<W: Write>(
    bytes: &[u8],
    pages: &PageRanges,
    sink: &mut PartWriter<W>,
) -> Result<(), WorkerError> {
    // Offsets in the file count from the PDF header, not from the first byte.
    let begin = bytes.windows(5).position(|five| five == b"%PDF-").unwrap_or(0);
    let mut document = Document::load_mem(bytes.get(begin..).unwrap_or(bytes)).map_err(failed)?;
    if document.is_encrypted() {
        document.decrypt("").map_err(failed)?;
    }
    let ids: Vec<ObjectId> = document.page_iter().take(MAX_PAGES).collect();
    if ids.is_empty() {
        return Err(ReadFailure::damaged("it has no pages").into());
    }
    sink.start(Format::Pdf, u32::try_from(ids.len()).unwrap_or(u32::MAX))?;
    let mut rewritten = HashSet::new();
    for (number, id) in (1..).zip(ids) {
        if !pages.contains(number) {
            continue;
        }
        if !sink.part(page(&mut document, number, id, &mut rewritten, sink.left()))? {
            break;
        }
    }
    Ok(())
}

fn failed(error: Error) -> ReadFailure {
    let password = matches!(
        error,
        Error::InvalidPassword | Error::Decryption(DecryptionError::IncorrectPassword)
    );
    let why = if password { FailureReason::Encrypted } else { FailureReason::Broken };
    ReadFailure { why, detail: error.to_string() }
}

/// Reads the text of a page, as far as it can be read.
fn page(
    document: &mut Document,
    number: u32,
    id: ObjectId,
    rewritten: &mut HashSet<ObjectId>,
    most: usize,
) -> Part {
    let mut lines = LineBuilder::new(most);
    let mut images = false;
    let read = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        images = rewrite_content::rewrite_page(document, id, rewritten)?;
        // The library builds a map of all pages for each lookup by number. The rewrite above takes
        // the object id instead, so that each page pays for one lookup only.
        pdf_extract::output_doc_page(document, &mut lines, number).ok()
    }));
    let full = lines.is_full();
    let text = lines.finish();
    Part {
        number,
        image_only: images && text.trim().is_empty(),
        damaged: !full && !matches!(read, Ok(Some(()))),
        text,
        ..Part::default()
    }
}
