//! `toolcrib document`: files that the person adds.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_ops::OpContext;
use toolcrib_ops::documents::{
    self, AddDocumentRequest, ChangeDocumentRequest, DocumentChange, DocumentReply,
    ListDocumentsRequest, SearchDocumentsRequest, ViewDocumentRequest,
};

use super::library_snapshot;
use crate::clap_args::{Document, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::terminal::{escape_controls, escape_to_line};
use crate::{bootstrap, op_context, time_format};

/// Number of characters of a view.
const CHARS: usize = 8_000;

pub(crate) fn run(command: Document, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let toolcrib: Toolcrib = bootstrap::build_with_stores(&WorkspaceArgs::default()).await?;
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        match command {
            Document::Add { files } => add(&ctx, &files, json).await,
            Document::List { deleted } => list(&ctx, deleted, json).await,
            Document::Search { query, limit } => search(&ctx, query, limit, json).await,
            Document::Show { document, page, offset } => {
                show(&ctx, document, page, offset, json).await
            }
            Document::Delete { document } => {
                change(&ctx, document, DocumentChange::Delete, json).await
            }
            Document::Restore { document } => {
                change(&ctx, document, DocumentChange::Restore, json).await
            }
        }
    })
}

async fn add(ctx: &OpContext<'_>, files: &[PathBuf], json: bool) -> Result<u8, Failure> {
    let mut added: Vec<Value> = Vec::new();
    for file in files {
        let bytes = read(file)?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let request = AddDocumentRequest { name, bytes, wait: true };
        let document = documents::add(ctx, request).await?;
        if !json {
            let problem =
                document.problem.as_deref().map(|why| format!("; {}", escape_to_line(why)));
            output::eprint_line(&format!(
                "toolcrib: {} is {}, {}{}",
                escape_to_line(&document.name),
                document.status,
                size(&document),
                problem.unwrap_or_default()
            ));
        }
        added.push(json!(document));
    }
    if json {
        output::print_json(&json!(added), true)?;
    }
    Ok(0)
}

/// Reads the content of a file, at most one byte more than the size limit of documents.
fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    use std::io::Read as _;
    let most = toolcrib_assistant::document::MAX_BYTES as u64 + 1;
    let read = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        std::fs::File::open(file)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|error| Failure::usage(format!("{} cannot be read: {error}", file.display())))
}

fn size(document: &DocumentReply) -> String {
    match (&document.unit, document.parts) {
        (Some(unit), 1) => format!("1 {unit}"),
        (Some(unit), parts) => format!("{parts} {unit}s"),
        (None, _) => format!("{} bytes", document.bytes),
    }
}

async fn list(ctx: &OpContext<'_>, deleted: bool, json: bool) -> Result<u8, Failure> {
    let all = documents::list(ctx, ListDocumentsRequest { deleted }).await?;
    if json {
        output::print_json(&json!(all), true)?;
        return Ok(0);
    }
    if all.is_empty() {
        output::eprint_line("toolcrib: no documents; `toolcrib document add FILE` adds one");
        return Ok(0);
    }
    let head =
        ["DOCUMENT", "NAME", "FORMAT", "SIZE", "STATUS", "ADDED"].map(str::to_owned).to_vec();
    let row = |document: &DocumentReply| {
        vec![
            document.document.clone(),
            escape_to_line(&document.name),
            document.format.clone(),
            size(document),
            document.status.clone(),
            time_format::format_local(document.added_at),
        ]
    };
    let rows: Vec<_> = std::iter::once(head).chain(all.iter().map(row)).collect();
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}

async fn search(
    ctx: &OpContext<'_>,
    query: String,
    limit: usize,
    json: bool,
) -> Result<u8, Failure> {
    let found = documents::search(ctx, SearchDocumentsRequest { query, limit }).await?;
    if json {
        output::print_json(&json!(found), true)?;
        return Ok(0);
    }
    if found.is_empty() {
        output::eprint_line("toolcrib: no passage matches");
    }
    for passage in &found {
        let name = escape_to_line(&passage.name);
        let place = match passage.page {
            0 => format!("character {}", passage.offset),
            page => format!("page {page}, character {}", passage.offset),
        };
        let text = escape_controls(passage.text.trim());
        output::print_line(&format!("{name}, {place}:\n{text}\n"))?;
    }
    Ok(0)
}

async fn show(
    ctx: &OpContext<'_>,
    document: String,
    page: u32,
    offset: u32,
    json: bool,
) -> Result<u8, Failure> {
    let request = ViewDocumentRequest { document, page, offset, max_chars: CHARS };
    let view = documents::view(ctx, request).await?;
    if json {
        output::print_json(&json!(view), true)?;
        return Ok(0);
    }
    output::print_line(&escape_controls(&view.text))?;
    if let (Some(page), Some(offset)) = (view.next_page, view.next_offset) {
        let page = if page == 0 { String::new() } else { format!("--page {page} ") };
        output::eprint_line(&format!("toolcrib: continue with {page}--offset {offset}"));
    }
    Ok(0)
}

async fn change(
    ctx: &OpContext<'_>,
    document: String,
    change: DocumentChange,
    json: bool,
) -> Result<u8, Failure> {
    let changed = documents::change(ctx, ChangeDocumentRequest { document, change }).await?;
    if json {
        output::print_json(&json!(changed), true)?;
        return Ok(0);
    }
    let name = escape_to_line(&changed.name);
    let id = &changed.document;
    output::eprint_line(&match change {
        DocumentChange::Delete => {
            format!("toolcrib: deleted {name}; `toolcrib document restore {id}` restores it")
        }
        DocumentChange::Restore => format!("toolcrib: restored {name}"),
    });
    Ok(0)
}
