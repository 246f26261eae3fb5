//! What the worker and whoever asked it say to each other: a [`Request`] as one argument, then one [`Frame`] per line of its output.

use serde::{Deserialize, Serialize};

use super::pages::Pages;

/// Characters of text that one reading gives back at most (SPEC 2.2: a file is read up to 1 MB at once).
pub(super) const MAX_TEXT: usize = 1_000_000;

/// A form that documents have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    /// Portable Document Format.
    Pdf,
    /// Office Open XML: Word or Excel, which only its content tells.
    Office,
    /// Word.
    Docx,
    /// Excel.
    Xlsx,
    /// Values in lines, with any usual separator.
    Csv,
    /// A web page.
    Html,
}

impl Format {
    /// What people call it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Pdf => "PDF",
            Self::Office => "Office document",
            Self::Docx => "Word document",
            Self::Xlsx => "Excel workbook",
            Self::Csv => "CSV file",
            Self::Html => "web page",
        }
    }

    /// What its parts are called, if it has any.
    pub(crate) fn unit(self) -> Option<&'static str> {
        match self {
            Self::Pdf => Some("page"),
            Self::Xlsx => Some("sheet"),
            Self::Office | Self::Docx | Self::Csv | Self::Html => None,
        }
    }
}

/// What is wanted of the document on standard input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) format: Format,
    pub(super) pages: Pages,
}

/// One line of what the worker says. The first is `Opened` or `Failed`, the last `Done` or `Failed`; without it the worker died.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Frame {
    /// The document can be read, and has this many parts.
    Opened { format: Format, parts: u32 },
    /// A part.
    Part(Part),
    /// All that was wanted was read; or, with a number, all that fits before this part.
    Done { next: Option<u32> },
    /// Nothing can be read.
    Failed(Failure),
}

/// A page, a sheet, or a whole document that has no parts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Part {
    /// From 1.
    pub(crate) number: u32,
    /// Name of a sheet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
    pub(crate) text: String,
    /// There is no text, and there is an image.
    #[serde(default)]
    pub(crate) image_only: bool,
    /// Something of it could not be read.
    #[serde(default)]
    pub(crate) damaged: bool,
    /// It is longer than one reading gives back.
    #[serde(default)]
    pub(crate) cut: bool,
}

/// Why nothing can be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Failure {
    pub(super) why: Why,
    /// What the library says, for the operator.
    pub(super) detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Why {
    /// It needs a password.
    Encrypted,
    /// It is not what it seems, or broken.
    Broken,
    /// It is a kind of Office document that is not read.
    OtherOffice,
}

impl Failure {
    pub(super) fn broken(detail: impl ToString) -> Self {
        Self { why: Why::Broken, detail: detail.to_string() }
    }
}
