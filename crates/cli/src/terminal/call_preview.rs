//! Previews the effect of a call, if its arguments show it: the change to a file, or the command.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use super::escape_controls;
use super::style::{Style, Styler};

/// Maximum number of displayed lines of a change; the rest is counted.
const LINES: usize = 200;
/// Number of context lines around a change.
const CONTEXT_LINES: usize = 3;
/// Maximum size of a compared file in bytes: the limit of `edit_file`.
const BYTES: u64 = 10 * 1024 * 1024;

/// A preview that replaces some arguments.
pub(crate) struct CallPreview {
    /// Finished lines.
    pub(crate) text: String,
    /// Arguments that the preview shows completely.
    pub(crate) shows: &'static [&'static str],
}

/// Returns a preview of this call, if there is one.
pub(crate) fn preview_call(
    tool: &str,
    args: &Value,
    workspace: &str,
    paint: Styler,
) -> Option<CallPreview> {
    match tool {
        "write_file" => {
            let path = args.get("path")?.as_str()?;
            let old = read(workspace, path)?;
            let content = args.get("content")?.as_str()?;
            let new = match args.get("mode").and_then(Value::as_str) {
                Some("append") => format!("{}{content}", old.as_deref().unwrap_or_default()),
                None | Some("overwrite") => content.to_owned(),
                Some(_) => return None,
            };
            Some(CallPreview { text: diff(path, old.as_deref(), &new, paint), shows: &["content"] })
        }
        "edit_file" => {
            let text = |name: &str| args.get(name).and_then(Value::as_str);
            let (path, from, to) = (text("path")?, text("old_text")?, text("new_text")?);
            let old = read(workspace, path)??;
            let all = args.get("replace_all").and_then(Value::as_bool).unwrap_or(false);
            let found = old.matches(from).count();
            if from.is_empty() || found == 0 || (found > 1 && !all) {
                return None;
            }
            let text = diff(path, Some(&old), &old.replace(from, to), paint);
            Some(CallPreview { text, shows: &["old_text", "new_text"] })
        }
        "diff_editor" => {
            let diff = args.get("diff")?.as_str()?;
            let is_whole = diff.lines().nth(LINES).is_none();
            let shows: &[&str] = if is_whole { &["diff"] } else { &[] };
            Some(CallPreview { text: style_diff(diff, paint), shows })
        }
        _ => command(args, paint),
    }
}

/// Colors a line of a unified diff.
pub(crate) fn style_diff_line(line: &str, paint: Styler) -> String {
    let style = match line.chars().next() {
        Some('+') => Style::GREEN,
        Some('-') => Style::RED,
        Some('@') => Style::CYAN,
        _ => Style::PLAIN,
    };
    paint.styled(style, &escape_controls(line))
}

/// Renders a diff as written. Its position is only determined when it is applied.
fn style_diff(diff: &str, paint: Styler) -> String {
    let mut text = String::new();
    for line in diff.lines().take(LINES) {
        text.push_str(&style_diff_line(line, paint));
        text.push('\n');
    }
    let rest = diff.lines().count().saturating_sub(LINES);
    if rest > 0 {
        text.push_str(&paint.dim(&format!("… {rest} more lines; they are among the arguments\n")));
    }
    text
}

/// Returns the text of a file in the workspace: `Some(None)` if it does not exist yet; `None` if it
/// cannot be compared.
fn read(workspace: &str, path: &str) -> Option<Option<String>> {
    let path = Path::new(workspace).join(path);
    let Ok(meta) = fs::metadata(&path) else {
        return fs::symlink_metadata(&path).is_err().then_some(None);
    };
    if !meta.is_file() || meta.len() > BYTES {
        return None;
    }
    let mut text = String::new();
    File::open(&path).ok()?.take(BYTES).read_to_string(&mut text).ok()?;
    Some(Some(text))
}

fn diff(path: &str, old: Option<&str>, new: &str, paint: Styler) -> String {
    let compared = TextDiff::from_lines(old.unwrap_or_default(), new);
    let mut lines: Vec<String> = Vec::new();
    let (mut added, mut removed) = (0, 0);
    for hunk in compared.unified_diff().context_radius(CONTEXT_LINES).iter_hunks() {
        lines.push(paint.styled(Style::CYAN, hunk.header().to_string().trim_end()));
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Equal => (' ', Style::DIM),
                ChangeTag::Insert => ('+', Style::GREEN),
                ChangeTag::Delete => ('-', Style::RED),
            };
            added += usize::from(sign == '+');
            removed += usize::from(sign == '-');
            let value = change.value();
            let line = escape_controls(value.strip_suffix('\n').unwrap_or(value));
            lines.push(paint.styled(style, &format!("{sign}{line}")));
            if !value.ends_with('\n') {
                lines.push(paint.dim("\\ no line break at the end"));
            }
        }
    }
    let what = match old {
        None => "new file",
        Some(_) if lines.is_empty() => "no change",
        Some(_) => "changes",
    };
    let head = format!("{what}: {} (+{added} -{removed})", super::escape_to_line(path));
    let rest = lines.len().saturating_sub(LINES);
    lines.truncate(LINES);
    if rest > 0 {
        lines.push(paint.dim(&format!("… {rest} more lines; they are among the arguments")));
    }
    format!(
        "{}\n{}",
        paint.bold(&head),
        lines.iter().map(|line| format!("{line}\n")).collect::<String>()
    )
}

/// Renders the command of a tool that runs one, as a person would type it.
fn command(args: &Value, paint: Styler) -> Option<CallPreview> {
    let text = match args.get("command")? {
        Value::String(text) => text.clone(),
        Value::Array(words) => {
            let words: Option<Vec<String>> =
                words.iter().map(|word| word.as_str().map(quote_for_shell)).collect();
            words?.join(" ")
        }
        _ => return None,
    };
    let shown: String =
        escape_controls(&text).lines().map(|line| format!("  {}\n", paint.bold(line))).collect();
    Some(CallPreview { text: format!("command:\n{shown}"), shows: &[] })
}

/// Quotes a word for a POSIX shell.
pub(crate) fn quote_for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PLAIN: Styler = Styler { colour: false };

    #[track_caller]
    fn check(tool: &str, args: &Value, file: Option<&str>, expected: Option<&str>) {
        let folder = tempfile::tempdir().unwrap();
        if let Some(text) = file {
            fs::write(folder.path().join("a.txt"), text).unwrap();
        }
        let workspace = folder.path().to_str().unwrap();
        let preview = preview_call(tool, args, workspace, PLAIN).map(|preview| preview.text);
        assert_eq!(preview.as_deref(), expected, "{tool} {args}");
    }

    #[test]
    fn changes_are_compared_with_the_file_as_it_is() {
        let write = json!({"path": "a.txt", "content": "one\nTWO\n"});
        check(
            "write_file",
            &write,
            Some("one\ntwo\n"),
            Some("changes: a.txt (+1 -1)\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"),
        );
        check(
            "write_file",
            &write,
            None,
            Some("new file: a.txt (+2 -0)\n@@ -0,0 +1,2 @@\n+one\n+TWO\n"),
        );
        check("write_file", &write, Some("one\nTWO\n"), Some("no change: a.txt (+0 -0)\n"));
        let append = json!({"path": "a.txt", "content": "two", "mode": "append"});
        check(
            "write_file",
            &append,
            Some("one\n"),
            Some(
                "changes: a.txt (+1 -0)\n@@ -1 +1,2 @@\n one\n+two\n\\ no line break at the end\n",
            ),
        );
        let edit = json!({"path": "a.txt", "old_text": "o", "new_text": "0"});
        check(
            "edit_file",
            &edit,
            Some("two\n"),
            Some("changes: a.txt (+1 -1)\n@@ -1 +1 @@\n-two\n+tw0\n"),
        );
        // A call that the tool would refuse has no preview.
        check("edit_file", &edit, Some("oo\n"), None);
        check("edit_file", &edit, None, None);
        let diff = json!({"path": "a.txt", "diff": "@@ -1 +1 @@\n-two\n+\u{1b}[2J\n"});
        check("diff_editor", &diff, None, Some("@@ -1 +1 @@\n-two\n+\\u{1b}[2J\n"));
        let hidden = json!({"path": "a.txt", "content": "\u{1b}[2J\n"});
        check(
            "write_file",
            &hidden,
            None,
            Some("new file: a.txt (+1 -0)\n@@ -0,0 +1 @@\n+\\u{1b}[2J\n"),
        );
    }

    #[test]
    fn commands_are_shown_as_they_would_be_typed() {
        check(
            "shell",
            &json!({"command": "ls -l\nrm x"}),
            None,
            Some("command:\n  ls -l\n  rm x\n"),
        );
        check(
            "run",
            &json!({"command": ["echo", "a b", "it's"]}),
            None,
            Some("command:\n  echo 'a b' 'it'\\''s'\n"),
        );
        check("other", &json!({"x": 1}), None, None);
    }

    #[test]
    fn a_long_change_is_bounded_and_the_rest_counted() {
        let content: String = (0..500).map(|n| format!("{n}\n")).collect();
        let args = json!({"path": "new.txt", "content": content});
        let text = preview_call("write_file", &args, "/nowhere", PLAIN).unwrap().text;
        assert_eq!(text.lines().count(), LINES + 2);
        assert!(text.ends_with("… 301 more lines; they are among the arguments\n"), "{text}");
    }
}
