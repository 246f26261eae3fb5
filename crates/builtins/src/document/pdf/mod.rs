//! PDF: each page a part. The library reads files, fonts and encodings; what it is given to read of a page is rewritten first, because it
//! panics on much that a page may hold, and where the glyphs stand is put together to lines here.
#![deny(clippy::indexing_slicing)]

mod content;
mod lines;

use std::collections::HashSet;
use std::io::Write;
use std::panic;

use pdf_extract::encryption::DecryptionError;
use pdf_extract::{Document, Error, ObjectId};

use super::frame::{Failure, Format, Part, Why};
use super::pages::Pages;
use super::worker::{Fault, Sink};
use lines::Lines;

/// Pages that are counted at most; a page tree can be made to look endless.
const MAX_PAGES: usize = 100_000;

pub(super) fn read<W: Write>(bytes: &[u8], pages: &Pages, sink: &mut Sink<W>) -> Result<(), Fault> {
    // Places in the file are counted from its mark.
    let begin = bytes.windows(5).position(|five| five == b"%PDF-").unwrap_or(0);
    let mut document = Document::load_mem(bytes.get(begin..).unwrap_or(bytes)).map_err(failed)?;
    if document.is_encrypted() {
        document.decrypt("").map_err(failed)?;
    }
    let ids: Vec<ObjectId> = document.page_iter().take(MAX_PAGES).collect();
    if ids.is_empty() {
        return Err(Failure::broken("it has no pages").into());
    }
    sink.opened(Format::Pdf, u32::try_from(ids.len()).unwrap_or(u32::MAX))?;
    let mut rewritten = HashSet::new();
    for (number, id) in (1..).zip(ids) {
        if !pages.want(number) {
            continue;
        }
        if !sink.part(page(&mut document, number, id, &mut rewritten, sink.left()))? {
            break;
        }
    }
    Ok(())
}

fn failed(error: Error) -> Failure {
    let password = matches!(
        error,
        Error::InvalidPassword | Error::Decryption(DecryptionError::IncorrectPassword)
    );
    let why = if password { Why::Encrypted } else { Why::Broken };
    Failure { why, detail: error.to_string() }
}

/// The text of a page, or as much of it as can be read.
fn page(
    document: &mut Document,
    number: u32,
    id: ObjectId,
    rewritten: &mut HashSet<ObjectId>,
    most: usize,
) -> Part {
    let mut lines = Lines::new(most);
    let mut images = false;
    let read = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        images = content::prepare(document, id, rewritten)?;
        // Pages are looked up by their number in a map of them all, which is made anew each time; one of them is enough.
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
