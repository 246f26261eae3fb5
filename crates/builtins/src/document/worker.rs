//! Document worker: this executable in another role. It reads one document from its standard input,
//! writes the parts to its standard output, and ends. Its parsers may loop, exhaust memory or
//! crash; the sandbox contains the damage.
#![deny(clippy::indexing_slicing)]

use std::ffi::OsString;
use std::io::{self, Read as _, Write};
use std::panic;

use super::worker_protocol::{Format, MAX_TEXT, Part, ReadFailure, WorkerMessage, WorkerRequest};
use super::{article, csv_text, docx_text, pdf, xlsx_text};

/// The first argument that selects this role.
pub(super) const ROLE: &str = "document-worker";

/// Stack of the reading thread: formats nest, and the parsers recurse.
const STACK: usize = 64 << 20;

/// Runs the document worker if the arguments (without the program name) select it; returns the exit
/// code.
///
/// Call it first in `main`, before the program reads anything.
#[must_use]
pub fn worker_entry(args: impl IntoIterator<Item = OsString>) -> Option<u8> {
    let mut args = args.into_iter();
    if args.next()? != ROLE {
        return None;
    }
    let request: WorkerRequest = serde_json::from_str(args.next()?.to_str()?).ok()?;
    // A panic of a parser is reported as a damaged part, not on standard error.
    panic::set_hook(Box::new(|_| {}));
    let reading = std::thread::Builder::new().stack_size(STACK).spawn(move || serve(&request));
    let done = reading.is_ok_and(|thread| thread.join().is_ok_and(|served| served.is_ok()));
    Some(u8::from(!done))
}

fn serve(request: &WorkerRequest) -> io::Result<()> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    let mut sink = PartWriter::new(io::stdout().lock());
    read(&bytes, request, &mut sink)?;
    sink.out.flush()
}

/// Reads a document and writes its parts as messages.
pub(super) fn read<W: Write>(
    bytes: &[u8],
    request: &WorkerRequest,
    sink: &mut PartWriter<W>,
) -> io::Result<()> {
    let whole = panic::catch_unwind(panic::AssertUnwindSafe(|| by_format(bytes, request, sink)));
    match whole {
        Ok(Ok(())) => sink.done(),
        Ok(Err(WorkerError::Document(failure))) => sink.send(&WorkerMessage::Failed(failure)),
        Ok(Err(WorkerError::Out(error))) => Err(error),
        Err(_) => sink.send(&WorkerMessage::Failed(ReadFailure::damaged("the reader panicked"))),
    }
}

fn by_format<W: Write>(
    bytes: &[u8],
    request: &WorkerRequest,
    sink: &mut PartWriter<W>,
) -> Result<(), WorkerError> {
    let pages = &request.pages;
    let format = match &request.format {
        Format::Office => super::detect_office_format::detect(bytes)?,
        known => known.clone(),
    };
    match format {
        Format::Pdf => pdf::read(bytes, pages, sink),
        Format::Docx => {
            let text = docx_text::read(bytes, sink.left())?;
            sink.single_part(format, text)
        }
        Format::Xlsx | Format::Office => xlsx_text::read(bytes, pages, sink),
        Format::Csv => sink.single_part(format, csv_text::read(bytes, sink.left())),
        Format::Html => sink.single_part(format, super::html_text(bytes)),
        Format::Article { ref url } => {
            let (name, text) = article::read(&super::text_of(bytes), url.as_deref());
            sink.start(format, 1)?;
            sink.part(Part { number: 1, name, text, ..Part::default() })?;
            Ok(())
        }
    }
}

/// Why reading ended early.
pub(super) enum WorkerError {
    /// The document cannot be read.
    Document(ReadFailure),
    /// The output was closed by the reader.
    Out(io::Error),
}

impl From<ReadFailure> for WorkerError {
    fn from(failure: ReadFailure) -> Self {
        Self::Document(failure)
    }
}

impl From<io::Error> for WorkerError {
    fn from(error: io::Error) -> Self {
        Self::Out(error)
    }
}

/// Writes messages, and counts how much text still fits.
pub(super) struct PartWriter<W> {
    pub(super) out: W,
    left: usize,
    next: Option<u32>,
}

impl<W: Write> PartWriter<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, left: MAX_TEXT, next: None }
    }

    /// Returns the number of bytes of text that still fit.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    pub(super) fn start(&mut self, format: Format, parts: u32) -> Result<(), WorkerError> {
        Ok(self.send(&WorkerMessage::Opened { format, parts })?)
    }

    /// Writes a document that has no parts.
    fn single_part(&mut self, format: Format, text: String) -> Result<(), WorkerError> {
        self.start(format, 1)?;
        self.part(Part { number: 1, text, ..Part::default() })?;
        Ok(())
    }

    /// Adds a part; the first one is cut if it is too long. `false` means that neither this part
    /// nor any later one fits.
    pub(super) fn part(&mut self, mut part: Part) -> Result<bool, WorkerError> {
        part.text.retain(|c| !c.is_control() || matches!(c, '\n' | '\t'));
        if part.text.len() > self.left {
            if self.left < MAX_TEXT {
                self.next = Some(part.number);
                return Ok(false);
            }
            part.text.truncate(part.text.floor_char_boundary(self.left));
            part.cut = true;
        }
        self.left -= part.text.len();
        self.send(&WorkerMessage::Part(part))?;
        Ok(true)
    }

    fn done(&mut self) -> io::Result<()> {
        self.send(&WorkerMessage::Done { next: self.next })
    }

    /// Flushes every message, so that the parts written before a crash are kept.
    fn send(&mut self, frame: &WorkerMessage) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, frame)?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}
