//! Word (DOCX) to text: the body with headings, list items and tables as Markdown.
#![deny(clippy::indexing_slicing)]

use std::io::{BufReader, Cursor, Read as _};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use zip::ZipArchive;

use super::worker_protocol::ReadFailure;

/// Path of the body in the archive.
pub(super) const BODY: &str = "word/document.xml";
/// Limit of the unpacked body, in bytes. Most of it is markup.
const MAX_XML: u64 = 256 << 20;

/// Reads the text of the body. The result may be slightly longer than `most`; the caller cuts it.
///
/// # Errors
/// An archive or a body that cannot be read.
pub(super) fn read(bytes: &[u8], most: usize) -> Result<String, ReadFailure> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(ReadFailure::damaged)?;
    let body = archive.by_name(BODY).map_err(ReadFailure::damaged)?;
    let mut reader = Reader::from_reader(BufReader::new(body.take(MAX_XML)));
    let mut text = MarkdownBuilder::default();
    let mut buffer = Vec::new();
    while text.out.len() <= most {
        match reader.read_event_into(&mut buffer).map_err(ReadFailure::damaged)? {
            Event::Start(tag) => text.begin(&tag, false),
            Event::Empty(tag) => text.begin(&tag, true),
            Event::End(tag) => text.end(tag.local_name().as_ref()),
            Event::Text(words) if text.in_words => {
                text.line.push_str(&words.decode().map_err(ReadFailure::damaged)?);
            }
            Event::GeneralRef(name) if text.in_words => text.entity(&name),
            Event::Eof => break,
            _ => {}
        }
        buffer.clear();
    }
    Ok(text.finish())
}

#[derive(Default)]
struct MarkdownBuilder {
    out: String,
    /// Text of the current paragraph.
    line: String,
    /// Markdown prefix of the current paragraph.
    mark: String,
    in_words: bool,
    /// Whether the previous paragraph was a list item.
    in_list: bool,
    /// Depth of nested tables; cells are those of the innermost row.
    tables: usize,
    cells: Vec<String>,
    cell: String,
}

impl MarkdownBuilder {
    fn begin(&mut self, tag: &BytesStart<'_>, empty: bool) {
        match tag.local_name().as_ref() {
            b"t" | b"delText" => self.in_words = !empty && tag.local_name().as_ref() == b"t",
            b"tab" if !self.in_words => self.line.push('\t'),
            b"br" | b"cr" => self.line.push('\n'),
            b"noBreakHyphen" => self.line.push('-'),
            b"drawing" | b"pict" => self.line.push_str("[image]"),
            b"pStyle" => self.style(&value(tag)),
            b"numPr" if self.mark.is_empty() => "- ".clone_into(&mut self.mark),
            b"tbl" => self.tables += 1,
            b"tr" => self.cells.clear(),
            b"tc" => self.cell.clear(),
            _ => {}
        }
    }

    fn end(&mut self, name: &[u8]) {
        match name {
            b"t" => self.in_words = false,
            b"p" => self.paragraph(),
            b"tc" => {
                let cell = std::mem::take(&mut self.cell);
                self.cells.push(cell.trim().replace('\n', " "));
            }
            b"tr" => {
                let row = self.cells.join(" | ");
                self.cells.clear();
                // Rows of a nested table become text of the outer cell.
                if self.tables > 1 {
                    self.cell.push_str(&row);
                    self.cell.push('\n');
                } else {
                    self.out.push_str(&format!("| {row} |\n"));
                }
            }
            b"tbl" => {
                self.tables = self.tables.saturating_sub(1);
                if self.tables == 0 {
                    self.out.push('\n');
                }
            }
            _ => {}
        }
    }

    fn paragraph(&mut self) {
        let line = std::mem::take(&mut self.line);
        let mark = std::mem::take(&mut self.mark);
        let words = line.trim_end();
        if self.tables > 0 {
            self.cell.push_str(words);
            self.cell.push('\n');
        } else if !words.trim().is_empty() {
            let item = mark == "- ";
            if self.in_list && !item {
                self.out.push('\n');
            }
            self.in_list = item;
            self.out.push_str(&mark);
            self.out.push_str(words);
            self.out.push_str(if item { "\n" } else { "\n\n" });
        }
    }

    /// Sets the style of the paragraph. Headings are recognized by their style id: Word's built-in
    /// ids are the same in every language, but ids of other programs are not.
    fn style(&mut self, id: &str) {
        let id = id.to_ascii_lowercase();
        let level = match id.strip_prefix("heading") {
            Some(digits) => digits.parse::<usize>().ok().filter(|level| (1..=9).contains(level)),
            None => (id == "title").then_some(1),
        };
        if let Some(level) = level {
            self.mark = format!("{} ", "#".repeat(level.min(6)));
        } else if id.starts_with("list") && id != "listparagraph" {
            "- ".clone_into(&mut self.mark);
        }
    }

    fn entity(&mut self, name: &[u8]) {
        let name = String::from_utf8_lossy(name);
        if let Some(text) = quick_xml::escape::resolve_xml_entity(&name) {
            self.line.push_str(text);
        } else if let Some(digits) = name.strip_prefix('#') {
            let code = match digits.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            self.line.extend(code.ok().and_then(char::from_u32));
        }
    }

    fn finish(mut self) -> String {
        self.paragraph();
        self.out.truncate(self.out.trim_end().len());
        self.out.push('\n');
        self.out
    }
}

/// Returns the value of the attribute `w:val`.
fn value(tag: &BytesStart<'_>) -> String {
    let mut attributes = tag.attributes().flatten();
    let found = attributes.find(|attribute| attribute.key.local_name().as_ref() == b"val");
    found.map(|found| String::from_utf8_lossy(&found.value).into_owned()).unwrap_or_default()
}
