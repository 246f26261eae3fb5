//! Renders responses of language servers as text: each location as `path:line:column`, counted from
//! 1 as in other listings, with its line.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::rc::Rc;

use similar::TextDiff;
use toolcrib_core::ToolError;
use url::Url;

use super::languages::Server;
use super::parse_response::{Diagnostic, Location, Symbol, TextEdit, apply_edits};
use super::position::{self, Position};
use super::query::read_source;
use crate::fs::Roots;

/// Maximum locations in a list; further locations are only counted.
const MAX_PLACES: usize = 200;
/// Maximum number of diagnostics in a list.
const MAX_DIAGNOSTICS: usize = 100;
/// Characters of a source line that are shown.
const MAX_LINE: usize = 200;
/// Characters of one diagnostic.
const MAX_MESSAGE: usize = 1000;

/// Renders responses, reading each file at most once.
pub(super) struct Renderer<'a> {
    roots: &'a Roots,
    texts: RefCell<HashMap<String, Option<Rc<str>>>>,
}

impl<'a> Renderer<'a> {
    pub(super) fn new(roots: &'a Roots) -> Self {
        Self { roots, texts: RefCell::default() }
    }

    /// Returns the path of a file in the form of calls. Outside of the workspace: its last
    /// components, and `true`.
    fn path(&self, uri: &str) -> (String, bool) {
        let path = Url::parse(uri).ok().and_then(|url| url.to_file_path().ok());
        let Some(path) = path else { return ("a place without a file".to_owned(), false) };
        for (number, root) in self.roots.paths().enumerate() {
            if let Ok(inside) = path.strip_prefix(root) {
                let shown = if number == 0 { inside } else { &path };
                return (shown.display().to_string(), true);
            }
        }
        let parts: Vec<_> = path.iter().rev().take(4).collect();
        let short: std::path::PathBuf = parts.into_iter().rev().collect();
        (format!("{} (outside the workspace)", short.display()), false)
    }

    fn text(&self, path: &str) -> Option<Rc<str>> {
        if let Some(text) = self.texts.borrow().get(path) {
            return text.clone();
        }
        let text = read_source(self.roots, path).ok().map(|source| Rc::from(source.text));
        self.texts.borrow_mut().insert(path.to_owned(), text.clone());
        text
    }

    fn render_position(&self, uri: &str, at: Position) -> String {
        let (path, inside) = self.path(uri);
        let text = if inside { self.text(&path) } else { None };
        let line = text.as_deref().and_then(|text| position::nth_line(text, at.line));
        render_location(&path, line, at)
    }

    pub(super) fn locations(&self, all: &[Location]) -> String {
        let mut out = String::new();
        for found in all.iter().take(MAX_PLACES) {
            let _ = writeln!(out, "{}", self.render_position(&found.uri, found.range.start));
        }
        push_omitted_count(&mut out, all.len(), MAX_PLACES);
        out
    }

    pub(super) fn symbols(&self, all: &[Symbol], more: usize, file: &str) -> String {
        if all.is_empty() {
            return "No symbols were found.".to_owned();
        }
        let mut out = String::new();
        for symbol in all {
            let indent = "  ".repeat(symbol.depth);
            let detail = shortened(symbol.detail.trim(), 80);
            let detail = if detail.is_empty() { detail } else { format!(" ({detail})") };
            let path = symbol.uri.as_ref().map_or_else(|| file.to_owned(), |uri| self.path(uri).0);
            let line = symbol.range.start.line.saturating_add(1);
            let (kind, name) = (symbol.kind, shortened(&symbol.name, MAX_LINE));
            let _ = writeln!(out, "{indent}{kind} {name}{detail} {path}:{line}");
        }
        if more > 0 {
            let _ = writeln!(out, "(and {more} more)");
        }
        out
    }

    pub(super) fn diagnostics(
        &self,
        server: &Server,
        file: &str,
        text: &str,
        all: &[Diagnostic],
    ) -> String {
        if all.is_empty() {
            let found = format!("{} reports nothing about {file}.", server.program);
            return format!("{found} {}", server.unchecked).trim_end().to_owned();
        }
        let errors = all.iter().filter(|found| found.severity == 1).count();
        let mut out = format!("{file}: {errors} errors, {} others.\n", all.len() - errors);
        for found in all.iter().take(MAX_DIAGNOSTICS) {
            let at = found.range.start;
            let column = column(position::nth_line(text, at.line), at);
            let code =
                if found.code.is_empty() { String::new() } else { format!(" [{}]", found.code) };
            let from = if found.source.is_empty() {
                String::new()
            } else {
                format!(" ({})", found.source)
            };
            let message = shortened(found.message.trim(), MAX_MESSAGE).replace('\n', "\n    ");
            let line = at.line.saturating_add(1);
            let _ = writeln!(out, "{file}:{line}:{column} {}{code} {message}{from}", found.kind());
        }
        push_omitted_count(&mut out, all.len(), MAX_DIAGNOSTICS);
        out
    }

    /// Renders a unified diff of the edits.
    pub(super) fn changes(&self, files: &[(String, Vec<TextEdit>)]) -> Result<String, ToolError> {
        let mut out = String::new();
        for (uri, edits) in files {
            let (path, inside) = self.path(uri);
            if !inside {
                return Err(ToolError::execution(format!(
                    "The server would change {path}, so this cannot be renamed from here."
                )));
            }
            let before = read_source(self.roots, &path)?.text;
            let after = apply_edits(&before, edits).ok_or_else(|| {
                ToolError::execution(format!(
                    "The server's changes of {path} do not fit the file; it may have changed. Call again."
                ))
            })?;
            let diff = TextDiff::from_lines(before.as_str(), after.as_str());
            let (old, new) = (format!("a/{path}"), format!("b/{path}"));
            let _ = write!(out, "{}", diff.unified_diff().context_radius(3).header(&old, &new));
        }
        Ok(out)
    }
}

fn render_location(path: &str, line: Option<&str>, at: Position) -> String {
    let number = at.line.saturating_add(1);
    let shown = shortened(line.unwrap_or_default().trim(), MAX_LINE);
    let blank = if shown.is_empty() { "" } else { ": " };
    format!("{path}:{number}:{}{blank}{shown}", column(line, at))
}

fn column(line: Option<&str>, at: Position) -> u32 {
    line.map_or(at.character, |line| position::utf16_to_chars(line, at.character)).saturating_add(1)
}

fn shortened(text: &str, most: usize) -> String {
    let mut chars = text.chars();
    let mut short: String = chars.by_ref().take(most).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    short
}

fn push_omitted_count(out: &mut String, all: usize, shown: usize) {
    if all > shown {
        let _ = writeln!(out, "(and {} more)", all - shown);
    }
}

/// Returns the path of a file in the form of calls.
pub(crate) fn display_path(roots: &Roots, path: &Path) -> String {
    let inside = roots.paths().next().and_then(|root| path.strip_prefix(root).ok());
    inside.unwrap_or(path).display().to_string()
}
