//! The findings of a check.

/// What a check found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// What has to be corrected.
    pub(super) failures: Vec<String>,
    /// What deserves a second look.
    pub(super) warnings: Vec<String>,
    /// Why the check did not run, where it could not.
    pub(super) skipped: Option<String>,
}

impl Found {
    pub(super) fn failures(failures: Vec<String>) -> Self {
        Self { failures, ..Self::default() }
    }

    pub(super) fn skipped(why: &str) -> Self {
        Self { skipped: Some(why.to_owned()), ..Self::default() }
    }
}
