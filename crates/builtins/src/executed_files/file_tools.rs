//! Executed files and file tools: decides which changes need a person's approval and which are
//! refused.

use std::path::Path;

use toolcrib_core::{Assessment, ErrorType, Permission, Risk, ToolError};

use super::git_folder::{GitEntry, entry_of_git_folder};
use super::table::{self, ExecutedFile, OnChange, TABLE};
use crate::fs::{FsErrorKind, Roots};

/// Returns the table row for this file.
fn row_of(path: &Path) -> Option<&'static ExecutedFile> {
    let of_bare = |pattern: &str| TABLE.iter().find(|row| row.pattern == pattern);
    let row = table::find(path).or_else(|| match entry_of_git_folder(path)? {
        GitEntry::Executed => of_bare(".git/config"),
        GitEntry::Record => of_bare(".git/**"),
    });
    row.filter(|row| row.on_change != OnChange::Allow)
}

/// Returns the assessment of a call that changes this file.
///
/// # Errors
/// A refusal for the model if no tool may change the file.
pub(crate) fn assess_change(
    mut assessment: Assessment,
    roots: &Roots,
    path: &str,
) -> Result<Assessment, ToolError> {
    // The tool itself refuses an invalid path when it runs.
    let Some(row) = roots.lexical_path(path).as_deref().and_then(row_of) else {
        return Ok(assessment);
    };
    if row.on_change == OnChange::Refuse {
        return Err(ToolError::new(ErrorType::PathNotAllowed, refusal(path)));
    }
    assessment.risk = assessment.risk.max(Risk::High);
    let ExecutedFile { program, when, .. } = row;
    let what = format!("{path}, which {program} executes {when}");
    assessment.permissions.push(Permission::ExecutedFile(what));
    Ok(assessment)
}

/// Checks a change immediately before it is made, against the real file behind the path.
///
/// # Errors
/// [`FsErrorKind::Executed`] if no tool may change the file, or if links hide which file the path
/// names: the person approved the path, not the target of its links.
pub(crate) fn check_change(roots: &Roots, path: &str, real: &Path) -> Result<(), FsErrorKind> {
    let Some(row) = row_of(real) else { return Ok(()) };
    if row.on_change == OnChange::Refuse {
        return Err(FsErrorKind::Executed(refusal(path)));
    }
    if roots.lexical_path(path).as_deref().and_then(row_of).is_some() {
        return Ok(());
    }
    Err(FsErrorKind::Executed(format!(
        "{path} leads through a link to a file that {} executes {}. Name that file itself, so that a person can be asked about it.",
        row.program, row.when
    )))
}

fn refusal(path: &str) -> String {
    format!(
        "{path} belongs to the records of a git repository, and git would follow a changed one at its next command, so file tools do not change it. Use git_manager; a new repository is made with `git init` in the shell."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_does_not_hide_an_executed_file() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let roots = Roots::open([&root]).unwrap();
        let check = |path: &str, real: &str, is_allowed: bool| {
            let result = check_change(&roots, path, &root.join(real));
            assert_eq!(result.is_ok(), is_allowed, "{path} -> {real}: {result:?}");
        };
        check(".git/config", ".git/config", true);
        check("sub/../.git/config", ".git/config", true);
        check("notes", ".git/config", false);
        check("g/config", ".git/config", false);
        check(".git/commondir", ".git/commondir", false);
        check(".envrc", "env", true);
        check("env", ".envrc", false);
        check("a", "b", true);
    }
}
