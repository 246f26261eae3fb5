//! Documents as text: PDF, Word, Excel, CSV, HTML.
//!
//! Their formats are large, their files come from anywhere, and the libraries that read them panic, recurse and allocate as a file makes
//! them. So each document is read by a [worker](worker_entry): this executable in another role, in a sandbox that sees nothing but the
//! executable, reaches nothing, and has bounded memory and time. It gets the bytes on its standard input and answers part by part, so
//! that what was read before it died is kept.
#![deny(clippy::indexing_slicing)]

mod format;
mod frame;
mod office;
mod pages;
mod pdf;
mod sheet;
mod table;
mod word;
mod worker;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use encoding_rs::{Encoding, WINDOWS_1252};
use toolcrib_core::{CallCtx, ErrorType, ToolError};
use toolcrib_sandbox::process::End;
use toolcrib_sandbox::{Resources, Stop};

use crate::workbench::{Finished, Needs, Program, Room, Workbench};
use frame::{Failure, Frame, MAX_TEXT, Request, Why};
pub(crate) use frame::{Format, Part};
pub(crate) use pages::Pages;
pub use worker::worker_entry;

/// Bytes of a document that are read at most. A book of scanned pages is about that large.
pub(crate) const MAX_BYTES: u64 = 64 << 20;
/// Memory of the worker: the document, what its streams unpack to, and the text.
const MEMORY: u64 = 1 << 30;
/// Processes and threads of the worker: it has two threads.
const PROCESSES: u32 = 16;
/// Time that is kept back for the answer.
const MARGIN: Duration = Duration::from_millis(500);
/// Bytes of the worker's answer: its text as JSON, twice because both ends of a long answer are kept and only the first is wanted.
const ANSWER: usize = 2 * 8 * MAX_TEXT;

/// Reads documents.
#[derive(Debug, Clone)]
pub(crate) struct Documents {
    workbench: Arc<Workbench>,
    program: PathBuf,
}

/// What was read of a document.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) format: Format,
    /// How many parts the whole has.
    pub(crate) count: u32,
    pub(crate) parts: Vec<Part>,
    /// Why there is no more of what was wanted, as the end of a sentence, and the part to go on with.
    pub(crate) ended: Option<(String, u32)>,
}

impl Documents {
    /// A reader whose worker is this executable (its `main` calls [`worker_entry`] first), on this bench.
    pub(crate) fn new(workbench: Arc<Workbench>, program: &Path) -> Self {
        Self { workbench, program: program.to_owned() }
    }

    /// Reads a document.
    ///
    /// # Errors
    /// `execution_error` for what is no document, needs a password or is broken; those of [`Workbench::run`]; `cancelled` and `timeout`.
    pub(crate) async fn read(
        &self,
        ctx: &CallCtx,
        path: &str,
        bytes: Vec<u8>,
        pages: Pages,
    ) -> Result<Document, ToolError> {
        let request = Request { format: format::of(path, &bytes)?, pages };
        let title = request.format.title();
        let left = ctx.deadline.saturating_duration_since(Instant::now());
        let program = self.worker(&request).stdin(bytes).time(left.saturating_sub(MARGIN));
        let finished = self.workbench.run(ctx, program).await?;
        if ctx.cancel.is_cancelled() {
            return Err(ToolError::new(ErrorType::Cancelled, "The call was stopped."));
        }
        let answer = Answer::of(&finished.stdout.head);
        if let Some(failure) = answer.failure {
            return Err(explain(path, title, &failure));
        }
        let ended = match (answer.done, answer.next) {
            (true, None) => None,
            (true, Some(next)) => {
                Some((format!("at most {MAX_TEXT} characters are given back at once"), next))
            }
            (false, _) => Some((because(&finished).to_owned(), answer.after)),
        };
        match answer.opened {
            Some((format, count)) if answer.done || !answer.parts.is_empty() => {
                Ok(Document { format, count, parts: answer.parts, ended })
            }
            _ => Err(died(path, title, &finished)),
        }
    }

    fn worker(&self, request: &Request) -> Program {
        let needs = Needs {
            workspace: Room::Hidden,
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

/// What a worker said, as far as it came.
#[derive(Default)]
struct Answer {
    opened: Option<(Format, u32)>,
    parts: Vec<Part>,
    failure: Option<Failure>,
    done: bool,
    next: Option<u32>,
    /// The part after the last one that came.
    after: u32,
}

impl Answer {
    /// A worker that a document took over may say anything: lines that are no frames are passed over.
    fn of(said: &[u8]) -> Self {
        let mut answer = Self { after: 1, ..Self::default() };
        for line in said.split_inclusive(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Frame::Opened { format, parts }) => answer.opened = Some((format, parts)),
                Ok(Frame::Part(part)) => {
                    answer.after = part.number.saturating_add(1);
                    answer.parts.push(part);
                }
                Ok(Frame::Done { next }) => (answer.done, answer.next) = (true, next),
                Ok(Frame::Failed(failure)) => answer.failure = Some(failure),
                Err(_) => {}
            }
        }
        answer
    }
}

/// Why the worker ended before it was done, as the end of a sentence.
fn because(finished: &Finished) -> &'static str {
    match (finished.stopped, finished.end) {
        (Some(Stop::Time), _) | (_, End::TimedOut) => "the time for this call was over",
        (Some(stop), _) => stop.because(),
        (None, _) => "the document made the reader crash",
    }
}

/// A worker that gave nothing.
fn died(path: &str, title: &str, finished: &Finished) -> ToolError {
    let kind = match finished.end {
        End::TimedOut => ErrorType::Timeout,
        _ => ErrorType::ExecutionError,
    };
    let text = format!(
        "Nothing of {path} could be read as a {title}: {}. Ask for single pages, or convert it with another program.",
        because(finished)
    );
    ToolError::new(kind, text)
        .with_detail(String::from_utf8_lossy(&finished.stderr.head))
        .transient(false)
}

fn explain(path: &str, title: &str, failure: &Failure) -> ToolError {
    let message = match failure.why {
        Why::Encrypted => format!(
            "{path} is protected with a password, so its text cannot be read. Ask for a copy without protection (for a PDF: qpdf --password=… --decrypt in.pdf out.pdf)."
        ),
        Why::Broken => format!(
            "{path} is damaged or no {title}: {}. Get the file anew, or convert it with another program.",
            failure.detail.trim_end_matches('.')
        ),
        Why::OtherOffice => format!(
            "{path} is {}, which cannot be read. Save it as PDF, docx or xlsx and read that.",
            failure.detail
        ),
    };
    ToolError::execution(message).with_detail(failure.detail.clone()).transient(false)
}

/// Text in UTF-8 or UTF-16 with its mark, in Windows-1252 where it is neither.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    match (Encoding::for_bom(bytes), std::str::from_utf8(bytes)) {
        (Some((encoding, _)), _) => encoding.decode(bytes).0,
        (None, Ok(text)) => Cow::Borrowed(text),
        (None, Err(_)) => WINDOWS_1252.decode_without_bom_handling(bytes).0,
    }
}

fn html_text(bytes: &[u8]) -> Result<String, Failure> {
    crate::html::to_markdown(&text_of(bytes), None).map_err(Failure::broken)
}

#[cfg(test)]
mod tests;
