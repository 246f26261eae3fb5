//! Exceptions of the interpreter, and detection of missing features.

use std::borrow::Cow;

use monty_types::{ExcType, MontyException};

use crate::worker_protocol::{MissingFeature, PythonException, TRACE_BYTES, head};

/// The interpreter's message for unsupported syntax.
const LACKS_SYNTAX: &str = "The monty syntax parser does not yet support ";

/// Prefix of messages about external resources.
const NOTHING_OUTSIDE: &str = "the level expression does not have ";

/// Built-in names of CPython that the interpreter does not have.
const NOT_BUILT_IN: [&str; 26] = [
    "BaseExceptionGroup",
    "ExceptionGroup",
    "__import__",
    "aiter",
    "anext",
    "ascii",
    "breakpoint",
    "bytearray",
    "callable",
    "classmethod",
    "compile",
    "complex",
    "delattr",
    "dir",
    "eval",
    "exec",
    "format",
    "globals",
    "help",
    "input",
    "issubclass",
    "locals",
    "memoryview",
    "property",
    "staticmethod",
    "super",
];

/// The phase in which an exception was raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorPhase {
    /// Before anything ran.
    Compiling,
    /// While code ran.
    Running,
}

/// Converts an exception to the reported form.
pub(super) fn to_exception(error: &MontyException, when: ErrorPhase) -> PythonException {
    let message = error.message().unwrap_or_default();
    let line = error.traceback().last().map(|frame| frame.start.line);
    let lacks = missing_feature(error.exc_type(), message, when);
    let message = message
        .strip_prefix(LACKS_SYNTAX)
        .map_or_else(|| message.to_owned(), |what| format!("{NOTHING_OUTSIDE}{what}"));
    let trace = error.to_string().replace(LACKS_SYNTAX, NOTHING_OUTSIDE);
    let trace = if when == ErrorPhase::Compiling { with_source_line(error, trace) } else { trace };
    PythonException {
        kind: error.exc_type().to_string(),
        message: head(&message, TRACE_BYTES / 2).to_owned(),
        trace: both_ends(&trace, TRACE_BYTES).into_owned(),
        line,
        lacks,
    }
}

/// Adds the source line and a marker to a syntax error that has none: an error at the end of a line
/// has no width.
fn with_source_line(error: &MontyException, trace: String) -> String {
    let points = |line: &str| {
        let line = line.trim();
        !line.is_empty() && line.chars().all(|c| c == '^' || c == '~')
    };
    let frame = error.traceback().last();
    let Some((frame, source)) = frame.zip(frame.and_then(|frame| frame.preview_line.as_deref()))
    else {
        return trace;
    };
    if trace.lines().any(points) {
        return trace;
    }
    let line = source.lines().next().unwrap_or_default();
    let indent = line.chars().take_while(|c| c.is_whitespace()).count();
    let column = usize::try_from(frame.start.column).unwrap_or(1);
    let before = " ".repeat(column.saturating_sub(1 + indent).min(line.chars().count()));
    let last = trace.lines().last().unwrap_or_default();
    format!(
        "Traceback (most recent call last):\n  File \"{}\", line {}\n    {}\n    {before}^\n{last}",
        frame.filename,
        frame.start.line,
        line.trim_start()
    )
}

/// Returns a text without its middle if it is longer than `bytes`: a traceback shows the origin at
/// its beginning and the error at its end.
fn both_ends(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    let end = text.ceil_char_boundary(text.len() - bytes / 2);
    let (_, end) = text.split_at(end);
    Cow::Owned(format!("{}\n...\n{end}", head(text, bytes / 2)))
}

fn missing_feature(kind: ExcType, message: &str, when: ErrorPhase) -> Option<MissingFeature> {
    match kind {
        ExcType::NotImplementedError if when == ErrorPhase::Compiling => {
            Some(MissingFeature::Syntax)
        }
        ExcType::SyntaxError if message.starts_with(LACKS_SYNTAX) => Some(MissingFeature::Syntax),
        ExcType::ImportError | ExcType::ModuleNotFoundError => Some(MissingFeature::Module),
        ExcType::AttributeError
            if message.starts_with("module ") || message.starts_with("'module' ") =>
        {
            Some(MissingFeature::Module)
        }
        ExcType::NameError if NOT_BUILT_IN.iter().any(|name| is_about(message, name)) => {
            Some(MissingFeature::Builtin)
        }
        ExcType::PermissionError if message.starts_with(NOTHING_OUTSIDE) => {
            Some(MissingFeature::Builtin)
        }
        _ => None,
    }
}

fn is_about(message: &str, name: &str) -> bool {
    message
        .strip_prefix("name '")
        .and_then(|rest| rest.strip_prefix(name))
        .is_some_and(|rest| rest.starts_with('\''))
}

/// Returns the exception for access to an external resource: a file, a clock, an environment
/// variable.
pub(super) fn not_available(what: &str) -> MontyException {
    let text = format!(
        "{NOTHING_OUTSIDE}{what}: it has no files, no clock and no variables of the environment"
    );
    MontyException::new(ExcType::PermissionError, Some(text))
}
