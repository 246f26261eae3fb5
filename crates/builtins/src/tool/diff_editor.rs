//! `diff_editor`: applies unified diffs or search/replace blocks to one or several files, all or
//! nothing.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{
    Access, Assessment, CallCtx, CancellationToken, Effect, ErrorType, Tool, ToolError, ToolOutput,
    ToolSpec, Trust,
};

use super::{
    aliases, blocking, examples, file_spec, lock, lock_changed, path_aliases, text_output,
    with_undo_note,
};
use crate::fs::Workspace;
use crate::git::{Git, GitCommand, NameListing};
use crate::patch::{self, Applied, FilePatch, HunkMismatch, syntax_check};

/// Maximum bytes of all files of one diff; more than `edit_file` accepts for one file.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Maximum lines of one file; the index for locating hunks contains all of them.
const MAX_LINES: usize = 2_000_000;
/// Characters of a line in a message.
const SHOWN: usize = 200;
/// Hunks per file that a result lists.
const LISTED: usize = 20;

/// Handler of `diff_editor`.
pub(crate) struct DiffEditor {
    pub(crate) workspace: Arc<Workspace>,
    /// For `create`, which reads the last commit; `None` if programs cannot be run.
    pub(crate) git: Option<Git>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// apply (default) changes the files; create returns the diff of a file since the last commit.
    action: Option<Action>,
    /// The file, relative to the workspace folder; for several files give paths.
    path: Option<String>,
    /// All files of the diff, named as in the diff.
    paths: Option<Vec<String>>,
    /// For apply: a unified diff (--- a/FILE, +++ b/FILE, @@ -1,3 +1,4 @@, lines that begin with a
    /// blank, - or +), or for one file blocks: <<<<<<< ORIGINAL, the old lines, =======, the new
    /// lines, >>>>>>> REPLACEMENT. The old side of a new file is /dev/null.
    diff: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    #[default]
    Apply,
    Create,
}

impl Action {
    fn operation(self) -> &'static str {
        match self {
            Self::Apply => "diff_editor.apply",
            Self::Create => "diff_editor.create",
        }
    }
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = file_spec::<Args>(
        "diff_editor",
        "Apply diff",
        "Change files of the workspace by a diff: every context and removed line must stand in the file, line numbers may be off; all of it is applied or nothing. For small precise changes; to write a whole file use write_file.",
        true,
    );
    spec.parameter_aliases = path_aliases();
    spec.parameter_aliases.extend(aliases([
        ("files", "paths"),
        ("diff_content", "diff"),
        ("content", "diff"),
        ("patch", "diff"),
    ]));
    spec.examples = examples([
        (
            "Change the port in the settings",
            json!({"path": "app.toml", "diff": "@@ -1,2 +1,2 @@\n [server]\n-port = 80\n+port = 8080\n"}),
        ),
        (
            "Rename the function in its file and in the test",
            json!({"paths": ["calc.py", "test_calc.py"], "diff": "--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-def ad(a, b):\n+def add(a, b):\n--- a/test_calc.py\n+++ b/test_calc.py\n@@ -1 +1 @@\n-from calc import ad\n+from calc import add\n"}),
        ),
        (
            "Replace a line without a diff",
            json!({"path": "main.py", "diff": "<<<<<<< ORIGINAL\nlimit = 5\n=======\nlimit = 50\n>>>>>>> REPLACEMENT\n"}),
        ),
    ]);
    spec
}

impl Args {
    /// Returns the files that the call names.
    fn files(&self) -> Result<Vec<&str>, ToolError> {
        let files: Vec<&str> =
            self.path.iter().chain(self.paths.iter().flatten()).map(String::as_str).collect();
        if files.is_empty() {
            return Err(ToolError::validation(
                "No file is named. Give path for one file, or paths with every file that the diff is about.",
            ));
        }
        if files.len() > patch::MAX_FILES {
            return Err(ToolError::validation(format!(
                "The call names {} files; at most {} are changed by one diff. Send several diffs.",
                files.len(),
                patch::MAX_FILES
            )));
        }
        Ok(files)
    }
}

impl Tool for DiffEditor {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let action = args.action.unwrap_or_default();
        let files = args.files()?;
        let verb = match action {
            Action::Apply => "change by a diff",
            Action::Create => "show what changed in",
        };
        let mut assessment =
            Assessment::from_spec(spec).with_summary(format!("{verb} {}", files.join(", ")));
        assessment.operation = Some(action.operation().to_owned());
        if action == Action::Create {
            assessment.effect = Effect::Read;
        }
        let roots = self.workspace.roots();
        files.iter().try_fold(assessment, |all, path| match action {
            Action::Apply => lock_changed(all, roots, path),
            Action::Create => Ok(lock(all, roots, path, Access::Shared)),
        })
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        if args.action == Some(Action::Create) {
            return self.create(ctx, &args).await;
        }
        let (workspace, cancel) = (self.workspace.for_call(ctx), ctx.cancel.clone());
        blocking(move || apply(&workspace, &args, &cancel)).await
    }
}

impl DiffEditor {
    /// Renders the changes since the last commit as a diff.
    async fn create(&self, ctx: &CallCtx, args: &Args) -> Result<ToolOutput, ToolError> {
        let Some(git) = &self.git else {
            return Err(ToolError::new(
                ErrorType::NotConfigured,
                "No programs can be run here, so there is no git to compare with. Read the file with read_file.",
            ));
        };
        let mut text = String::new();
        for path in args.files()? {
            text.push_str(&since_commit(git, ctx, path).await?);
        }
        if text.is_empty() {
            text.push_str("(no changes)");
        }
        Ok(ToolOutput::text(text).with_origin(Trust::Workspace, args.files()?.join(", ")))
    }
}

async fn since_commit(git: &Git, ctx: &CallCtx, path: &str) -> Result<String, ToolError> {
    let whole = Path::new(path);
    let folder = whole.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.and_then(Path::to_str).unwrap_or(".");
    let name = whole.file_name().and_then(|name| name.to_str()).unwrap_or(".");
    let about = |args: &[&str]| GitCommand::read_only(folder, args).about([name]);
    let known = git.run_checked(ctx, about(&["ls-files", "--cached"])).await?;
    if known.stdout.total == 0 {
        return Ok(format!(
            "{path} is not in git, so all of it is new: add it with git_manager.\n"
        ));
    }
    let diff = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD"];
    let diff = git.without_denied(ctx, about(&diff), NameListing::Names).await?;
    let finished = git.run_checked(ctx, diff.command).await?;
    let mut text = String::from_utf8_lossy(&finished.stdout.head).into_owned();
    text.extend(diff.note.map(|note| format!("({note})\n")));
    Ok(text)
}

/// The result for one file.
struct PatchedFile {
    path: String,
    applied: Applied,
    is_new: bool,
    warning: Option<String>,
}

fn apply(
    workspace: &Workspace,
    args: &Args,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let text = args.diff.as_deref().unwrap_or_default();
    if text.trim().is_empty() {
        return Err(ToolError::validation(
            "diff is missing. Give a unified diff, or blocks with the old and the new lines.",
        ));
    }
    let files = args.files()?;
    let patches = patch::parse(text).map_err(|error| {
        ToolError::validation(format!("The diff cannot be read: {error}. Nothing was changed."))
    })?;
    let wanted = assign(&patches, &files)?;
    let paths: Vec<&str> = wanted.iter().map(|(path, _)| *path).collect();
    let summary = format!("diff {}", paths.join(", "));
    let (changed, done) = workspace.edit_all(&paths, MAX_BYTES, summary, cancel, |old| {
        let mut new = Vec::new();
        let mut done = Vec::new();
        for ((path, patch), old) in wanted.iter().zip(old) {
            let one = one_file(path, patch, old.as_deref())?;
            new.push(one.applied.content.clone().into_bytes());
            done.push(one);
        }
        Ok((new, done))
    })?;
    let text = with_undo_note(render(&done), changed.not_undoable.as_deref());
    Ok(text_output(text).with_structured(structured(&done)))
}

/// Assigns each part of the diff to a file. The call must name all files, because policy evaluated
/// those names.
fn assign<'a>(
    patches: &'a [FilePatch],
    files: &[&'a str],
) -> Result<Vec<(&'a str, &'a FilePatch)>, ToolError> {
    if let ([patch], [file]) = (patches, files) {
        let fits = patch.path.as_deref().is_none_or(|named| is_tail(named, file));
        return if fits { Ok(vec![(*file, patch)]) } else { Err(not_named(patch, files)) };
    }
    let mut assigned: Vec<(&str, &FilePatch)> = Vec::new();
    for patch in patches {
        let Some(named) = patch.path.as_deref() else {
            return Err(ToolError::validation(
                "The diff does not say which file its hunks are about. Put --- a/FILE and +++ b/FILE above the hunks of each file.",
            ));
        };
        let file = files.iter().find(|file| plain(file) == plain(named));
        let Some(file) = file else { return Err(not_named(patch, files)) };
        if assigned.iter().any(|(other, _)| other == file) {
            return Err(ToolError::validation(format!(
                "{file} occurs twice in the diff. Put all hunks of a file below one pair of --- and +++ lines."
            )));
        }
        assigned.push((file, patch));
    }
    match files.iter().find(|file| !assigned.iter().any(|(other, _)| other == *file)) {
        Some(file) => Err(ToolError::validation(format!(
            "The call names {file}, but the diff says nothing about it. Leave it out, or add its hunks."
        ))),
        None => Ok(assigned),
    }
}

fn plain(path: &str) -> &str {
    path.trim_start_matches("./")
}

/// Returns whether one path is a suffix of the other: diffs are often created in a parent or child
/// folder.
fn is_tail(a: &str, b: &str) -> bool {
    let (a, b) = (plain(a), plain(b));
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|head| head.is_empty() || head.ends_with('/'))
    };
    ends(a, b) || ends(b, a)
}

fn not_named(patch: &FilePatch, files: &[&str]) -> ToolError {
    ToolError::validation(format!(
        "The diff is about {}, but the call names {}. Name the files of the diff in path or paths; they must be the same. Nothing was changed.",
        patch.path.as_deref().unwrap_or("no file"),
        files.join(", ")
    ))
}

fn one_file(path: &str, patch: &FilePatch, old: Option<&[u8]>) -> Result<PatchedFile, ToolError> {
    let adds_only = patch.hunks.iter().all(|hunk| hunk.old().next().is_none());
    let is_new = old.is_none();
    let old = match old {
        None if patch.is_new || adds_only => "",
        None => {
            let missing = crate::fs::FsErrorKind::NotFound.at(path);
            let mut error = ToolError::from(missing);
            error.message.push_str(
                ". The diff removes or keeps lines of it. For a new file begin with --- /dev/null.",
            );
            return Err(error);
        }
        Some(old) if patch.is_new && !old.is_empty() => {
            return Err(ToolError::execution(format!(
                "{path} exists already, and the diff says that it is new. Nothing was changed. Read it with read_file and send a diff of what is there."
            )));
        }
        Some(old) => text_of(path, old)?,
    };
    let applied = patch::apply(old, &patch.hunks)
        .map_err(|(number, misfit)| hunk_error(path, patch, number, &misfit))?;
    let warning = syntax_check::warning(path, (!is_new).then_some(old), &applied.content);
    Ok(PatchedFile { path: path.to_owned(), applied, is_new, warning })
}

fn text_of<'a>(path: &str, bytes: &'a [u8]) -> Result<&'a str, ToolError> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).ok_or_else(|| {
        ToolError::execution(format!(
            "{path} is not UTF-8 text, so no diff can be applied to it. Nothing was changed. To replace the whole file use write_file."
        ))
    })?;
    if text.bytes().filter(|byte| *byte == b'\n').count() > MAX_LINES {
        return Err(ToolError::new(
            ErrorType::FileTooLarge,
            format!("{path} has more than {MAX_LINES} lines. Change it with edit_file."),
        ));
    }
    Ok(text)
}

/// Explains why a hunk does not fit, with the nearest position.
fn hunk_error(path: &str, patch: &FilePatch, number: usize, misfit: &HunkMismatch) -> ToolError {
    let at = patch.hunks.get(number).map_or(0, |hunk| hunk.at);
    let head = format!(
        "Hunk {} of {path} (line {at} of the diff) does not fit. Nothing was changed.",
        number + 1
    );
    let why = match misfit {
        HunkMismatch::NotFound { near: Some(near) } => {
            let found = near.found.as_ref().map_or_else(
                || "the file ends before it".to_owned(),
                |found| format!("the file has\n{}", quoted(found)),
            );
            format!(
                "The nearest place begins at line {}. At line {}, where the diff says\n{}\n{found}\nThe diff was made for another version of the file, or a hunk is in the wrong order: read the file again and send a new diff.",
                near.line,
                near.at,
                quoted(&near.wanted)
            )
        }
        HunkMismatch::NotFound { near: None } => {
            "None of its lines exists there. The diff was made for another file or version: read the file again and send a new diff.".to_owned()
        }
        HunkMismatch::Ambiguous { lines, count } => {
            let listed: Vec<String> = lines.iter().map(usize::to_string).collect();
            let more = if *count > lines.len() { ", ..." } else { "" };
            format!(
                "Its lines stand in {count} places, at lines {}{more}. Add context lines around it until only one place fits, or give its right line number in the @@ line.",
                listed.join(", ")
            )
        }
        HunkMismatch::NoContext => {
            "It only adds lines and does not say behind which. Give at least one line of the file as context.".to_owned()
        }
        HunkMismatch::TooMuchWork => {
            "The file and the hunk repeat the same lines too often to find the place. Use edit_file for this change.".to_owned()
        }
    };
    ToolError::execution(format!("{head} {why}"))
}

fn quoted(line: &str) -> String {
    format!("  | {}", line.chars().take(SHOWN).collect::<String>())
}

/// Describes the result.
fn render(done: &[PatchedFile]) -> String {
    let mut lines = Vec::new();
    for PatchedFile { path, applied, is_new, warning } in done {
        let what = if *is_new { "created" } else { "changed" };
        let places: Vec<String> = applied.places.iter().take(LISTED).map(place).collect();
        let more = if applied.places.len() > LISTED { ", ..." } else { "" };
        let at = if *is_new { String::new() } else { format!(", at {}{more}", places.join(", ")) };
        lines.push(format!(
            "Successfully {what} {path}: +{} -{} lines{at}.",
            applied.added, applied.removed
        ));
        lines.extend(warning.as_ref().map(|warning| format!("Warning: {warning}")));
    }
    lines.join("\n")
}

fn place((line, off): &(usize, isize)) -> String {
    match off {
        0 => format!("line {line}"),
        off => format!("line {line} (the diff said {})", line.saturating_add_signed(-off)),
    }
}

fn structured(done: &[PatchedFile]) -> Value {
    let file = |done: &PatchedFile| {
        let mut value = json!({
            "path": done.path,
            "created": done.is_new,
            "added": done.applied.added,
            "removed": done.applied.removed,
            "lines": done.applied.places.iter().map(|(line, _)| line).collect::<Vec<_>>(),
        });
        if let (Some(warning), Some(object)) = (&done.warning, value.as_object_mut()) {
            object.insert("warning".to_owned(), json!(warning));
        }
        value
    };
    json!({"files": done.iter().map(file).collect::<Vec<_>>()})
}
