//! `code_search`: searches files for lines that match a regular expression.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{
    Access, Assessment, CallCtx, CancellationToken, Tool, ToolError, ToolOutput, ToolSpec, Trust,
};

use super::find_files::{NOT_SEARCHED, Pattern};
use super::{aliases, blocking, count_noun, examples, file_spec, on_file};
use crate::content_search::{FileMatches, FileSearcher, Query, SearchResults, matcher};
use crate::fs::call_denials::hidden_note;
use crate::fs::parallel_walk::{FileVisitor as _, SkipRules, WalkSummary, walk_parallel};
use crate::fs::walk::Limits;
use crate::fs::{FsErrorKind, LinkPolicy, NodeKind, Workspace, bounded_read};

/// Time limit of a call.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Limits of the walk; its time is below that of the call, so that partial results can be returned.
const LIMITS: Limits = Limits { entries: 1_000_000, depth: 64, time: Duration::from_secs(25) };
/// Matching lines in one result: default and maximum.
const RESULTS: u32 = 20;
const MAX_RESULTS: u32 = 500;
/// Matching lines per file, unless the call searches one file.
const PER_FILE: u32 = 5;
/// Maximum number of context lines before and after a match.
const MAX_CONTEXT: u32 = 5;
/// Maximum number of threads of one search.
const MAX_THREADS: usize = 8;

/// Handler of `code_search`.
pub(crate) struct CodeSearch {
    pub(crate) workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Regular expression for one line, such as fn \w+_test. No look-around, no back-references.
    #[schemars(length(min = 1))]
    pattern: String,
    /// Folder or file to search. Default: the workspace.
    path: Option<String>,
    /// Glob of the files: *.py in every folder, src/**/*.rs below path. Default: all.
    include: Option<String>,
    /// Glob of files to leave out.
    exclude: Option<String>,
    /// The pattern is plain text.
    literal: Option<bool>,
    /// Upper and lower case differ.
    case_sensitive: Option<bool>,
    /// Only whole words match.
    whole_words: Option<bool>,
    /// Lines before and after each match. Default: 0.
    #[schemars(range(max = 5))]
    context: Option<u32>,
    /// Matching lines to show. Default: 20. All are counted.
    #[schemars(range(min = 1, max = 500))]
    max_results: Option<u32>,
    /// Matching lines to show of one file. Default: 5; no limit if path is a file.
    #[schemars(range(min = 1))]
    max_per_file: Option<u32>,
    /// List only the files, with the number of matching lines.
    files_only: Option<bool>,
    /// Also search files that .gitignore and .ignore name.
    include_ignored: Option<bool>,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = file_spec::<Args>(
        "code_search",
        "Search file contents",
        "Search the contents of the files of the workspace by a regular expression, line by line: hidden files too, but no binary or ignored ones, .git or node_modules.",
        false,
    );
    spec.timeout = TIMEOUT;
    spec.parameter_aliases = aliases([
        ("query", "pattern"),
        ("regex", "pattern"),
        ("glob", "include"),
        ("directory", "path"),
        ("dir", "path"),
        ("file", "path"),
        ("limit", "max_results"),
    ]);
    spec.examples = examples([
        (
            "Where is the function parse defined?",
            json!({"pattern": r"def parse\b", "include": "*.py"}),
        ),
        (
            "Show every use of the old constant with the lines around it",
            json!({"pattern": "MAX_ITEMS", "literal": true, "case_sensitive": true, "context": 2}),
        ),
        (
            "Which files speak of what is on its way out?",
            json!({"pattern": "deprecated|obsolete", "path": "src", "files_only": true}),
        ),
    ]);
    spec
}

impl Tool for CodeSearch {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let path = args.path.as_deref().unwrap_or(".");
        let summary = format!("search {path} for {}", args.pattern);
        Ok(on_file(spec, self.workspace.roots(), path, Access::Shared, summary))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let (workspace, cancel) = (self.workspace.for_call(ctx), ctx.cancel.clone());
        blocking(move || search(&workspace, &args, &cancel)).await
    }
}

fn search(
    workspace: &Workspace,
    args: &Args,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let start = args.path.as_deref().unwrap_or(".");
    let spot = workspace.roots().resolve(start, LinkPolicy::Follow)?;
    let query = query(args, spot.node == Some(NodeKind::File))?;
    let include = args.include.as_deref().map(Pattern::new).transpose()?;
    let exclude = args.exclude.as_deref().map(Pattern::new).transpose()?;
    let wants = |path: &Path| {
        include.as_ref().is_none_or(|glob| glob.matches(path))
            && !exclude.as_ref().is_some_and(|glob| glob.matches(path))
    };
    let until = Instant::now() + LIMITS.time;
    let finder = || FileSearcher::new(&query, &wants, until, cancel);
    let (mut found, swept) = match spot.node {
        None => return Err(FsErrorKind::NotFound.at(start).into()),
        Some(NodeKind::Dir) => {
            let skip =
                SkipRules { names: NOT_SEARCHED, ignored: args.include_ignored != Some(true) };
            let finders = (0..threads()).map(|_| finder()).collect();
            let (swept, finders) =
                walk_parallel(workspace.roots(), &spot, LIMITS, skip, cancel, finders)
                    .map_err(|fault| ToolError::from(fault.at(start)))?;
            let mut found = SearchResults::default();
            finders.into_iter().for_each(|finder| found.merge(finder.found));
            (found, swept)
        }
        Some(_) => {
            let (file, size) = bounded_read::open(workspace.roots(), start)?;
            let mut finder = finder();
            finder.file(Path::new(""), file, size);
            if cancel.is_cancelled() {
                return Err(FsErrorKind::Cancelled.at(start).into());
            }
            (finder.found, WalkSummary::default())
        }
    };
    found.truncate(query.in_all);
    Ok(render(args, start, &found, &swept).with_origin(Trust::Workspace, start))
}

fn query(args: &Args, is_file: bool) -> Result<Query, ToolError> {
    let is = |flag: Option<bool>| flag == Some(true);
    let matcher =
        matcher(&args.pattern, is(args.literal), is(args.case_sensitive), is(args.whole_words))
            .map_err(|why| {
                ToolError::validation(format!(
                    "The pattern cannot be used: {why}. Write a regular expression for one line, without look-around and back-references, or set literal to true for plain text."
                ))
            })?;
    let in_all = args.max_results.unwrap_or(RESULTS).clamp(1, MAX_RESULTS);
    let per_file = args.max_per_file.unwrap_or(if is_file { MAX_RESULTS } else { PER_FILE });
    let context = args.context.unwrap_or(0).min(MAX_CONTEXT);
    let kept = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
    // A search that lists files only keeps no lines.
    let per_file = if is(args.files_only) { 0 } else { kept(per_file) };
    Ok(Query { matcher, context: kept(context), per_file, in_all: kept(in_all) })
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
}

fn render(args: &Args, start: &str, found: &SearchResults, swept: &WalkSummary) -> ToolOutput {
    let files_only = args.files_only == Some(true);
    let shown: u64 = found.files.iter().map(|file| lines_shown(file, files_only)).sum();
    let total = if files_only { found.matching } else { found.matches };
    let mut text = if found.matches == 0 {
        format!("Nothing matches {} in {start} ({} files searched).", args.pattern, found.searched)
    } else {
        format!(
            "{} in {} ({} searched).",
            count_noun(found.matches, "matching line"),
            count_noun(found.matching, "file"),
            found.searched
        )
    };
    if shown < total {
        let (what, how) = if files_only {
            ("files", "max_results")
        } else {
            ("matching lines", "max_results or max_per_file")
        };
        text.push_str(&format!(
            " Shown: {shown} {what}; narrow the pattern or the path, or raise {how}, to see more."
        ));
    }
    for file in &found.files {
        list(&mut text, &full(start, &file.path), file, files_only);
    }
    let notes = notes(found, swept);
    text.extend(notes.iter().map(|note| format!("\n({note})")));
    let complete =
        shown == total && swept.stopped.is_none() && found.unread == 0 && swept.denied == 0;
    ToolOutput::text(text).with_structured(structured(start, found, complete))
}

fn lines_shown(file: &FileMatches, files_only: bool) -> u64 {
    if files_only { 1 } else { file.hits.iter().filter(|hit| hit.matches).count() as u64 }
}

/// Returns the path of a file in a form that the next call can use.
fn full(start: &str, path: &Path) -> String {
    let full: PathBuf =
        if path.as_os_str().is_empty() { start.into() } else { Path::new(start).join(path) };
    let shown = full.display().to_string();
    shown.strip_prefix("./").map_or(shown.clone(), str::to_owned)
}

fn list(text: &mut String, path: &str, file: &FileMatches, files_only: bool) {
    if files_only {
        text.push_str(&format!("\n{path}: {}", file.matches));
        return;
    }
    let mut last = None;
    for hit in &file.hits {
        let has_context = file.hits.len() as u64 > lines_shown(file, false);
        if has_context && last.is_some_and(|last| hit.line > last + 1) {
            text.push_str("\n--");
        }
        last = Some(hit.line);
        let mark = if hit.matches { ':' } else { '-' };
        text.push_str(&format!("\n{path}{mark}{}{mark} {}", hit.line, hit.text));
    }
    let more = file.matches - lines_shown(file, false);
    if more > 0 {
        text.push_str(&format!("\n{path}: {more} more"));
    }
}

/// Describes what was not searched, in sentences.
fn notes(found: &SearchResults, swept: &WalkSummary) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(why) = swept.stopped {
        notes.push(format!("Not everything was searched: {why}. Search a smaller folder."));
    }
    for (count, what) in [
        (found.unread as usize, "files could not be read to their end"),
        (swept.unreadable, "files or folders could not be opened"),
        (swept.barred, "entries are out of reach of file tools"),
    ] {
        if count > 0 {
            notes.push(format!("{count} {what}."));
        }
    }
    notes.extend(hidden_note(swept.denied));
    if found.matches == 0 && (swept.ignored > 0 || swept.skipped > 0) {
        notes.push(format!(
            "Passed: {} files and folders that ignore files name (search them with include_ignored), {} folders such as .git or node_modules (give one as path).",
            swept.ignored, swept.skipped
        ));
    }
    notes
}

fn structured(start: &str, found: &SearchResults, complete: bool) -> Value {
    let file = |file: &FileMatches| {
        let lines = file.hits.iter().filter(|hit| hit.matches);
        json!({
            "path": full(start, &file.path),
            "matches": file.matches,
            "lines": lines.map(|hit| json!({"line": hit.line, "text": hit.text})).collect::<Vec<_>>(),
        })
    };
    json!({
        "files": found.files.iter().map(file).collect::<Vec<_>>(),
        "matching_lines": found.matches,
        "matching_files": found.matching,
        "complete": complete,
    })
}
