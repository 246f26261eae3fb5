//! Messages between the document worker and its caller: a [`WorkerRequest`] as one argument, then
//! one [`WorkerMessage`] per line of output.

use serde::{Deserialize, Serialize};

use super::page_ranges::PageRanges;

/// Bytes of text in one reading: `read_file` and `pdf_read` return at most 1 MB at once.
pub(super) const MAX_TEXT: usize = 1_000_000;

/// A document format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    /// Portable Document Format.
    Pdf,
    /// Office Open XML: Word or Excel; only the content tells which.
    Office,
    /// Word.
    Docx,
    /// Excel.
    Xlsx,
    /// Separated values, with any common separator.
    Csv,
    /// A web page.
    Html,
    /// The article of a web page.
    Article {
        /// The page's address, for relative links.
        url: Option<String>,
    },
}

impl Format {
    /// Returns the name of the format for people.
    pub(crate) fn title(&self) -> &'static str {
        match self {
            Self::Pdf => "PDF",
            Self::Office => "Office document",
            Self::Docx => "Word document",
            Self::Xlsx => "Excel workbook",
            Self::Csv => "CSV file",
            Self::Html | Self::Article { .. } => "web page",
        }
    }

    /// Returns the name of a part of this format; `None` for formats without parts.
    pub(crate) fn unit(&self) -> Option<&'static str> {
        match self {
            Self::Pdf => Some("page"),
            Self::Xlsx => Some("sheet"),
            Self::Office | Self::Docx | Self::Csv | Self::Html | Self::Article { .. } => None,
        }
    }
}

/// What to read of the document on standard input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct WorkerRequest {
    pub(super) format: Format,
    pub(super) pages: PageRanges,
}

/// One line of the worker's output. The first is `Opened` or `Failed`, the last `Done` or `Failed`;
/// if that is missing, the worker died.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WorkerMessage {
    /// The document can be read and has this many parts.
    Opened { format: Format, parts: u32 },
    /// A part.
    Part(Part),
    /// Everything requested was read, or, with a number, everything that fits before this part.
    Done { next: Option<u32> },
    /// Nothing can be read.
    Failed(ReadFailure),
}

/// A page, a sheet, or a whole document without parts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Part {
    /// Part number, from 1.
    pub(crate) number: u32,
    /// Name of a sheet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
    pub(crate) text: String,
    /// The page has images but no text.
    #[serde(default)]
    pub(crate) image_only: bool,
    /// Something in the part could not be read.
    #[serde(default)]
    pub(crate) damaged: bool,
    /// The part was cut: it is longer than one reading returns.
    #[serde(default)]
    pub(crate) cut: bool,
}

/// Why nothing can be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ReadFailure {
    pub(super) why: FailureReason,
    /// Error of the library, for the operator.
    pub(super) detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FailureReason {
    /// The document needs a password.
    Encrypted,
    /// The file is damaged, or has another format than its name indicates.
    Broken,
    /// An Office format that is not supported.
    OtherOffice,
}

impl ReadFailure {
    pub(super) fn damaged(detail: impl ToString) -> Self {
        Self { why: FailureReason::Broken, detail: detail.to_string() }
    }
}
