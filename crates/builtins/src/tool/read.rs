//! `read`: reads an address or a file as text.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Access, Assessment, Block, CallCtx, Effect, Permission, Reach, Tool, ToolError, ToolOutput,
    ToolSpec, Trust, defaults,
};
use toolcrib_net::HttpClient;

use super::{aliases, base_spec, examples, on_file};
use crate::document::Documents;
use crate::fs::Workspace;
use crate::http_fetch;
use crate::reading::{
    DocumentPart, DocumentText, Reading, Source, StoredDocuments, excerpt, read_file, read_page,
};

/// Default and maximum number of characters of a result.
const DEFAULT_CHARS: usize = 4_000;
const MAX_CHARS: usize = 8_000;

/// Handler of `read`.
pub(crate) struct Read {
    /// The workspace of files; `None` if only addresses can be read.
    pub(crate) workspace: Option<Arc<Workspace>>,
    /// The client for addresses; `None` if only files can be read.
    pub(crate) client: Option<HttpClient>,
    /// The reader of documents and articles.
    pub(crate) documents: Option<Documents>,
    /// The documents that people have added; `None` if there are none.
    pub(crate) stored: Option<Arc<dyn StoredDocuments>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// An address (https://…) of an article, a feed or a document, the path of a file, or
    /// document:NAME for a document that the user added.
    source: String,
    /// Maximum number of characters. Default: 4000.
    #[schemars(range(min = 1, max = 8000))]
    max_chars: Option<usize>,
    /// First character, to continue a result. Default: 0.
    offset: Option<usize>,
    /// First page of document:NAME; offset counts from there. Default: 1.
    #[schemars(range(min = 1))]
    page: Option<u32>,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "read",
        "Read article or file",
        "Read the main text of a web article, a feed, a PDF, Word or Excel document, or a text file. Long texts come in parts: a result says where to continue.",
    );
    spec.parameter_aliases = aliases([("limit", "max_chars"), ("max_length", "max_chars")]);
    spec.reach = Reach { outbound: true, ..Reach::default() };
    spec.timeout = defaults::TIMEOUT;
    spec.trust = Trust::External;
    spec.examples = examples([
        ("Read me this article", json!({"source": "https://example.com/news/oats"})),
        ("What does the report say?", json!({"source": "report.pdf", "max_chars": 8000})),
    ]);
    spec
}

impl Tool for Read {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        max_chars(args)?;
        let source = Source::parse(&args.source)?;
        if args.page.is_some() && !matches!(source, Source::Document(_)) {
            return Err(ToolError::validation(
                "page is for document:NAME. Leave it out and use offset; pdf_read reads pages of a PDF file.",
            )
            .with_nothing_read());
        }
        match source {
            Source::Url(url) => {
                let summary = format!("read {}", http_fetch::masked_url(url));
                let mut assessment = Assessment::from_spec(spec).with_summary(summary);
                assessment.operation = Some("read.url".to_owned());
                assessment.permissions.push(Permission::Network);
                if let Some(client) = &self.client {
                    http_fetch::ask_about_private_address(client, url, &mut assessment);
                }
                Ok(assessment)
            }
            Source::Document(name) => {
                let summary = format!("read the document {name}");
                let mut assessment = Assessment::from_spec(spec).with_summary(summary);
                assessment.operation = Some("read.document".to_owned());
                (assessment.effect, assessment.reach) =
                    (Effect::Read, Reach { private_read: true, ..Reach::default() });
                Ok(assessment)
            }
            Source::Path(path) => {
                let summary = format!("read {path}");
                let mut assessment = match &self.workspace {
                    Some(workspace) => {
                        on_file(spec, workspace.roots(), path, Access::Shared, summary)
                    }
                    None => Assessment::from_spec(spec).with_summary(summary),
                };
                assessment.operation = Some("read.file".to_owned());
                assessment.permissions.push(Permission::FsRead);
                (assessment.effect, assessment.reach) = (Effect::Read, Reach::default());
                Ok(assessment)
            }
        }
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let max = max_chars(&args)?;
        let documents = self.documents.as_ref();
        let source = Source::parse(&args.source)?;
        if let Source::Document(name) = source {
            return self.stored_document(ctx, name, &args, max).await;
        }
        let (reading, trust) = match (&source, &self.client, &self.workspace) {
            (Source::Url(url), Some(client), _) => {
                (read_page(client, documents, url, ctx).await?, Trust::External)
            }
            (Source::Path(path), _, Some(workspace)) => {
                (read_file(workspace, documents, path, ctx).await?, Trust::Workspace)
            }
            (Source::Url(_), None, _) => return Err(unavailable("Addresses")),
            (Source::Path(_), _, None) => return Err(unavailable("Files")),
            (Source::Document(_), _, _) => return Err(unavailable("Documents")),
        };
        Ok(output(reading, args.offset.unwrap_or_default(), max, trust))
    }
}

impl Read {
    async fn stored_document(
        &self,
        ctx: &CallCtx,
        name: &str,
        args: &Args,
        max_chars: usize,
    ) -> Result<ToolOutput, ToolError> {
        let stored = self.stored.as_ref().ok_or_else(|| unavailable("Documents"))?;
        let (page, offset) = (args.page.unwrap_or(1), args.offset.unwrap_or_default());
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        let part = DocumentPart { document: name, page, offset, max_chars };
        let DocumentText { name, format, text, next, untrusted } = stored.read(ctx, part).await?;
        let about = match next {
            // Page 0 is a text without pages.
            Some((0, offset)) => format!("{name} ({format}): go on with offset {offset}."),
            Some((page, offset)) => {
                format!("{name} ({format}): go on with page {page}, offset {offset}.")
            }
            None => format!("{name} ({format}): up to the end."),
        };
        let data = json!({
            "source": format!("document:{name}"), "kind": format, "title": name, "text": text,
            "next": next.map(|(page, offset)| json!({"page": page.max(1), "offset": offset})),
        });
        let blocks = vec![Block::text(about), Block::text(text)];
        let output = ToolOutput::from_blocks(blocks).with_structured(data);
        Ok(match untrusted {
            Some(source) => output.with_origin(Trust::External, source),
            None => output.with_origin(Trust::Workspace, name),
        })
    }
}

fn unavailable(what: &str) -> ToolError {
    ToolError::execution(format!("{what} cannot be read here."))
}

fn max_chars(args: &Args) -> Result<usize, ToolError> {
    let max = args.max_chars.unwrap_or(DEFAULT_CHARS);
    if (1..=MAX_CHARS).contains(&max) {
        return Ok(max);
    }
    Err(ToolError::validation(format!("max_chars is {max}, but must be 1 to {MAX_CHARS}."))
        .with_nothing_read())
}

fn output(reading: Reading, offset: usize, max: usize, trust: Trust) -> ToolOutput {
    let Reading { kind, title, text, source, notes, sandbox } = reading;
    let text = text.trim();
    let (part, total) = excerpt(text, offset, max);
    let end = offset.min(total) + part.chars().count();
    let next = (end < total).then_some(end);
    let name = if title.is_empty() { &source } else { &title };
    let mut about = format!("{name} ({kind})");
    about += &match next {
        _ if total == 0 => ": it has no text.".to_owned(),
        _ if offset >= total => format!(": it has only {total} characters."),
        Some(next) => {
            format!(": characters {offset} to {end} of {total}. Go on with offset {next}.")
        }
        None if offset > 0 => format!(": characters {offset} to {end}, the end."),
        None => ".".to_owned(),
    };
    for note in &notes {
        about += &format!(" {note}");
    }
    let data = json!({
        "source": source, "kind": kind, "title": title, "text": part, "offset": offset,
        "total_chars": total, "next_offset": next, "notes": notes,
    });
    let output = ToolOutput::from_blocks(vec![Block::text(about), Block::text(part)])
        .with_structured(data)
        .with_origin(trust, source);
    match sandbox {
        Some(level) => output.with_sandbox(level),
        None => output,
    }
}
