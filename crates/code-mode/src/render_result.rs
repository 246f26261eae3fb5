//! Renders the result of executed code for the model: value, output, files, images, and errors.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::output::Blob;
use toolcrib_core::{Block, CallCtx, ErrorType, ToolError, ToolOutput, Trust};

use crate::captured_output::CapturedOutput;
use crate::worker_process::{Death, WorkerEnd, WorkerRun};
use crate::worker_protocol::{CreatedFile, MissingFeature, PythonException, RunResult, ValueRepr};

/// Maximum number of files of one call that are stored as artifacts.
const FILES: usize = 10;

/// Size limit of a stored file, in bytes.
pub(crate) const FILE_BYTES: usize = 20 << 20;

/// Maximum number of images of one call that are shown to the model, and the size limit of each in
/// bytes (every provider accepts 5 MB).
const PICTURES: usize = 4;
const PICTURE_BYTES: usize = 5 << 20;

/// Image types that providers accept, by file extension.
const PICTURE_TYPES: [(&str, &str); 5] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];

/// Other media types, by file extension; all others are bytes.
const TYPES: [(&str, &str); 8] = [
    ("csv", "text/csv"),
    ("html", "text/html"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("pdf", "application/pdf"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("tsv", "text/tab-separated-values"),
];

/// The level at which code ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Expression,
    Full,
}

/// Facts about a call that determine its result.
pub(crate) struct RunDetails {
    pub(crate) level: Level,
    pub(crate) limit: Duration,
    /// Notes for the model, one sentence each.
    pub(crate) notes: Vec<String>,
    /// The created files, with the bytes of those that are stored.
    pub(crate) files: Vec<(CreatedFile, Option<Vec<u8>>)>,
    /// Advice for code that needs a missing feature; a sentence.
    pub(crate) advice: fn(&PythonException) -> Option<String>,
}

impl Level {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Expression => "expression",
            Self::Full => "full",
        }
    }
}

/// Renders the result of a call.
///
/// # Errors
/// A [`ToolError`] if the code was stopped.
pub(crate) fn render(
    ctx: &CallCtx,
    ran: WorkerRun,
    printed: CapturedOutput<'_>,
    about: RunDetails,
) -> Result<ToolOutput, ToolError> {
    let done = match ran.end {
        WorkerEnd::Done(done) => done,
        end => return Err(stopped(&end, &printed, &about)),
    };
    let mut content: Vec<Block> = Vec::new();
    let printed = printed.finish();
    let (has_printed, RunResult { value, raised, .. }) = (printed.is_some(), done);
    content.extend(printed);
    if let Some(value) = &value {
        content.push(Block::text(shown(value, has_printed)));
    }
    let mut lines = Vec::new();
    if let Some(raised) = &raised {
        lines.push(if raised.trace.is_empty() {
            raised.kind.clone()
        } else {
            raised.trace.clone()
        });
        lines.extend((about.advice)(raised));
    }
    let (files, pictures) = files(ctx, about.files, &mut lines);
    lines.extend(about.notes);
    if content.is_empty() && lines.is_empty() {
        lines.push("(The code printed nothing, and its last line has no value.)".to_owned());
    }
    if !lines.is_empty() {
        content.push(Block::text(lines.join("\n")));
    }
    content.extend(pictures);
    let structured = json!({
        "level": about.level.as_str(),
        "engine": ran.engine,
        "sandbox": ran.level.as_str(),
        "value": value.map(|value| json!({"repr": value.text, "type": value.kind, "bytes": value.bytes})),
        "error": raised.as_ref().map(|raised| json!({"type": raised.kind, "message": raised.message, "line": raised.line})),
        "files": files,
    });
    let mut output = ToolOutput::from_blocks(content).with_structured(structured);
    output.is_error = raised.is_some();
    // The interpreter computes from the code alone, so its output is as untrusted as the code; a
    // kernel had no external input either.
    output.trust = Some(match about.level {
        Level::Expression => Trust::External,
        Level::Full => Trust::Workspace,
    });
    Ok(output)
}

fn shown(value: &ValueRepr, named: bool) -> String {
    let name = if named { "Value: " } else { "" };
    let cut = if value.bytes > value.text.len() as u64 {
        format!("\n(The first {} of {} bytes; print a part of it.)", value.text.len(), value.bytes)
    } else {
        String::new()
    };
    format!("{name}{}{cut}", value.text)
}

/// Stores files as artifacts and lists them in `lines`; images are shown too.
pub(crate) fn files(
    ctx: &CallCtx,
    files: Vec<(CreatedFile, Option<Vec<u8>>)>,
    lines: &mut Vec<String>,
) -> (Vec<Value>, Vec<Block>) {
    let (mut about, mut pictures) = (Vec::new(), Vec::new());
    for (place, (made, bytes)) in files.into_iter().enumerate() {
        let media_type = media_type(&made.path);
        let kept = bytes.as_ref().filter(|_| place < FILES).and_then(|bytes| {
            let mut stream = ctx.stream(media_type);
            stream.write(bytes);
            match stream.finish() {
                Block::Spilled { artifact, .. } => artifact,
                _ => None,
            }
        });
        let where_it_is = kept.as_ref().map_or_else(
            || "not kept beyond this run".to_owned(),
            |artifact| format!("stored as {artifact}"),
        );
        lines.push(format!(
            "File {}: {} bytes, {media_type}, {where_it_is}.",
            made.path, made.bytes
        ));
        about.push(json!({"path": made.path, "bytes": made.bytes, "media_type": media_type, "artifact": kept}));
        let is_picture = PICTURE_TYPES.iter().any(|(_, kind)| *kind == media_type);
        if let Some(data) = bytes
            && is_picture
            && pictures.len() < PICTURES
            && data.len() <= PICTURE_BYTES
        {
            pictures.push(Block::Image(Blob { media_type: media_type.to_owned(), data }));
        }
    }
    (about, pictures)
}

/// Returns whether the bytes of the file at this index are stored.
pub(crate) fn is_within_limits(place: usize, made: &CreatedFile) -> bool {
    place < FILES && made.bytes <= FILE_BYTES as u64
}

fn media_type(path: &str) -> &'static str {
    let end = path.rsplit_once('.').map_or(String::new(), |(_, end)| end.to_ascii_lowercase());
    let all = PICTURE_TYPES.iter().chain(&TYPES);
    all.into_iter()
        .find(|(known, _)| *known == end)
        .map_or("application/octet-stream", |(_, kind)| kind)
}

/// Returns the error for code that was stopped or whose process died.
fn stopped(end: &WorkerEnd, printed: &CapturedOutput<'_>, about: &RunDetails) -> ToolError {
    let full = about.level == Level::Full;
    let gone = if full { " The variables of this run are gone, too." } else { "" };
    let last = printed.tail();
    match end {
        WorkerEnd::TimedOut { kept } => {
            let after = if *kept { " The variables of this run are still there." } else { gone };
            let seconds = about.limit.as_secs_f64();
            ToolError::new(
                ErrorType::Timeout,
                format!(
                    "Tool execution timed out after {seconds}s.{after} Do less in one call, or give a longer timeout (at most 120).{last}"
                ),
            )
            .transient(false)
        }
        WorkerEnd::Cancelled => ToolError::new(ErrorType::Cancelled, "The call was stopped."),
        WorkerEnd::Died(death) => {
            let why = match death {
                Death::Memory => "it wanted more memory than it may have",
                Death::Stack => "it is nested too deeply",
                Death::Limit(stop) => stop.message(),
                Death::Other(_) => "its process ended",
            };
            let error = ToolError::execution(format!(
                "The code did not come to an end: {why}.{gone} Change it before you call again.{last}"
            ));
            match death {
                Death::Other(detail) => error.with_detail(detail.clone()),
                _ => error,
            }
        }
        WorkerEnd::Done(_) => ToolError::execution("The code has ended."),
    }
}

/// Returns advice for code that needs a feature missing in the interpreter.
pub(crate) fn advice_of_expression(raised: &PythonException) -> Option<String> {
    raised.lacks.map(|lack| {
        let what = match lack {
            MissingFeature::Syntax => "Write it without that",
            MissingFeature::Module => "It has the modules named in the description",
            MissingFeature::Builtin => "Write it without that",
        };
        format!("({what}, or call again with level \"full\", which is all of Python.)")
    })
}
