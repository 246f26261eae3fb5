//! Assessments of calls on files: locks, and approval of changes.

use toolcrib_core::{Access, Assessment, ToolError, ToolSpec};

use crate::executed_files;
use crate::fs::Roots;

/// Creates the assessment of a call on one file: as declared, locked on the file, with a summary
/// for approval.
pub(super) fn on_file(
    spec: &ToolSpec,
    roots: &Roots,
    path: &str,
    access: Access,
    summary: String,
) -> Assessment {
    lock(Assessment::from_spec(spec).with_summary(summary), roots, path, access)
}

/// Adds a lock on one more path.
pub(super) fn lock(
    assessment: Assessment,
    roots: &Roots,
    path: &str,
    access: Access,
) -> Assessment {
    match roots.lock_key(path) {
        Some(key) => assessment.with_lock(key, access),
        // The tool itself refuses an invalid path when it runs.
        None => assessment,
    }
}

/// Same as [`on_file`], for a call that changes the file.
///
/// # Errors
/// A refusal if no tool may change it.
pub(super) fn on_changed_file(
    spec: &ToolSpec,
    roots: &Roots,
    path: &str,
    summary: String,
) -> Result<Assessment, ToolError> {
    lock_changed(Assessment::from_spec(spec).with_summary(summary), roots, path)
}

/// Adds the lock on a path that the call changes, and requires approval if another program executes
/// the file.
///
/// # Errors
/// A refusal if no tool may change it.
pub(super) fn lock_changed(
    assessment: Assessment,
    roots: &Roots,
    path: &str,
) -> Result<Assessment, ToolError> {
    executed_files::assess_change(lock(assessment, roots, path, Access::Exclusive), roots, path)
}
