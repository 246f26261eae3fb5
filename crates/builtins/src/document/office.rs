//! Which kind of Office document an archive holds.
#![deny(clippy::indexing_slicing)]

use std::io::Cursor;

use zip::ZipArchive;

use super::frame::{Failure, Format, Why};

/// Word or Excel.
///
/// # Errors
/// Archives that cannot be read, and those that hold something else.
pub(super) fn kind(bytes: &[u8]) -> Result<Format, Failure> {
    let archive = ZipArchive::new(Cursor::new(bytes)).map_err(Failure::broken)?;
    let names: Vec<String> = archive.file_names().map(str::to_ascii_lowercase).collect();
    let has = |name: &str| names.iter().any(|there| there == name);
    let other = |name: &str| Failure { why: Why::OtherOffice, detail: name.to_owned() };
    if has(super::word::BODY) {
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
