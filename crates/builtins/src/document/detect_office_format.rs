//! Detects the kind of Office document in a ZIP archive.
#![deny(clippy::indexing_slicing)]

use std::io::Cursor;

use zip::ZipArchive;

use super::worker_protocol::{FailureReason, Format, ReadFailure};

/// Detects Word or Excel.
///
/// # Errors
/// Unreadable archives and other kinds of documents.
pub(super) fn detect(bytes: &[u8]) -> Result<Format, ReadFailure> {
    let archive = ZipArchive::new(Cursor::new(bytes)).map_err(ReadFailure::damaged)?;
    let names: Vec<String> = archive.file_names().map(str::to_ascii_lowercase).collect();
    let has = |name: &str| names.iter().any(|there| there == name);
    let other =
        |name: &str| ReadFailure { why: FailureReason::OtherOffice, detail: name.to_owned() };
    if has(super::docx_text::BODY) {
        Ok(Format::Docx)
    } else if has("xl/workbook.xml") {
        Ok(Format::Xlsx)
    } else if has("xl/workbook.bin") {
        Err(other("a binary Excel workbook (xlsb)"))
    } else if has("ppt/presentation.xml") {
        Err(other("a PowerPoint presentation"))
    } else if has("mimetype") {
        Err(other("an OpenDocument file or an electronic book"))
    } else {
        Err(other("an archive (zip)"))
    }
}
