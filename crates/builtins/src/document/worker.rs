//! The worker: this executable in another role. It reads one document from its standard input, says what is in it on its standard
//! output, and ends. Its parsers may loop, blow up or crash; it runs where that hurts nobody.
#![deny(clippy::indexing_slicing)]

use std::ffi::OsString;
use std::io::{self, Read as _, Write};
use std::panic;

use super::frame::{Failure, Format, Frame, MAX_TEXT, Part, Request};
use super::{pdf, sheet, table, word};

/// The word that makes this executable the worker.
pub(super) const ROLE: &str = "document-worker";

/// Stack of the thread that reads: formats nest, and libraries recurse.
const STACK: usize = 64 << 20;

/// Does the work of the document worker if these arguments, those after the name of the program, say so. The result is the exit code.
///
/// To be called at the very beginning of a program, before it reads anything.
#[must_use]
pub fn worker_entry(args: impl IntoIterator<Item = OsString>) -> Option<u8> {
    let mut args = args.into_iter();
    if args.next()? != ROLE {
        return None;
    }
    let request: Request = serde_json::from_str(args.next()?.to_str()?).ok()?;
    // What a library panics about is told as a damaged part, not on the terminal.
    panic::set_hook(Box::new(|_| {}));
    let reading = std::thread::Builder::new().stack_size(STACK).spawn(move || serve(&request));
    let done = reading.is_ok_and(|thread| thread.join().is_ok_and(|served| served.is_ok()));
    Some(u8::from(!done))
}

fn serve(request: &Request) -> io::Result<()> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    let mut sink = Sink::new(io::stdout().lock());
    read(&bytes, request, &mut sink)?;
    sink.out.flush()
}

/// Reads a document into frames.
pub(super) fn read<W: Write>(
    bytes: &[u8],
    request: &Request,
    sink: &mut Sink<W>,
) -> io::Result<()> {
    let whole = panic::catch_unwind(panic::AssertUnwindSafe(|| by_format(bytes, request, sink)));
    match whole {
        Ok(Ok(())) => sink.done(),
        Ok(Err(Fault::Document(failure))) => sink.send(&Frame::Failed(failure)),
        Ok(Err(Fault::Out(error))) => Err(error),
        Err(_) => sink.send(&Frame::Failed(Failure::broken("the reader panicked"))),
    }
}

fn by_format<W: Write>(bytes: &[u8], request: &Request, sink: &mut Sink<W>) -> Result<(), Fault> {
    let pages = &request.pages;
    let format = match request.format {
        Format::Office => super::office::kind(bytes)?,
        known => known,
    };
    match format {
        Format::Pdf => pdf::read(bytes, pages, sink),
        Format::Docx => {
            let text = word::read(bytes, sink.left())?;
            sink.whole(format, text)
        }
        Format::Xlsx | Format::Office => sheet::read(bytes, pages, sink),
        Format::Csv => sink.whole(format, table::read(bytes, sink.left())),
        Format::Html => sink.whole(format, super::html_text(bytes)?),
    }
}

/// Why reading ended early.
pub(super) enum Fault {
    /// Because of the document.
    Document(Failure),
    /// Because nobody listens any more.
    Out(io::Error),
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::Document(failure)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Out(error)
    }
}

/// Where frames go, with what is left of the text that one reading gives back.
pub(super) struct Sink<W> {
    pub(super) out: W,
    left: usize,
    next: Option<u32>,
}

impl<W: Write> Sink<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, left: MAX_TEXT, next: None }
    }

    /// Bytes of text that still fit.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    pub(super) fn opened(&mut self, format: Format, parts: u32) -> Result<(), Fault> {
        Ok(self.send(&Frame::Opened { format, parts })?)
    }

    /// A document without parts.
    fn whole(&mut self, format: Format, text: String) -> Result<(), Fault> {
        self.opened(format, 1)?;
        self.part(Part { number: 1, text, ..Part::default() })?;
        Ok(())
    }

    /// Adds a part, cut if it is the first and too long; `false` = it does not fit, nor does anything after it.
    pub(super) fn part(&mut self, mut part: Part) -> Result<bool, Fault> {
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
        self.send(&Frame::Part(part))?;
        Ok(true)
    }

    fn done(&mut self) -> io::Result<()> {
        self.send(&Frame::Done { next: self.next })
    }

    /// Written through at once: what was read before a crash is kept.
    fn send(&mut self, frame: &Frame) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, frame)?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}
