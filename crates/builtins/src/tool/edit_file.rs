//! `edit_file`: replaces an exact piece of a file's text.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{Assessment, CallCtx, Tool, ToolError, ToolOutput, ToolSpec};

use super::{
    aliases, blocking, examples, file_spec, on_changed_file, path_aliases, text_output,
    with_undo_note, with_warning,
};
use crate::fs::Workspace;
use crate::patch::syntax_check;

/// Largest file, in bytes: ten times the maximum of one read.
const MAX_BYTES: u64 = 10 * super::read_file::MAX_BYTES;
/// Maximum lines that are compared with a missing text.
const MAX_COMPARED: usize = 20_000;
/// Characters of a line that are compared and shown.
const SHOWN: usize = 160;

/// Handler of `edit_file`.
pub(crate) struct EditFile {
    pub(crate) workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// File, relative to the workspace folder.
    path: String,
    /// Text to replace, exactly as in the file, including spaces and line breaks.
    #[schemars(length(min = 1))]
    old_text: String,
    /// The new text; empty to delete.
    new_text: String,
    /// Replace every occurrence. Without it, old_text must occur exactly once.
    replace_all: Option<bool>,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = file_spec::<Args>(
        "edit_file",
        "Edit file",
        "Replace an exact piece of text in a file of the workspace. Read the file first and copy the piece as it is.",
        true,
    );
    spec.parameter_aliases = path_aliases();
    spec.parameter_aliases.extend(aliases([
        ("old_string", "old_text"),
        ("old_str", "old_text"),
        ("new_string", "new_text"),
        ("new_str", "new_text"),
    ]));
    spec.examples = examples([
        (
            "Change the port in the settings",
            json!({"path": "app.toml", "old_text": "port = 80\n", "new_text": "port = 8080\n"}),
        ),
        (
            "Rename a variable everywhere in the file",
            json!({"path": "main.py", "old_text": "cnt", "new_text": "count", "replace_all": true}),
        ),
    ]);
    spec
}

impl Tool for EditFile {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let summary = format!("edit {}", args.path);
        on_changed_file(spec, self.workspace.roots(), &args.path, summary)
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let (workspace, cancel) = (self.workspace.for_call(ctx), ctx.cancel.clone());
        blocking(move || {
            let path = args.path.as_str();
            let (changed, (lines, warning)) = workspace.edit(path, MAX_BYTES, &cancel, |old| {
                let before = String::from_utf8_lossy(&old).into_owned();
                let (new, lines) = replace(old, &args)?;
                let warning =
                    syntax_check::warning(path, Some(&before), &String::from_utf8_lossy(&new));
                Ok((new, (lines, warning)))
            })?;
            let text = match lines.as_slice() {
                [line] => {
                    format!("Successfully edited {path}: replaced 1 occurrence, at line {line}.")
                }
                lines => format!(
                    "Successfully edited {path}: replaced {} occurrences, at lines {}.",
                    lines.len(),
                    listed(lines)
                ),
            };
            let text = with_undo_note(text, changed.not_undoable.as_deref());
            Ok(text_output(with_warning(text, warning)))
        })
        .await
    }
}

/// Returns the new content, and the lines of the replacements.
fn replace(old: Vec<u8>, args: &Args) -> Result<(Vec<u8>, Vec<usize>), ToolError> {
    let Args { path, old_text, new_text, replace_all } = args;
    if old_text.is_empty() {
        return Err(ToolError::validation(
            "old_text is empty. Give the exact text to replace; to write a whole file use write_file.",
        ));
    }
    if old_text == new_text {
        return Err(ToolError::validation(
            "old_text and new_text are equal, so there is nothing to change.",
        ));
    }
    let content = String::from_utf8(old).ok().filter(|text| !text.contains('\0')).ok_or_else(|| {
        ToolError::execution(format!(
            "{path} is not UTF-8 text, so it cannot be edited. To replace the whole file use write_file."
        ))
    })?;
    let lines = lines_of(&content, old_text);
    match lines.len() {
        0 => Err(not_found(&content, args)),
        1 => Ok((content.replacen(old_text, new_text, 1).into_bytes(), lines)),
        _ if *replace_all == Some(true) => {
            Ok((content.replace(old_text, new_text).into_bytes(), lines))
        }
        n => Err(ToolError::execution(format!(
            "old_text occurs {n} times in {path}, at lines {}. Add lines around it until it occurs once, or set replace_all to true. Nothing was changed.",
            listed(&lines)
        ))),
    }
}

/// Returns the line, from 1, of each occurrence of a text.
fn lines_of(content: &str, needle: &str) -> Vec<usize> {
    let (mut line, mut seen) = (1, 0);
    content
        .match_indices(needle)
        .map(|(at, _)| {
            line += content.get(seen..at).unwrap_or_default().matches('\n').count();
            seen = at;
            line
        })
        .collect()
}

fn listed(lines: &[usize]) -> String {
    let mut text: Vec<String> = lines.iter().take(20).map(usize::to_string).collect();
    if lines.len() > 20 {
        text.push("...".to_owned());
    }
    text.join(", ")
}

/// Explains why a text was not found: different whitespace or line ends, or the nearest lines.
fn not_found(content: &str, args: &Args) -> ToolError {
    let Args { path, old_text, .. } = args;
    let hint = if let Some(line) = loosely(content, old_text) {
        let ends = content.contains("\r\n") != old_text.contains("\r\n") && old_text.contains('\n');
        let what =
            if ends { "its line ends are CR LF there" } else { "blanks or line breaks differ" };
        format!(
            "It occurs at line {line} when blanks and line breaks are ignored: {what}. Copy it exactly from read_file."
        )
    } else {
        let near = nearest(content, old_text);
        if near.is_empty() {
            "Nothing in the file is like it. Read the file again with read_file.".to_owned()
        } else {
            format!(
                "The nearest lines are:\n{}\nCopy the text exactly from read_file.",
                near.join("\n")
            )
        }
    };
    ToolError::execution(format!("old_text was not found in {path}. Nothing was changed. {hint}"))
}

/// Returns the line where a text occurs if all whitespace is ignored.
fn loosely(content: &str, needle: &str) -> Option<usize> {
    let tight = |text: &str| text.split_whitespace().collect::<String>();
    let needle = tight(needle);
    if needle.is_empty() {
        return None;
    }
    let at = tight(content).find(&needle)?;
    let mut left = at;
    let mut line = 1;
    for c in content.chars() {
        if !c.is_whitespace() {
            if left == 0 {
                return Some(line);
            }
            left = left.saturating_sub(c.len_utf8());
        } else if c == '\n' {
            line += 1;
        }
    }
    None
}

/// Returns up to three lines that are most similar to the first non-empty line of a text.
fn nearest(content: &str, needle: &str) -> Vec<String> {
    let Some(wanted) = needle.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return Vec::new();
    };
    let wanted = pairs(wanted);
    let mut scored: Vec<(usize, usize, &str)> = content
        .lines()
        .take(MAX_COMPARED)
        .enumerate()
        .filter_map(|(i, line)| {
            let found = pairs(line.trim());
            let both = found.iter().filter(|pair| wanted.binary_search(pair).is_ok()).count();
            let score = 200 * both / (found.len() + wanted.len()).max(1);
            (score >= 40).then_some((score, i + 1, line))
        })
        .collect();
    scored.sort_by_key(|&(score, line, _)| (std::cmp::Reverse(score), line));
    scored
        .iter()
        .take(3)
        .map(|(_, number, line)| {
            format!("{number}: {}", line.chars().take(SHOWN).collect::<String>())
        })
        .collect()
}

/// Returns the sorted pairs of adjacent characters of a line.
fn pairs(line: &str) -> Vec<(char, char)> {
    let chars: Vec<char> = line.chars().take(SHOWN).collect();
    let mut pairs: Vec<_> = chars.iter().copied().zip(chars.iter().copied().skip(1)).collect();
    pairs.sort_unstable();
    pairs
}
