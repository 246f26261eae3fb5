//! The text of files for callers that are not tools: documents through the worker, text files
//! directly.

use std::sync::Arc;
use std::time::{Duration, Instant};

use toolcrib_core::tool::{StreamSink, Streams};
use toolcrib_core::{Block, CallCtx, CallId, CancellationToken, Context, NoPathDenials, ToolError};

use super::page_ranges::PageRanges;
use super::worker_protocol::Format;
use super::{Documents, text_of};
use crate::fs::Workspace;
use crate::tool::pdf_read;

/// Time limit for one window; a window has at most a million bytes of text.
const TIME: Duration = Duration::from_secs(120);
/// A file with a NUL within this many leading bytes is not text.
const BINARY_WITHIN: usize = 8_192;

/// Reads the text of files, in windows of at most a million bytes.
#[derive(Clone)]
pub struct DocumentText {
    pub(crate) workspace: Option<Arc<Workspace>>,
    pub(crate) documents: Option<Documents>,
}

/// Part of the text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentWindow {
    /// Name of the format.
    pub format: &'static str,
    /// Name of a part, such as "page"; `None` if the format has no parts.
    pub unit: Option<&'static str>,
    /// Number of parts.
    pub count: u32,
    /// The read parts with their numbers from 1.
    pub parts: Vec<(u32, String)>,
    /// The first part of the next window; `None` after the last part.
    pub next: Option<u32>,
    /// Why reading ended early for a reason other than the length limit.
    pub problem: Option<String>,
}

impl DocumentText {
    /// Reads a file of the workspace under the rules of this call.
    ///
    /// # Errors
    /// Those of file tools: outside the roots, denied, missing, larger than 64 MB.
    pub async fn read_file(&self, ctx: &CallCtx, path: &str) -> Result<Vec<u8>, ToolError> {
        let Some(workspace) = &self.workspace else {
            return Err(ToolError::execution("There is no workspace, so no file can be read."));
        };
        let (workspace, path) = (workspace.for_call(ctx), path.to_owned());
        crate::tool::blocking(move || pdf_read::bytes(&workspace, &path)).await
    }

    /// Reads the text of a file, starting at a part.
    ///
    /// # Errors
    /// The file is neither a document nor text, is damaged, or needs a password.
    pub async fn window(
        &self,
        name: &str,
        bytes: &[u8],
        first: u32,
    ) -> Result<DocumentWindow, ToolError> {
        let format = match super::detect_format::detect(name, bytes) {
            Ok(format) => format,
            Err(error) if !is_text(bytes) => return Err(error),
            Err(_) => {
                let parts = vec![(1, text_of(bytes).into_owned())];
                let (format, count) = ("text", 1);
                return Ok(DocumentWindow {
                    format,
                    unit: None,
                    count,
                    parts,
                    next: None,
                    problem: None,
                });
            }
        };
        let Some(documents) = &self.documents else {
            let why = "Documents cannot be read here: this program has no document reader.";
            return Err(ToolError::execution(why));
        };
        let pages: PageRanges =
            format!("{}-", first.max(1)).parse().map_err(ToolError::validation)?;
        let pages = if format.unit().is_none() && format != Format::Office {
            PageRanges::default()
        } else {
            pages
        };
        let read = documents.read_as(&context(), name, bytes.to_vec(), format, pages).await?;
        let unit = read.format.unit();
        let (next, problem) = match read.ended {
            None => (None, None),
            Some((_, next)) if next > first && !read.parts.is_empty() && unit.is_some() => {
                (Some(next).filter(|next| *next <= read.count), None)
            }
            Some((why, _)) => (None, Some(format!("Reading ended early because {why}."))),
        };
        let parts = read.parts.into_iter().map(|part| (part.number, part.text)).collect();
        let (format, count) = (read.format.title(), read.count);
        Ok(DocumentWindow { format, unit, count, parts, next, problem })
    }
}

fn is_text(bytes: &[u8]) -> bool {
    let head = bytes.get(..BINARY_WITHIN).unwrap_or(bytes);
    !head.contains(&0) && !head.starts_with(b"\x89PNG") && !head.starts_with(b"\xff\xd8\xff")
}

/// Creates the context for a reading outside of a call. No rules apply, because the worker reads
/// only bytes that the caller supplied and sees nothing else.
fn context() -> CallCtx {
    CallCtx {
        call: CallId::fresh(),
        run: None,
        context: Arc::new(Context::default()),
        view: Arc::default(),
        attempt: 1,
        cancel: CancellationToken::new(),
        deadline: Instant::now() + TIME,
        streams: Arc::new(NoStreams),
        path_denials: NoPathDenials::shared(),
        approved_hosts: Arc::default(),
    }
}

/// Discards output: no call streams the worker's output.
struct NoStreams;

struct NoSink;

impl StreamSink for NoSink {
    fn write(&mut self, _: &[u8]) {}

    fn finish(self: Box<Self>) -> Block {
        Block::text("")
    }
}

impl Streams for NoStreams {
    fn open(&self, _: &CallCtx, _: &str) -> Box<dyn StreamSink> {
        Box::new(NoSink)
    }
}
