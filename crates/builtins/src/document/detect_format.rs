//! Format detection: by the first bytes of a file, and by its name only where the bytes are
//! ambiguous.
#![deny(clippy::indexing_slicing)]

use toolcrib_core::ToolError;

use super::worker_protocol::Format;

/// Leading bytes that are searched for the PDF header (PDF 32000-1, Annex H: readers accept the
/// header within the first 1024 bytes).
const MARK_WITHIN: usize = 1024;

/// Detects the format of a file.
///
/// # Errors
/// `execution_error` that names the actual kind of file and the tool that reads it.
pub(super) fn detect(path: &str, bytes: &[u8]) -> Result<Format, ToolError> {
    let head = bytes.get(..MARK_WITHIN).unwrap_or(bytes);
    if head.windows(5).any(|five| five == b"%PDF-") {
        return Ok(Format::Pdf);
    }
    if bytes.starts_with(b"PK\x03\x04") {
        return Ok(Format::Office);
    }
    if bytes.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") {
        return Err(ToolError::execution(format!(
            "{path} is a document in the old format of Office (doc, xls, ppt) or one that is protected with a password. Save it as docx, xlsx or PDF without a password, and read that."
        )));
    }
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        Some("csv" | "tsv" | "tab") => Ok(Format::Csv),
        Some("html" | "htm" | "xhtml") => Ok(Format::Html),
        Some(ending @ ("pdf" | "docx" | "xlsx" | "docm" | "xlsm")) => {
            Err(unsupported(path, ending, bytes))
        }
        _ => Err(ToolError::execution(format!(
            "{path} is not a PDF, Word, Excel, CSV or HTML file. Read text with read_file."
        ))),
    }
}

/// Returns the error for a file whose content does not match its name.
fn unsupported(path: &str, ending: &str, bytes: &[u8]) -> ToolError {
    let mark = if ending == "pdf" { "%PDF-" } else { "PK" };
    let what = match std::str::from_utf8(bytes.get(..MARK_WITHIN).unwrap_or(bytes)) {
        _ if bytes.is_empty() => "it is empty",
        Ok(text) if text.trim_start().starts_with('<') => {
            "it holds a web page, as a failed download would"
        }
        Ok(text) if !text.contains('\0') => "it holds plain text; read it with read_file",
        _ => "it does not begin with the mark of one; it may be damaged or not fully downloaded",
    };
    ToolError::execution(format!("{path} is not a {ending} file: {what}."))
        .with_detail(format!("the mark {mark:?} is missing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_content_first() {
        let check = |path: &str, bytes: &[u8], expected: Format| {
            assert_eq!(detect(path, bytes).unwrap(), expected, "{path}");
        };
        check("a.txt", b"%PDF-1.7\n", Format::Pdf);
        check("a", b"\xef\xbb\xbf junk %PDF-1.4", Format::Pdf);
        check("a.pdf", b"PK\x03\x04", Format::Office);
        check("a.CSV", b"a,b\n", Format::Csv);
        check("a.htm", b"<p>", Format::Html);
    }

    #[test]
    fn what_is_no_document_is_named() {
        let check = |path: &str, bytes: &[u8], expected: &str| {
            let message = detect(path, bytes).unwrap_err().message;
            assert!(message.contains(expected), "{path}: {message}");
        };
        check("a.pdf", b"", "a.pdf is not a pdf file: it is empty.");
        check("a.pdf", b"<!DOCTYPE html><h1>404", "a web page");
        check("a.docx", b"hello", "plain text; read it with read_file");
        check("a.pdf", b"\x89PNG\r\n\x1a\n\0", "does not begin with the mark");
        check("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1....", "Save it as docx");
        check("a.rs", b"fn main() {}", "Read text with read_file");
    }
}
