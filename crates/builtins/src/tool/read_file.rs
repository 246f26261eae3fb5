//! `read_file`: reads a text file, completely or by lines, or an image.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use encoding_rs::Encoding;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Access, Assessment, Blob, Block, CallCtx, CancellationToken, ErrorType, Tool, ToolError,
    ToolOutput, ToolSpec, Trust,
};

use super::{blocking, examples, file_manager, file_spec, on_file, path_aliases};
use crate::fs::{FsError, FsErrorKind, Workspace, bounded_read};
use crate::image_type::{MAX_IMAGE_BYTES, image_type};
use crate::text_decoding::{self, TextReader};

/// Largest file that is read completely, and largest part: 1 MB.
pub(crate) const MAX_BYTES: u64 = 1024 * 1024;
/// Lines of a part if the call gives an offset only.
const DEFAULT_LINES: u64 = 2000;

/// Handler of `read_file`.
pub(crate) struct ReadFile {
    pub(crate) workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// File to read, relative to the workspace folder.
    path: String,
    /// Text encoding such as utf-8 (default), windows-1252 or utf-16le.
    encoding: Option<String>,
    /// First line to read, from 1. Give it, or limit, to read a part of a large file.
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// Number of lines to read. Default with offset: 2000.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// Return a PNG, JPEG, GIF or WebP as an image.
    image: Option<bool>,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = file_spec::<Args>(
        "read_file",
        "Read file",
        "Read a text file of the workspace: the whole file up to 1 MB, or a range of lines of a file of any size.",
        false,
    );
    spec.aliases = file_manager(["read"]);
    spec.parameter_aliases = path_aliases();
    spec.parameter_aliases.extend(super::aliases([("start_line", "offset"), ("lines", "limit")]));
    spec.examples = examples([
        ("Read my notes", json!({"path": "notes.md"})),
        (
            "Read lines 200 to 249 of the log",
            json!({"path": "server.log", "offset": 200, "limit": 50}),
        ),
    ]);
    spec
}

impl Tool for ReadFile {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let summary = format!("read {}", args.path);
        Ok(on_file(spec, self.workspace.roots(), &args.path, Access::Shared, summary))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let (workspace, cancel) = (self.workspace.for_call(ctx), ctx.cancel.clone());
        blocking(move || run(&workspace, &args, &cancel)).await
    }
}

fn run(
    workspace: &Workspace,
    args: &Args,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let path = args.path.as_str();
    let encoding = text_decoding::encoding(args.encoding.as_deref())?;
    let (file, size) =
        bounded_read::open(workspace.roots(), path).map_err(|e| missing(workspace, e))?;
    let content = if args.image == Some(true) {
        vec![image(file, size, path)?]
    } else if args.offset.is_none() && args.limit.is_none() {
        vec![Block::text(whole(file, size, path, encoding, cancel)?)]
    } else {
        let window = Window {
            first: args.offset.unwrap_or(1).max(1),
            count: args.limit.unwrap_or(DEFAULT_LINES).max(1),
        };
        let (text, note) = part(file, path, encoding, window, cancel)?;
        vec![Block::text(text), Block::text(note)]
    };
    Ok(ToolOutput::from_blocks(content).with_origin(Trust::Workspace, path))
}

/// Creates the error for a missing file, with similar names in its folder.
fn missing(workspace: &Workspace, error: FsError) -> ToolError {
    if error.fault != FsErrorKind::NotFound {
        return error.into();
    }
    let mut near = super::list_dir::near_names(workspace, &error.path);
    if near.is_empty() {
        near = super::list_dir::same_name_elsewhere(workspace, &error.path);
    }
    let mut error = ToolError::from(error);
    if !near.is_empty() {
        error.message.push_str(&format!("\nDid you mean {}?", near.join(" or ")));
    }
    error
}

fn image(file: File, size: u64, path: &str) -> Result<Block, ToolError> {
    let mut data = Vec::new();
    // The limit also holds for a file that grows while it is read.
    let read = file.take(MAX_IMAGE_BYTES as u64 + 1).read_to_end(&mut data);
    read.map_err(|error| {
        ToolError::execution(format!("{path} cannot be read.")).with_detail(error.to_string())
    })?;
    let Some(media_type) = image_type(&data) else {
        let text = format!("{path} is not a PNG, JPEG, GIF or WebP image.");
        return Err(ToolError::new(ErrorType::ValidationError, text));
    };
    if data.len() > MAX_IMAGE_BYTES {
        let text = format!(
            "{path} is an image of {size} bytes; at most {MAX_IMAGE_BYTES} (5 MB) are shown. Make a smaller copy of it."
        );
        return Err(ToolError::new(ErrorType::FileTooLarge, text));
    }
    Ok(Block::Image(Blob { media_type: media_type.to_owned(), data }))
}

fn whole(
    file: impl Read,
    size: u64,
    path: &str,
    encoding: &'static Encoding,
    cancel: &CancellationToken,
) -> Result<String, ToolError> {
    if size > MAX_BYTES {
        return Err(too_large(path, size));
    }
    // The limit also holds for a file that grows while it is read.
    let mut reader = TextReader::new(file.take(MAX_BYTES), path, encoding, cancel);
    let mut text = String::new();
    while let Some(piece) = reader.next_chunk()? {
        text.push_str(&piece);
    }
    Ok(text)
}

fn too_large(path: &str, size: u64) -> ToolError {
    ToolError::new(
        ErrorType::FileTooLarge,
        format!(
            "{path} has {size} bytes; at most {MAX_BYTES} (1 MB) are read at once. Read it in parts: give offset (first line, from 1) and limit (number of lines)."
        ),
    )
}

#[derive(Clone, Copy)]
struct Window {
    first: u64,
    count: u64,
}

/// Returns the lines of a range, and a note on the range and how to continue.
fn part(
    file: impl Read,
    path: &str,
    encoding: &'static Encoding,
    window: Window,
    cancel: &CancellationToken,
) -> Result<(String, String), ToolError> {
    let Window { first, count } = window;
    let mut reader = TextReader::new(file, path, encoding, cancel);
    let mut text = String::new();
    // The line of the next character, and whether that line has begun.
    let (mut line, mut begun) = (1_u64, false);
    let mut whole_lines_end = 0;
    while let Some(piece) = reader.next_chunk()? {
        for bit in piece.split_inclusive('\n') {
            if line >= first.saturating_add(count) {
                let (last, next) = (line - 1, line);
                let note = format!(
                    "(Lines {first} to {last} of {path}. There are more: continue with offset {next}.)"
                );
                return Ok((text, note));
            }
            begun = true;
            if line >= first {
                if (text.len() + bit.len()) as u64 > MAX_BYTES {
                    return cut(text, whole_lines_end, window, line, path);
                }
                text.push_str(bit);
            }
            if bit.ends_with('\n') {
                line += 1;
                begun = false;
                whole_lines_end = text.len();
            }
        }
    }
    let lines = if begun { line } else { line - 1 };
    let note = if first > lines {
        format!("({path} has only {lines} lines, so there is nothing from line {first} on.)")
    } else {
        format!("(Lines {first} to {lines} of {path}, which ends there.)")
    };
    Ok((text, note))
}

/// Returns the whole lines that fit into 1 MB.
fn cut(
    mut text: String,
    end: usize,
    window: Window,
    line: u64,
    path: &str,
) -> Result<(String, String), ToolError> {
    if line == window.first {
        return Err(ToolError::new(
            ErrorType::FileTooLarge,
            format!(
                "Line {line} of {path} alone is longer than 1 MB. Read another line, or use a tool for the format of this file."
            ),
        ));
    }
    text.truncate(end);
    let note = format!(
        "(Lines {} to {} of {path}: more do not fit into 1 MB. Go on with offset {line}.)",
        window.first,
        line - 1
    );
    Ok((text, note))
}
