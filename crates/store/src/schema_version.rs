//! Migration state of a database's tables.

/// The version of a database's tables, and that of this build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaVersion {
    /// Number of migrations that are applied to the database; `None` if it has no tables yet.
    pub found: Option<i32>,
    /// Number of migrations that this build knows.
    pub known: i32,
}

impl SchemaVersion {
    /// Returns whether this build must apply migrations before it can use the database.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.found.is_none_or(|found| found < self.known)
    }
}
