//! Excludes contents of files that rules deny to a call, from the workspace and from earlier
//! commits.
//!
//! Before a command that shows contents, the same command lists the names of the files that it
//! would show. Denied files are excluded by name. An object that is not a commit has no name that
//! rules could evaluate, so it is shown only as `COMMIT:PATH`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toolcrib_core::{CallCtx, DenialReach, ErrorType, PathAccess, RuleRef, ToolError};

use super::{Git, GitCommand, command_error};
use crate::fs::call_denials::hidden_note;

/// Maximum bytes of excluded paths: a command line has at most 128 kB for one argument and about 2
/// MB in total.
const MAX_EXCLUDED: usize = 512 * 1024;
/// Maximum objects of a revision that are examined.
const MAX_OBJECTS: usize = 64;

/// How to list the names of the files that a command shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameListing {
    /// Runs the command itself, which shows differences, with names instead of contents.
    Names,
    /// Lists files that differ from the last commit or that git does not track.
    Changed,
}

/// A command without the contents that rules deny.
pub(crate) struct FilteredCommand<'a> {
    pub(crate) command: GitCommand<'a>,
    /// A note for the model on omitted files.
    pub(crate) note: Option<String>,
}

impl Git {
    /// Returns the command without the contents of files that rules deny to the call.
    ///
    /// # Errors
    /// `policy_denied` if the command names a denied file, or if there are too many; or git's own
    /// error.
    pub(crate) async fn without_denied<'a>(
        &self,
        ctx: &CallCtx,
        mut command: GitCommand<'a>,
        listing: NameListing,
    ) -> Result<FilteredCommand<'a>, ToolError> {
        if ctx.path_denials.is_empty() {
            return Ok(FilteredCommand { command, note: None });
        }
        let folder = self.folder(command.folder)?;
        for path in &command.paths {
            check(ctx, PathAccess::Read, &lexical(&folder.join(path)))?;
        }
        let Some(top) = self.top_folder(ctx, command.folder).await? else {
            return Ok(FilteredCommand { command, note: None });
        };
        let names = self.names(ctx, &command, listing).await?;
        if let Some(name) = names.iter().find(|name| name.contains(char::REPLACEMENT_CHARACTER)) {
            return Err(ToolError::new(
                ErrorType::PolicyDenied,
                format!(
                    "The name of {name} is not UTF-8, so it cannot be told whether a rule denies it. Name other paths."
                ),
            ));
        }
        let denied: Vec<PathBuf> = names
            .iter()
            .map(|name| top.join(name))
            .filter(|path| ctx.path_denials.denying_rule(PathAccess::Read, path).is_some())
            .collect();
        let excluded = denied.iter().map(|path| whole_folder(ctx, &top, path));
        let excluded: BTreeSet<String> = excluded.collect();
        if excluded.iter().map(String::len).sum::<usize>() > MAX_EXCLUDED {
            return Err(ToolError::new(
                ErrorType::PolicyDenied,
                format!(
                    "{} of the files are denied by rules, which are too many to leave out. Name other paths.",
                    denied.len()
                ),
            ));
        }
        command.excluded = excluded.into_iter().collect();
        Ok(FilteredCommand { command, note: hidden_note(denied.len()) })
    }

    /// Returns whether a revision consists of commits. Refuses a revision whose content cannot be
    /// evaluated by its name; with `is_shown`, an object named as `COMMIT:PATH` is evaluated by
    /// that path.
    ///
    /// # Errors
    /// `policy_denied`, or git's own error.
    pub(crate) async fn check_revision(
        &self,
        ctx: &CallCtx,
        folder: &str,
        revision: &str,
        is_shown: bool,
    ) -> Result<bool, ToolError> {
        let mut commits = true;
        if ctx.path_denials.is_empty() {
            return Ok(commits);
        }
        let objects = GitCommand::read_only(folder, &["rev-parse", "--revs-only", revision]);
        let found = self.run(ctx, objects).await?;
        let found = String::from_utf8_lossy(&found.stdout.head).into_owned();
        let objects: Vec<&str> = found.lines().map(|line| line.trim_start_matches('^')).collect();
        if objects.len() > MAX_OBJECTS {
            return Err(unnamed_object(revision));
        }
        for object in objects {
            let commit = format!("{object}^{{commit}}");
            let is_commit = GitCommand::read_only(folder, &["cat-file", "-e", &commit]);
            if self.run(ctx, is_commit).await?.succeeded() {
                continue;
            }
            commits = false;
            let path = object_path(revision).filter(|_| is_shown);
            let path = path.ok_or_else(|| unnamed_object(revision))?;
            let base = match path.starts_with("./") || path.starts_with("../") {
                true => Some(self.folder(folder)?),
                false => self.top_folder(ctx, folder).await?,
            };
            let path = lexical(&base.unwrap_or_default().join(path));
            check(ctx, PathAccess::Read, &path)?;
            let reach = ctx.path_denials.reach_into(PathAccess::Read, &path);
            if reach == DenialReach::Everything {
                return Err(unnamed_object(revision));
            }
        }
        Ok(commits)
    }

    /// Refuses to switch to a branch that changes a file which rules protect from changes.
    ///
    /// # Errors
    /// `policy_denied`, or git's own error.
    pub(crate) async fn check_switch(
        &self,
        ctx: &CallCtx,
        folder: &str,
        branch: &str,
    ) -> Result<(), ToolError> {
        if ctx.path_denials.is_empty() {
            return Ok(());
        }
        let Some(top) = self.top_folder(ctx, folder).await? else { return Ok(()) };
        let range = format!("HEAD..refs/heads/{branch}");
        let command = GitCommand::read_only(folder, &["diff"]).with_args([range]);
        for name in self.names(ctx, &command, NameListing::Names).await? {
            check(ctx, PathAccess::Edit, &top.join(name))?;
        }
        Ok(())
    }

    /// Returns the top folder of the repository; `None` outside of one.
    async fn top_folder(&self, ctx: &CallCtx, folder: &str) -> Result<Option<PathBuf>, ToolError> {
        let command = GitCommand::read_only(folder, &["rev-parse", "--show-toplevel"]);
        let found = self.run(ctx, command).await?;
        let path = String::from_utf8_lossy(&found.stdout.head).trim_end_matches('\n').to_owned();
        Ok(found.succeeded().then(|| PathBuf::from(path)))
    }

    /// Lists the names of the files that a command shows, relative to the top folder.
    async fn names(
        &self,
        ctx: &CallCtx,
        command: &GitCommand<'_>,
        listing: NameListing,
    ) -> Result<Vec<String>, ToolError> {
        let list = match listing {
            NameListing::Names => {
                let (action, rest) =
                    command.args.split_first().map_or(("", &[][..]), |(a, r)| (a, r));
                let merges = (action == "show").then_some(["-m", "--format="]);
                GitCommand::read_only(command.folder, &[action, "--name-only", "-z"])
                    .with_args(["--no-renames", "--no-relative", "--no-ext-diff", "--no-textconv"])
                    .with_args(merges.into_iter().flatten())
                    .with_args(rest.iter().cloned())
            }
            NameListing::Changed => GitCommand::read_only(
                command.folder,
                &[
                    "status",
                    "--porcelain=v1",
                    "-z",
                    "--no-renames",
                    "--untracked-files=all",
                    "--ignore-submodules=dirty",
                ],
            ),
        };
        let found = self.run(ctx, list.about(command.paths.iter().cloned())).await?;
        if !found.succeeded() {
            return Err(command_error(&found));
        }
        if found.stdout.total > found.stdout.head.len() as u64 {
            return Err(ToolError::new(
                ErrorType::PolicyDenied,
                "So many files have changed that those which rules deny cannot be left out. Name paths.",
            ));
        }
        let text = String::from_utf8_lossy(&found.stdout.head);
        // The status of a file is two letters and a blank before its name.
        let skipped = if listing == NameListing::Changed { 3 } else { 0 };
        let names =
            text.split('\0').filter_map(|entry| entry.trim_start_matches('\n').get(skipped..));
        Ok(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }
}

/// Returns the topmost folder around a denied file in which everything is denied, or else the file.
fn whole_folder(ctx: &CallCtx, top: &Path, path: &Path) -> String {
    let is_whole = |folder: &&Path| {
        ctx.path_denials.denying_rule(PathAccess::Read, folder).is_some()
            || ctx.path_denials.reach_into(PathAccess::Read, folder) == DenialReach::Everything
    };
    let inside = |folder: &&Path| folder.starts_with(top) && *folder != top;
    let folders = path.ancestors().skip(1).take_while(inside).take_while(is_whole);
    let whole = folders.last().unwrap_or(path);
    whole.strip_prefix(top).unwrap_or(whole).to_string_lossy().into_owned()
}

/// Returns the path of a revision written as `COMMIT:PATH` or, for the index, `:PATH` or `:N:PATH`.
/// Accepts only forms in which the first colon certainly ends the commit.
fn object_path(revision: &str) -> Option<&str> {
    let (commit, path) = revision.split_once(':')?;
    if !commit.chars().all(|c| c.is_alphanumeric() || "_-./+#~^".contains(c)) {
        return None;
    }
    let path = match (commit, path.split_once(':')) {
        ("", Some(("0" | "1" | "2" | "3", path))) => path,
        _ => path,
    };
    (!path.is_empty() && !path.starts_with('/') && !path.contains(':')).then_some(path)
}

fn check(ctx: &CallCtx, access: PathAccess, path: &Path) -> Result<(), ToolError> {
    ctx.path_denials.denying_rule(access, path).map_or(Ok(()), |rule| Err(denied(path, rule)))
}

fn denied(path: &Path, rule: &RuleRef) -> ToolError {
    ToolError::new(
        ErrorType::PolicyDenied,
        format!(
            "{} is not allowed: the rule {} denies it. Do not retry it.",
            path.display(),
            rule.named()
        ),
    )
}

fn unnamed_object(revision: &str) -> ToolError {
    ToolError::new(
        ErrorType::PolicyDenied,
        format!(
            "{revision} is not a commit, and rules deny the contents of some files. Give a commit, or show one file as COMMIT:PATH."
        ),
    )
}

/// Removes `.` and `..` from a path lexically: git follows no links in a path.
fn lexical(path: &Path) -> PathBuf {
    crate::fs::normalise(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_objects() {
        for (revision, expected) in [
            ("HEAD:secrets/key", Some("secrets/key")),
            ("HEAD~2:secrets/key", Some("secrets/key")),
            ("v1.0^:a", Some("a")),
            (":secrets/key", Some("secrets/key")),
            (":0:secrets/key", Some("secrets/key")),
            ("HEAD:./key", Some("./key")),
            ("HEAD:", None),
            ("HEAD", None),
            (":/fix", None),
            ("HEAD^{/a:b}:secrets/key", None),
            ("HEAD@{1}:secrets/key", None),
            ("HEAD:a:b", None),
        ] {
            assert_eq!(object_path(revision), expected, "{revision}");
        }
    }
}
