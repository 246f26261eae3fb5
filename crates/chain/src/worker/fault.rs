//! Exceptions of the interpreter, and whether they mean that it lacks something.

use std::borrow::Cow;

use monty_types::{ExcType, MontyException};

use crate::protocol::{Lack, Raised, TRACE_BYTES, head};

/// What the interpreter says of syntax that it does not have.
const LACKS_SYNTAX: &str = "The monty syntax parser does not yet support ";

/// How the words begin of what code asks for and is not there.
const NOTHING_OUTSIDE: &str = "the level expression does not have ";

/// Names that CPython has built in and the interpreter has not.
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

/// When an exception came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Before anything ran.
    Compiling,
    /// While code ran.
    Running,
}

/// What is told of an exception.
pub(super) fn raised(error: &MontyException, when: When) -> Raised {
    let message = error.message().unwrap_or_default();
    let line = error.traceback().last().map(|frame| frame.start.line);
    let lacks = lack(error.exc_type(), message, when);
    let message = message
        .strip_prefix(LACKS_SYNTAX)
        .map_or_else(|| message.to_owned(), |what| format!("{NOTHING_OUTSIDE}{what}"));
    let trace = error.to_string().replace(LACKS_SYNTAX, NOTHING_OUTSIDE);
    let trace = if when == When::Compiling { pointed(error, trace) } else { trace };
    Raised {
        kind: error.exc_type().to_string(),
        message: head(&message, TRACE_BYTES / 2).to_owned(),
        trace: both_ends(&trace, TRACE_BYTES).into_owned(),
        line,
        lacks,
    }
}

/// The words of an error of syntax, with the place pointed at where they do not: what is missing at the end of a line has no width.
fn pointed(error: &MontyException, trace: String) -> String {
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

/// A text without its middle where it is longer than this: a traceback says where it began, and at its end what went wrong.
fn both_ends(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    let end = text.ceil_char_boundary(text.len() - bytes / 2);
    let (_, end) = text.split_at(end);
    Cow::Owned(format!("{}\n...\n{end}", head(text, bytes / 2)))
}

fn lack(kind: ExcType, message: &str, when: When) -> Option<Lack> {
    match kind {
        ExcType::NotImplementedError if when == When::Compiling => Some(Lack::Syntax),
        ExcType::SyntaxError if message.starts_with(LACKS_SYNTAX) => Some(Lack::Syntax),
        ExcType::ImportError | ExcType::ModuleNotFoundError => Some(Lack::Module),
        ExcType::AttributeError
            if message.starts_with("module ") || message.starts_with("'module' ") =>
        {
            Some(Lack::Module)
        }
        ExcType::NameError if NOT_BUILT_IN.iter().any(|name| is_about(message, name)) => {
            Some(Lack::Builtin)
        }
        ExcType::PermissionError if message.starts_with(NOTHING_OUTSIDE) => Some(Lack::Builtin),
        _ => None,
    }
}

fn is_about(message: &str, name: &str) -> bool {
    message
        .strip_prefix("name '")
        .and_then(|rest| rest.strip_prefix(name))
        .is_some_and(|rest| rest.starts_with('\''))
}

/// The exception of code that asks for something outside: a file, a clock, a variable of the environment.
pub(super) fn nothing_outside(what: &str) -> MontyException {
    let text = format!(
        "{NOTHING_OUTSIDE}{what}: it has no files, no clock and no variables of the environment"
    );
    MontyException::new(ExcType::PermissionError, Some(text))
}
