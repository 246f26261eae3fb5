//! Documents as text: PDF, Word, Excel, CSV, HTML, read in a sandboxed worker process.
//!
//! These formats are large, the files are untrusted, and the libraries that parse them can panic,
//! recurse deeply and allocate without bound on a crafted file. Each document is therefore read by
//! a [worker](worker_entry): this executable in another role, in a sandbox that contains nothing
//! but the executable, has no network, and has bounded memory and time. The worker gets the bytes
//! on its standard input and answers part by part, so the parts read before a crash are kept.
#![deny(clippy::indexing_slicing)]

mod article;
mod csv_text;
mod detect_format;
mod detect_office_format;
mod document_text;
mod docx_text;
mod page_ranges;
mod pdf;
mod worker;
mod worker_protocol;
mod xlsx_text;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use encoding_rs::{Encoding, WINDOWS_1252};
use toolcrib_core::{CallCtx, ErrorType, ToolError};
use toolcrib_sandbox::process::End;
use toolcrib_sandbox::{Level, LimitHit, Resources};

use crate::program_runner::{Needs, Program, ProgramOutput, ProgramRunner, WorkspaceAccess};
pub use document_text::{DocumentText, DocumentWindow};
pub(crate) use page_ranges::PageRanges;
pub use worker::worker_entry;
use worker_protocol::{FailureReason, MAX_TEXT, ReadFailure, WorkerMessage, WorkerRequest};
pub(crate) use worker_protocol::{Format, Part};

/// Largest document, in bytes; a scanned book is about this large.
pub(crate) const MAX_BYTES: u64 = 64 << 20;
/// Memory limit of the worker: the document, its unpacked streams, and the text.
const MEMORY: u64 = 1 << 30;
/// Process and thread limit of the worker, which runs two threads.
const PROCESSES: u32 = 16;
/// Part of the time limit reserved for sending the answer.
const MARGIN: Duration = Duration::from_millis(500);
/// Capture limit of the worker's output, in bytes: the text as JSON, doubled because the capture
/// stores the beginning and the end of a long output, and only the beginning is used.
const ANSWER: usize = 2 * 8 * MAX_TEXT;

/// Reads documents in worker processes.
#[derive(Debug, Clone)]
pub(crate) struct Documents {
    workbench: Arc<ProgramRunner>,
    program: PathBuf,
}

/// The parts read from a document.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) format: Format,
    /// Number of parts in the whole document.
    pub(crate) count: u32,
    pub(crate) parts: Vec<Part>,
    /// Isolation level of the worker that read it.
    pub(crate) level: Level,
    /// Why reading ended early, as the end of a sentence, and the part to continue with.
    pub(crate) ended: Option<(String, u32)>,
}

impl Documents {
    /// Creates a reader. Its worker is this executable (`main` must call [`worker_entry`] first),
    /// started by this program runner.
    pub(crate) fn new(workbench: Arc<ProgramRunner>, program: &Path) -> Self {
        Self { workbench, program: program.to_owned() }
    }

    /// Reads a document.
    ///
    /// # Errors
    /// `execution_error` for files that are not documents, need a password or are damaged; the
    /// errors of [`ProgramRunner::run`]; `cancelled` and `timeout`.
    pub(crate) async fn read(
        &self,
        ctx: &CallCtx,
        path: &str,
        bytes: Vec<u8>,
        pages: PageRanges,
    ) -> Result<Document, ToolError> {
        let format = detect_format::detect(path, &bytes)?;
        self.read_as(ctx, path, bytes, format, pages).await
    }

    /// Reads a document in a known format.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) async fn read_as(
        &self,
        ctx: &CallCtx,
        path: &str,
        bytes: Vec<u8>,
        format: Format,
        pages: PageRanges,
    ) -> Result<Document, ToolError> {
        let request = WorkerRequest { format, pages };
        let title = request.format.title();
        let left = ctx.deadline.saturating_duration_since(Instant::now());
        let program = self.worker(&request).stdin(bytes).time(left.saturating_sub(MARGIN));
        let finished = self.workbench.run(ctx, program).await?;
        if ctx.cancel.is_cancelled() {
            return Err(ToolError::new(ErrorType::Cancelled, "The call was stopped."));
        }
        let answer = WorkerOutput::parse(&finished.stdout.head);
        if let Some(failure) = answer.failure {
            return Err(to_tool_error(path, title, &failure));
        }
        let ended = match (answer.done, answer.next) {
            (true, None) => None,
            (true, Some(next)) => {
                Some((format!("at most {MAX_TEXT} characters are given back at once"), next))
            }
            (false, _) => Some((stop_reason(&finished).to_owned(), answer.after)),
        };
        match answer.opened {
            Some((format, count)) if answer.done || !answer.parts.is_empty() => {
                Ok(Document { format, count, parts: answer.parts, level: finished.level, ended })
            }
            _ => Err(worker_died(path, title, &finished)),
        }
    }

    fn worker(&self, request: &WorkerRequest) -> Program {
        let needs = Needs {
            workspace: WorkspaceAccess::Hidden,
            readable: vec![self.program.clone()],
            resources: Some(Resources {
                memory: Some(MEMORY),
                processes: Some(PROCESSES),
                file_size: Some(0),
                ..Resources::default()
            }),
            ..Needs::default()
        };
        let request = serde_json::to_string(request).unwrap_or_default();
        let program = Program::new(&self.program).args([worker::ROLE, &request]);
        program.folder("/").needs(needs).keep(ANSWER)
    }
}

/// The messages of a worker, up to its end.
#[derive(Default)]
struct WorkerOutput {
    opened: Option<(Format, u32)>,
    parts: Vec<Part>,
    failure: Option<ReadFailure>,
    done: bool,
    next: Option<u32>,
    /// Number of the part after the last one received.
    after: u32,
}

impl WorkerOutput {
    /// Parses the output leniently: a worker compromised by its document may write anything, so
    /// lines that are not messages are skipped.
    fn parse(said: &[u8]) -> Self {
        let mut answer = Self { after: 1, ..Self::default() };
        for line in said.split_inclusive(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(WorkerMessage::Opened { format, parts }) => {
                    answer.opened = Some((format, parts));
                }
                Ok(WorkerMessage::Part(part)) => {
                    answer.after = part.number.saturating_add(1);
                    answer.parts.push(part);
                }
                Ok(WorkerMessage::Done { next }) => (answer.done, answer.next) = (true, next),
                Ok(WorkerMessage::Failed(failure)) => answer.failure = Some(failure),
                Err(_) => {}
            }
        }
        answer
    }
}

/// Returns why the worker ended early, as the end of a sentence.
fn stop_reason(finished: &ProgramOutput) -> &'static str {
    match (finished.stopped, finished.end) {
        (Some(LimitHit::Time), _) | (_, End::TimedOut) => "the time for this call was over",
        (Some(stop), _) => stop.message(),
        (None, _) => "the document made the reader crash",
    }
}

/// Creates the error for a worker that ended before it sent a part.
fn worker_died(path: &str, title: &str, finished: &ProgramOutput) -> ToolError {
    let kind = match finished.end {
        End::TimedOut => ErrorType::Timeout,
        _ => ErrorType::ExecutionError,
    };
    let text = format!(
        "Nothing of {path} could be read as a {title}: {}. Ask for single pages, or convert it with another program.",
        stop_reason(finished)
    );
    ToolError::new(kind, text)
        .with_detail(String::from_utf8_lossy(&finished.stderr.head))
        .transient(false)
}

fn to_tool_error(path: &str, title: &str, failure: &ReadFailure) -> ToolError {
    let message = match failure.why {
        FailureReason::Encrypted => format!(
            "{path} is protected with a password, so its text cannot be read. Ask for a copy without protection (for a PDF: qpdf --password=… --decrypt in.pdf out.pdf)."
        ),
        FailureReason::Broken => format!(
            "{path} is damaged or no {title}: {}. Get the file anew, or convert it with another program.",
            failure.detail.trim_end_matches('.')
        ),
        FailureReason::OtherOffice => format!(
            "{path} is {}, which cannot be read. Save it as PDF, docx or xlsx and read that.",
            failure.detail
        ),
    };
    ToolError::execution(message).with_detail(failure.detail.clone()).transient(false)
}

/// Decodes UTF-8 or UTF-16 with a byte order mark, otherwise Windows-1252.
pub(crate) fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    match (Encoding::for_bom(bytes), std::str::from_utf8(bytes)) {
        (Some((encoding, _)), _) => encoding.decode(bytes).0,
        (None, Ok(text)) => Cow::Borrowed(text),
        (None, Err(_)) => WINDOWS_1252.decode_without_bom_handling(bytes).0,
    }
}

fn html_text(bytes: &[u8]) -> String {
    crate::html_to_markdown::to_markdown(&text_of(bytes), None)
}

#[cfg(test)]
mod tests;
