//! Failpoints at which a test can kill the process: "commit" before each COMMIT, "migrate" inside
//! each migration.
//!
//! Without the feature `failpoints` they compile to nothing.

/// Marks a named failpoint.
#[inline]
pub(crate) fn hit(name: &'static str) {
    #[cfg(feature = "failpoints")]
    fail::fail_point!(name);
    #[cfg(not(feature = "failpoints"))]
    let _ = name;
}
