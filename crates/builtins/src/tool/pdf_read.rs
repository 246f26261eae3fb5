//! `pdf_read`: extracts the text of a document, page by page.

use std::io::Read as _;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Access, Assessment, Block, CallCtx, ErrorType, Tool, ToolError, ToolOutput, ToolSpec, Trust,
    defaults,
};

use super::{blocking, examples, file_spec, on_file, path_aliases};
use crate::document::{Document, Documents, Format, MAX_BYTES, PageRanges, Part};
use crate::fs::{Workspace, bounded_read};

/// Handler of `pdf_read`.
pub(crate) struct PdfRead {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) documents: Documents,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Document to read, relative to the workspace folder.
    path: String,
    /// Pages of a PDF or sheets of a workbook, from 1, such as "3", "1-5", "10-" or "1-3, 7".
    /// Default: all.
    pages: Option<String>,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = file_spec::<Args>(
        "pdf_read",
        "Read PDF or document",
        "Read the text of a PDF of the workspace, all pages or some; also of Word (docx), Excel (xlsx), CSV and HTML files.",
        false,
    );
    spec.aliases = vec!["read_document".to_owned()];
    spec.timeout = defaults::TIMEOUT;
    spec.parameter_aliases = path_aliases();
    spec.parameter_aliases.extend(super::aliases([("page", "pages"), ("sheets", "pages")]));
    spec.examples = examples([
        ("What does the contract say?", json!({"path": "contract.pdf"})),
        ("Read pages 10 to 12 of the manual", json!({"path": "manual.pdf", "pages": "10-12"})),
    ]);
    spec
}

impl Tool for PdfRead {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        pages(args)?;
        let summary = format!("read the document {}", args.path);
        Ok(on_file(spec, self.workspace.roots(), &args.path, Access::Shared, summary))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let pages = pages(&args)?;
        let (workspace, path) = (self.workspace.for_call(ctx), args.path.clone());
        let bytes = blocking(move || bytes(&workspace, &path)).await?;
        let document = self.documents.read(ctx, &args.path, bytes, pages.clone()).await?;
        let level = document.level.as_str();
        let rendered = render(&args.path, &document, &pages)?.with_sandbox(level);
        Ok(rendered.with_origin(Trust::Workspace, args.path))
    }
}

fn pages(args: &Args) -> Result<PageRanges, ToolError> {
    match &args.pages {
        None => Ok(PageRanges::default()),
        Some(text) => text.parse().map_err(ToolError::validation),
    }
}

pub(crate) fn bytes(workspace: &Workspace, path: &str) -> Result<Vec<u8>, ToolError> {
    let too_large = |size: u64| {
        ToolError::new(
            ErrorType::FileTooLarge,
            format!(
                "{path} has {size} bytes; documents are read up to {} MB. Split it or make it smaller with another program.",
                MAX_BYTES >> 20
            ),
        )
    };
    let (file, size) = bounded_read::open(workspace.roots(), path)?;
    if size > MAX_BYTES {
        return Err(too_large(size));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| {
        ToolError::execution(format!("{path} could not be read. Check it with file_info."))
            .with_detail(error.to_string())
    })?;
    // The file may grow while it is read.
    if bytes.len() as u64 > MAX_BYTES {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// Renders the parts with a marker before each, and notes about them.
fn render(path: &str, document: &Document, pages: &PageRanges) -> Result<ToolOutput, ToolError> {
    let Document { format, count, parts, ended, .. } = document;
    let Some(unit) = format.unit() else {
        return Ok(without_parts(path, format, parts, pages));
    };
    if !pages.intersects_up_to(*count) {
        return Err(ToolError::validation(format!(
            "{path} has {}; none of those that were asked for exists.",
            many(*count, unit)
        )));
    }
    let mut text = String::new();
    for part in parts {
        let name = if part.name.is_empty() { String::new() } else { format!(": {}", part.name) };
        let title = capital(unit);
        text += &format!("--- {title} {} of {count}{name} ---\n", part.number);
        if part.image_only {
            text += "(no text: this page is an image)\n";
        } else if part.text.trim().is_empty() {
            text += "(empty)\n";
        }
        text += &part.text;
        if !text.ends_with("\n\n") {
            text.push('\n');
        }
    }
    let mut notes = vec![format!("{path}: {}, {}.", format.title(), many(*count, unit))];
    notes.extend(remarks(unit, parts));
    if let Some((why, next)) = ended {
        notes.push(format!("It ends here because {why}. Go on with pages \"{next}-\"."));
    }
    Ok(ToolOutput::from_blocks(vec![Block::text(notes.join(" ")), Block::text(text)]))
}

/// Renders a document without parts.
fn without_parts(path: &str, format: &Format, parts: &[Part], pages: &PageRanges) -> ToolOutput {
    let mut notes = vec![format!("{path}: {}.", format.title())];
    if !pages.is_all() {
        notes.push("It has no pages, so all of it was read.".to_owned());
    }
    let mut text = String::new();
    for part in parts {
        text += &part.text;
        if part.cut {
            notes
                .push(format!("Only its first {} characters are here.", part.text.chars().count()));
        }
    }
    if text.trim().is_empty() {
        notes.push("It holds no text.".to_owned());
    }
    ToolOutput::from_blocks(vec![Block::text(notes.join(" ")), Block::text(text)])
}

/// Returns notes on problems in parts, each once.
fn remarks(unit: &str, parts: &[Part]) -> Vec<String> {
    let mut remarks = Vec::new();
    let numbers = |wanted: fn(&Part) -> bool| -> Vec<u32> {
        parts.iter().filter(|part| wanted(part)).map(|part| part.number).collect()
    };
    let images = numbers(|part| part.image_only);
    if !images.is_empty() {
        let which = if images.len() == parts.len() { "All".to_owned() } else { list(&images) };
        remarks.push(format!(
            "{which} of these pages have no text but images, such as scans; reading them needs text recognition (for example ocrmypdf in.pdf out.pdf)."
        ));
    }
    let damaged = numbers(|part| part.damaged);
    if !damaged.is_empty() {
        remarks.push(format!("Not everything of {unit} {} could be read.", list(&damaged)));
    }
    let cut = numbers(|part| part.cut);
    if !cut.is_empty() {
        remarks.push(format!("Of {unit} {} only the beginning fits.", list(&cut)));
    }
    remarks
}

/// Renders the first of several numbers.
fn list(numbers: &[u32]) -> String {
    let shown: Vec<String> = numbers.iter().take(10).map(u32::to_string).collect();
    let more = numbers.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn many(count: u32, unit: &str) -> String {
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
