//! `read`: an address or a file as text.

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
use crate::reading::{Reading, Source, excerpt, read_file, read_page};

/// Default and largest number of characters of a result.
const DEFAULT_CHARS: usize = 4_000;
const MAX_CHARS: usize = 8_000;

/// Handler of `read`.
pub(crate) struct Read {
    /// Where files are; `None` = only addresses can be read.
    pub(crate) workspace: Option<Arc<Workspace>>,
    /// The client of addresses; `None` = only files can be read.
    pub(crate) client: Option<HttpClient>,
    /// The reader of documents and articles.
    pub(crate) documents: Option<Documents>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// An address (https://…) of an article, a feed or a document, or the path of a file.
    source: String,
    /// How many characters at most. Default: 4000.
    #[schemars(range(min = 1, max = 8000))]
    max_chars: Option<usize>,
    /// First character, to go on where a result ended. Default: 0.
    offset: Option<usize>,
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
        match Source::parse(&args.source)? {
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
        let (reading, trust) = match (&source, &self.client, &self.workspace) {
            (Source::Url(url), Some(client), _) => {
                (read_page(client, documents, url, ctx).await?, Trust::External)
            }
            (Source::Path(path), _, Some(workspace)) => {
                (read_file(workspace, documents, path, ctx).await?, Trust::Workspace)
            }
            (Source::Url(_), None, _) => return Err(unavailable("Addresses")),
            (Source::Path(_), _, None) => return Err(unavailable("Files")),
        };
        Ok(output(reading, args.offset.unwrap_or_default(), max, trust))
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
