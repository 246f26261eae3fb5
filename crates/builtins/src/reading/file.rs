//! Reads a file of the workspace: a document, a saved page, a feed or a text.

use std::io::Read as _;

use toolcrib_core::{CallCtx, ToolError};

use super::Reading;
use super::kind::{Kind, kind};
use super::page::{MAX_BYTES, as_article, feed_of, no_documents};
use crate::document::{Document, Documents, PageRanges, text_of};
use crate::fs::{Workspace, bounded_read};
use crate::tool::blocking;

/// A file with a NUL within this many leading bytes is not text.
const BINARY_WITHIN: usize = 8_192;

/// Reads a file of the workspace.
///
/// # Errors
/// Those of file tools: outside the roots, denied, missing, too large; or the file is neither text
/// nor a document.
pub(crate) async fn read_file(
    workspace: &Workspace,
    documents: Option<&Documents>,
    path: &str,
    ctx: &CallCtx,
) -> Result<Reading, ToolError> {
    let (here, name) = (workspace.for_call(ctx), path.to_owned());
    let (bytes, size) = blocking(move || bytes(&here, &name)).await?;
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let ending = ending.unwrap_or_default();
    let is_cut = size > MAX_BYTES as u64;
    let cut = is_cut.then(|| format!("Only the first {} MB of it were read.", MAX_BYTES >> 20));
    let found = match kind(&bytes, &ending) {
        Kind::Other if matches!(ending.as_str(), "csv" | "tsv" | "tab") => Kind::Document,
        found => found,
    };
    match found {
        Kind::Document if is_cut => Err(ToolError::execution(format!(
            "{path} has {size} bytes; documents are read here up to {} MB. Use pdf_read with pages.",
            MAX_BYTES >> 20
        ))),
        Kind::Document => {
            let documents = documents.ok_or_else(no_documents)?;
            let read = documents.read(ctx, path, bytes, PageRanges::default()).await?;
            Ok(of_document(read, path.to_owned()))
        }
        Kind::Page => {
            let html = decoded(&bytes, path)?;
            let mut reading = as_article(documents, html, None, ctx).await?;
            path.clone_into(&mut reading.source);
            reading.notes.extend(cut);
            Ok(reading)
        }
        Kind::Feed | Kind::Other => {
            if found == Kind::Feed
                && let Some(reading) = feed_of(bytes.clone(), path.to_owned()).await?
            {
                return Ok(reading);
            }
            let text = decoded(&bytes, path)?;
            let (title, source) = (String::new(), path.to_owned());
            let notes = cut.into_iter().collect();
            Ok(Reading { kind: "text", title, text, source, notes, sandbox: None })
        }
    }
}

/// Reads the beginning of a file; also returns the size of the file.
fn bytes(workspace: &Workspace, path: &str) -> Result<(Vec<u8>, u64), ToolError> {
    let (file, size) = bounded_read::open(workspace.roots(), path)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64).read_to_end(&mut bytes).map_err(|error| {
        ToolError::execution(format!("{path} could not be read. Check it with file_info."))
            .with_detail(error.to_string())
    })?;
    Ok((bytes, size))
}

fn decoded(bytes: &[u8], path: &str) -> Result<String, ToolError> {
    if bytes.iter().take(BINARY_WITHIN).any(|byte| *byte == 0) && !has_utf16_mark(bytes) {
        return Err(ToolError::execution(format!(
            "{path} is a binary file, so it has no text. Use file_info, or a tool for its format."
        )));
    }
    Ok(text_of(bytes).into_owned())
}

fn has_utf16_mark(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

/// Renders a document with a marker before each of its pages or sheets.
pub(super) fn of_document(document: Document, source: String) -> Reading {
    let Document { format, count, parts, level, ended } = document;
    let mut text = String::new();
    let mut notes = Vec::new();
    for part in parts {
        if let Some(unit) = format.unit() {
            let name =
                if part.name.is_empty() { String::new() } else { format!(": {}", part.name) };
            text += &format!("--- {unit} {} of {count}{name} ---\n", part.number);
        }
        text += &part.text;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        if part.image_only {
            notes.push(format!("Page {} is an image without text.", part.number));
        }
    }
    if let Some((why, next)) = ended {
        notes.push(format!("It ends before part {next} because {why}."));
    }
    let (kind, sandbox) = (format.title(), Some(level.as_str()));
    Reading { kind, title: String::new(), text, source, notes, sandbox }
}
