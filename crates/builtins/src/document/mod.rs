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
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use encoding_rs::{Encoding, WINDOWS_1252};
use toolcrib_core::{CallCtx, ErrorType, ToolError};
use toolcrib_sandbox::process::{End, Limits, Report};
use toolcrib_sandbox::{
    Backend, Ended, Job, Level, Policy, Resources, SandboxError, Status, Stdin, Stop, run,
};

use frame::{Failure, Frame, MAX_TEXT, Request, Why};
pub(crate) use frame::{Format, Part};
pub(crate) use pages::Pages;
pub use worker::worker_entry;

/// Bytes of a document that are read at most. A book of scanned pages is about that large.
pub(crate) const MAX_BYTES: u64 = 64 << 20;
/// Memory of the worker: the document, what its streams unpack to, and the text.
const MEMORY: u64 = 1 << 30;
/// Time that is kept back for the answer.
const MARGIN: Duration = Duration::from_millis(500);
/// Bytes of the worker's answer: its text as JSON, twice because both ends of a long answer are kept and only the first is wanted.
const ANSWER: usize = 2 * 8 * MAX_TEXT;

/// Reads documents.
#[derive(Clone)]
pub struct Documents {
    backend: Arc<dyn Backend>,
    program: PathBuf,
    minimum: Level,
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Documents").field("program", &self.program).finish_non_exhaustive()
    }
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
    /// A reader whose worker is this executable (its `main` calls [`worker_entry`] first) in sandboxes of this backend, at this level at
    /// least.
    pub fn new(backend: Arc<dyn Backend>, program: impl Into<PathBuf>, minimum: Level) -> Self {
        Self { backend, program: program.into(), minimum }
    }

    /// Reads a document.
    ///
    /// # Errors
    /// `execution_error` for what is no document, needs a password or is broken; `sandbox_error` when no sandbox could be had;
    /// `cancelled` and `timed_out`.
    pub(crate) async fn read(
        &self,
        ctx: &CallCtx,
        path: &str,
        bytes: &[u8],
        pages: Pages,
    ) -> Result<Document, ToolError> {
        let request = Request { format: format::of(path, bytes)?, pages };
        let title = request.format.title();
        let job = self.job(&request);
        let time = ctx.deadline.saturating_duration_since(Instant::now()).saturating_sub(MARGIN);
        let limits = Limits { time, stdout: ANSWER, ..Limits::default() };
        let ran = run(&*self.backend, &job, bytes, limits, ctx.cancel.cancelled()).await;
        let (report, ended) = ran.map_err(not_started)?;
        if ctx.cancel.is_cancelled() {
            return Err(ToolError::new(ErrorType::Cancelled, "The call was stopped."));
        }
        let answer = Answer::of(&report.stdout.head);
        if let Some(failure) = answer.failure {
            return Err(explain(path, title, &failure));
        }
        let ended = if answer.done {
            answer.next.map(|next| {
                (format!("at most {MAX_TEXT} characters are given back at once"), next)
            })
        } else {
            Some((because(&report, &ended), answer.after))
        };
        match (answer.opened, ended) {
            (Some((format, count)), ended) if answer.done || !answer.parts.is_empty() => {
                Ok(Document { format, count, parts: answer.parts, ended })
            }
            (_, ended) => Err(died(path, title, &report, ended.map(|(why, _)| why))),
        }
    }

    fn job(&self, request: &Request) -> Job {
        let policy = Policy {
            readable: vec![self.program.clone()],
            resources: Resources {
                memory: Some(MEMORY),
                processes: Some(16),
                file_size: Some(0),
                ..Resources::default()
            },
            minimum: self.minimum,
            ..Policy::default()
        };
        let request = serde_json::to_string(request).unwrap_or_default();
        let mut job = Job::new(&self.program, policy).args([worker::ROLE, &request]).folder("/");
        job.stdin = Stdin::Piped;
        job
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
fn because(report: &Report, ended: &Ended) -> String {
    match (ended.stopped, report.end) {
        (Some(Stop::Time), _) | (_, End::TimedOut) => "the time for this call was over".to_owned(),
        (Some(stop), _) => stop.because().to_owned(),
        (None, End::Signalled(_)) => "the document made the reader crash".to_owned(),
        _ if matches!(ended.status, Status::Exited(_)) => {
            "the document made the reader give up".to_owned()
        }
        _ => "the reader ended early".to_owned(),
    }
}

/// A worker that gave nothing.
fn died(path: &str, title: &str, report: &Report, why: Option<String>) -> ToolError {
    let why = why.unwrap_or_else(|| "the reader gave no answer".to_owned());
    let detail = String::from_utf8_lossy(&report.stderr.head).into_owned();
    let kind = if report.end == End::TimedOut { ErrorType::Timeout } else { ErrorType::ExecutionError };
    ToolError::new(
        kind,
        format!(
            "Nothing of {path} could be read as a {title}: {why}. Ask for single pages, or convert it with another program."
        ),
    )
    .with_detail(detail)
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

fn not_started(error: SandboxError) -> ToolError {
    ToolError::new(
        ErrorType::SandboxError,
        "Documents are read in a sandbox, and it could not be had. `toolcrib sandbox status` says what this host lacks.",
    )
    .with_detail(error.to_string())
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
