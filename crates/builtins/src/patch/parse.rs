//! Diff parser that tolerates common errors of people, programs and models.
//!
//! Two forms: unified diffs (of one or several files, with or without git's extra lines), and
//! search/replace blocks. Numbers in headers are hints only, since models count badly; if they
//! match the lines, they also determine where a hunk ends.
#![deny(clippy::indexing_slicing)]

use std::borrow::Cow;

use super::{FilePatch, Hunk, Line, MAX_BYTES, MAX_FILES, MAX_HUNKS, Op, ParseError};

/// Parses a diff.
///
/// # Errors
/// [`ParseError`]: neither form, an unsupported change (binary, rename, delete), or over the limits
/// of this module.
pub fn parse(text: &str) -> Result<Vec<FilePatch>, ParseError> {
    if text.len() > MAX_BYTES {
        return Err(parse_error(0, format!("it has more than {} MB", MAX_BYTES / (1024 * 1024))));
    }
    let mut reader = Reader { lines: lines_of(text), at: 0, hunks: 0 };
    reader.unfence();
    let files = if reader.lines.iter().any(|line| is_block_start(line)) {
        vec![reader.blocks()?]
    } else {
        reader.unified()?
    };
    if files.is_empty() {
        return Err(parse_error(0, NEITHER));
    }
    Ok(files)
}

const NEITHER: &str = "it holds no hunk; write a unified diff (--- a/FILE, +++ b/FILE, @@ -LINE,COUNT +LINE,COUNT @@, then lines that begin with a blank, - or +) or blocks (<<<<<<< ORIGINAL, =======, >>>>>>> REPLACEMENT)";

fn parse_error(line: usize, what: impl Into<String>) -> ParseError {
    ParseError { line: line + 1, what: what.into() }
}

/// Splits a text into lines without line ends; a final line end does not start another line.
fn lines_of(text: &str) -> Vec<&str> {
    text.split_inclusive('\n')
        .map(|line| line.strip_suffix('\n').unwrap_or(line))
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .collect()
}

/// Returns whether the line begins a block: `ORIGINAL` in our format, `SEARCH` in the format of
/// other programs.
fn is_block_start(line: &str) -> bool {
    marker(line, "<<<<<<<").is_some_and(|word| word == "ORIGINAL" || word == "SEARCH")
}

fn is_block_end(line: &str) -> bool {
    marker(line, ">>>>>>>")
        .is_some_and(|word| matches!(word, "REPLACEMENT" | "REPLACE" | "UPDATED"))
}

/// Returns the text after a marker.
fn marker<'a>(line: &'a str, marker: &str) -> Option<&'a str> {
    line.strip_prefix(marker).map(str::trim)
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    at: usize,
    hunks: usize,
}

/// The file header above the hunks.
#[derive(Default)]
struct Header {
    old: Option<String>,
    new: Option<String>,
    at: usize,
    /// Line where a new file was announced whose names have not been seen yet.
    empty: Option<usize>,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    /// Removes a code fence around the whole diff.
    fn unfence(&mut self) {
        let is_text = |line: &&str| !line.trim().is_empty();
        let Some(first) = self.lines.iter().position(is_text) else { return };
        let Some(last) = self.lines.iter().rposition(is_text) else { return };
        let is =
            |at: usize, what: &dyn Fn(&str) -> bool| self.lines.get(at).is_some_and(|l| what(l));
        if first < last
            && is(first, &|line| line.starts_with("```"))
            && is(last, &|line| line.trim_end() == "```")
        {
            self.lines.truncate(last);
            self.at = first + 1;
        }
    }

    fn unified(&mut self) -> Result<Vec<FilePatch>, ParseError> {
        let mut files: Vec<FilePatch> = Vec::new();
        let mut header = Header::default();
        while let Some(line) = self.peek() {
            if is_file_start(&self.lines, self.at) {
                header.check_names()?;
                header = self.file_start()?;
            } else if is_hunk_start(line) {
                let hunk = self.hunk()?;
                let is_first = files.is_empty() || header.old.is_some() || header.new.is_some();
                if is_first {
                    if files.len() == MAX_FILES {
                        return Err(parse_error(
                            self.at,
                            format!("it has more than {MAX_FILES} files"),
                        ));
                    }
                    files.push(std::mem::take(&mut header).file()?);
                }
                if let Some(file) = files.last_mut() {
                    file.hunks.push(hunk);
                }
            } else if let Some(what) = unsupported_change(line) {
                return Err(parse_error(self.at, what));
            } else if is_chatter(line) {
                header.note(line, self.at)?;
                self.at += 1;
            } else {
                return Err(parse_error(self.at, unexpected(line)));
            }
        }
        header.check_used()?;
        Ok(files)
    }

    fn file_start(&mut self) -> Result<Header, ParseError> {
        let mut header = Header { at: self.at, ..Header::default() };
        for (mark, name) in [("--- ", &mut header.old), ("+++ ", &mut header.new)] {
            let line = self.lines.get(self.at).copied().unwrap_or_default();
            let text = line.strip_prefix(mark).unwrap_or_default();
            *name = Some(file_name(text).ok_or_else(|| {
                parse_error(self.at, "the name of the file cannot be read; write it without quotes")
            })?);
            self.at += 1;
        }
        Ok(header)
    }

    fn hunk(&mut self) -> Result<Hunk, ParseError> {
        self.hunks += 1;
        if self.hunks > MAX_HUNKS {
            return Err(parse_error(self.at, format!("it has more than {MAX_HUNKS} hunks")));
        }
        let at = self.at;
        let numbers = self.peek().and_then(Numbers::read);
        self.at += 1;
        let end =
            numbers.and_then(|numbers| self.counted(&numbers)).unwrap_or_else(|| self.uncounted());
        let mut lines: Vec<Line> = Vec::new();
        while self.at < end {
            let line = self.peek().unwrap_or_default();
            if line.starts_with('\\') {
                let last = lines.last_mut().ok_or_else(|| {
                    parse_error(self.at, "the mark for a missing line end has no line above it")
                })?;
                last.is_unended = true;
            } else {
                lines.push(body(line).ok_or_else(|| parse_error(self.at, unexpected(line)))?);
            }
            self.at += 1;
        }
        if lines.iter().all(|line| line.op == Op::Keep) {
            return Err(parse_error(at, "the hunk adds and removes nothing"));
        }
        let line = numbers.map(|numbers| numbers.first());
        Ok(Hunk { line, lines, at: at + 1 })
    }

    /// Returns the end of the hunk if the counts in its header are right: they are used up, and the
    /// next line may follow a hunk.
    fn counted(&self, numbers: &Numbers) -> Option<usize> {
        let (mut old, mut new) = (numbers.old, numbers.new);
        let mut at = self.at;
        while old > 0 || new > 0 {
            let line = self.lines.get(at).copied()?;
            match body(line).map(|line| line.op) {
                Some(Op::Keep) => {
                    old = old.checked_sub(1)?;
                    new = new.checked_sub(1)?;
                }
                Some(Op::Remove) => old = old.checked_sub(1)?,
                Some(Op::Add) => new = new.checked_sub(1)?,
                None if line.starts_with('\\') => {}
                None => return None,
            }
            at += 1;
        }
        if self.lines.get(at).is_some_and(|line| line.starts_with('\\')) {
            at += 1;
        }
        let ends = self.lines.get(at).is_none_or(|line| {
            is_hunk_start(line) || is_file_start(&self.lines, at) || is_chatter(line)
        });
        ends.then_some(at)
    }

    /// Returns the end of the hunk by its lines alone; empty lines at the end of the diff are not
    /// part of it.
    fn uncounted(&self) -> usize {
        let mut end = self.at;
        while let Some(line) = self.lines.get(end) {
            let is_body = body(line).is_some() || line.starts_with('\\');
            if !is_body || is_hunk_start(line) || is_file_start(&self.lines, end) {
                break;
            }
            end += 1;
        }
        let lines = self.lines.get(self.at..end).unwrap_or_default();
        let blank = lines.iter().rev().take_while(|line| line.is_empty()).count();
        end - blank
    }

    fn blocks(&mut self) -> Result<FilePatch, ParseError> {
        let mut hunks = Vec::new();
        while let Some(line) = self.peek() {
            if !is_block_start(line) {
                if line.starts_with("@@") {
                    return Err(parse_error(
                        self.at,
                        "the input mixes hunks and blocks; send either a unified diff or blocks",
                    ));
                }
                self.at += 1;
                continue;
            }
            if hunks.len() == MAX_HUNKS {
                return Err(parse_error(self.at, format!("it has more than {MAX_HUNKS} blocks")));
            }
            hunks.push(self.block()?);
        }
        Ok(FilePatch { path: None, is_new: false, hunks })
    }

    fn block(&mut self) -> Result<Hunk, ParseError> {
        let start = self.at;
        self.at += 1;
        let mut lines = Vec::new();
        let mut op = Op::Remove;
        loop {
            let Some(line) = self.peek() else {
                return Err(parse_error(
                    start,
                    "the block does not end; it needs =======, then >>>>>>> REPLACEMENT",
                ));
            };
            let here = self.at;
            self.at += 1;
            if is_block_start(line) {
                return Err(parse_error(here, "a block begins inside a block"));
            } else if is_block_end(line) {
                if op == Op::Remove {
                    return Err(parse_error(here, "the block has no line ======="));
                }
                break;
            } else if line == "=======" {
                if op == Op::Add {
                    return Err(parse_error(
                        here,
                        "the block has two lines =======, so the end of the old text is unclear; use a unified diff for this place",
                    ));
                }
                op = Op::Add;
            } else {
                lines.push(Line { op, text: line.to_owned(), is_unended: false });
            }
        }
        if lines.is_empty() {
            return Err(parse_error(start, "the block is empty"));
        }
        Ok(Hunk { line: None, lines, at: start + 1 })
    }
}

/// Returns whether a file header starts here: `--- ` and `+++ ` on two lines.
fn is_file_start(lines: &[&str], at: usize) -> bool {
    let is = |at: usize, mark: &str| lines.get(at).is_some_and(|line| line.starts_with(mark));
    is(at, "--- ") && is(at + 1, "+++ ")
}

impl Header {
    /// Fails if a file header was not followed by a hunk.
    fn check_names(&self) -> Result<(), ParseError> {
        match self.old.as_ref().or(self.new.as_ref()) {
            Some(_) => Err(parse_error(self.at, "no hunk follows the name of the file")),
            None => Ok(()),
        }
    }

    /// Fails if any announced file was not followed by a hunk.
    fn check_used(&self) -> Result<(), ParseError> {
        self.check_names()?;
        match self.empty {
            Some(at) => Err(parse_error(at, "it makes an empty file; use write_file for it")),
            None => Ok(()),
        }
    }

    /// Interprets a line between files.
    fn note(&mut self, line: &str, at: usize) -> Result<(), ParseError> {
        if line.starts_with("diff ") {
            self.check_used()?;
        } else if line.starts_with("new file mode") {
            self.empty = Some(at);
        }
        Ok(())
    }

    fn file(self) -> Result<FilePatch, ParseError> {
        const DEV_NULL: &str = "/dev/null";
        let is_new = self.old.as_deref() == Some(DEV_NULL);
        if self.new.as_deref() == Some(DEV_NULL) {
            return Err(parse_error(
                self.at,
                "it deletes a file, which a diff does not do here; use delete_file",
            ));
        }
        let strip = |name: Option<String>, side: &str| {
            name.filter(|name| name != DEV_NULL)
                .map(|name| name.strip_prefix(side).map_or_else(|| name.clone(), str::to_owned))
        };
        let (old, new) = (strip(self.old, "a/"), strip(self.new, "b/"));
        if let (Some(old), Some(new)) = (&old, &new)
            && old != new
            && strip_any(old) != strip_any(new)
        {
            return Err(parse_error(
                self.at,
                format!(
                    "it renames {old} to {new}, which a diff does not do here; use move_path, then a diff of the new file"
                ),
            ));
        }
        Ok(FilePatch { path: new.or(old), is_new, hunks: Vec::new() })
    }
}

/// Strips `a/`, `b/` and `.orig` from a name.
fn strip_any(name: &str) -> &str {
    let name = name.strip_suffix(".orig").unwrap_or(name);
    name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name)
}

/// The numbers in a hunk header: `@@ -3,7 +3,8 @@`.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    line: usize,
    old: usize,
    new: usize,
}

impl Numbers {
    fn read(line: &str) -> Option<Self> {
        let inside = line.strip_prefix("@@")?;
        let inside = inside.split("@@").next()?;
        let mut words = inside.split_whitespace();
        let range = |word: &str, sign: char| -> Option<(usize, usize)> {
            let word = word.strip_prefix(sign)?;
            let (line, count) = word.split_once(',').unwrap_or((word, "1"));
            Some((line.parse().ok()?, count.parse().ok()?))
        };
        let (line, old) = range(words.next()?, '-')?;
        let (_, new) = range(words.next()?, '+')?;
        Some(Self { line, old, new })
    }

    /// Returns the first old line. Without old lines, the header names the line before.
    fn first(self) -> usize {
        if self.old == 0 { self.line.saturating_add(1) } else { self.line.max(1) }
    }
}

fn is_hunk_start(line: &str) -> bool {
    line == "@@" || line.starts_with("@@ ")
}

/// Parses a line of a hunk. An empty line counts as an empty context line whose leading space was
/// trimmed.
fn body(line: &str) -> Option<Line> {
    let mut chars = line.chars();
    let op = match chars.next() {
        None | Some(' ') => Op::Keep,
        Some('-') => Op::Remove,
        Some('+') => Op::Add,
        Some(_) => return None,
    };
    Some(Line { op, text: chars.as_str().to_owned(), is_unended: false })
}

/// Returns whether the line between files has no effect.
fn is_chatter(line: &str) -> bool {
    const BEGINNINGS: &[&str] = &["diff ", "index ", "new file mode", "Index: ", "====="];
    line.trim().is_empty() || BEGINNINGS.iter().any(|start| line.starts_with(start))
}

/// Returns the kind of an unsupported change.
fn unsupported_change(line: &str) -> Option<&'static str> {
    const ASKED: &[(&str, &str)] = &[
        ("GIT binary patch", "it changes a binary file, which a diff of text cannot do"),
        ("Binary files ", "it is about a binary file, which a diff of text cannot change"),
        ("deleted file mode", "it deletes a file, which a diff does not do here; use delete_file"),
        ("old mode ", "it changes the mode of a file, which a diff does not do here"),
        ("similarity index ", "it moves or copies a file; use move_path or copy_path"),
        ("rename ", "it renames a file, which a diff does not do here; use move_path"),
        ("copy ", "it copies a file, which a diff does not do here; use copy_path"),
        ("@@@", "it is a combined diff of a merge; write one against a single version"),
        ("*** ", "it is written in another form"),
    ];
    ASKED.iter().find(|(start, _)| line.starts_with(start)).map(|(_, what)| *what)
}

fn unexpected(line: &str) -> String {
    let shown: String = line.chars().take(80).collect();
    format!(
        "\"{shown}\" is not part of a unified diff; lines of a hunk begin with a blank (stays), - (goes) or + (comes)"
    )
}

/// Returns the name in a header: up to a tab, and without git's quotes.
fn file_name(text: &str) -> Option<String> {
    let name = text.split('\t').next().unwrap_or_default().trim_end();
    let name = match name.strip_prefix('"') {
        Some(inside) => Cow::Owned(unquote(inside.strip_suffix('"')?)?),
        None => Cow::Borrowed(name),
    };
    (!name.is_empty()).then(|| name.into_owned())
}

/// Decodes git's quoting: `\"`, `\\`, `\t`, `\n` and bytes in octal.
fn unquote(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b't' => b'\t',
            b'n' => b'\n',
            b'r' => b'\r',
            byte @ (b'"' | b'\\') => byte,
            first @ b'0'..=b'3' => {
                let digit = |byte: u8| matches!(byte, b'0'..=b'7').then(|| byte - b'0');
                let (second, third) = (digit(rest.next()?)?, digit(rest.next()?)?);
                (first - b'0') * 64 + second * 8 + third
            }
            _ => return None,
        });
    }
    String::from_utf8(bytes).ok()
}
