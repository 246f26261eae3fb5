//! Failpoints, at which a test can end the process to leave the same state as a crash (reliability
//! 3, K1 to K9).
//!
//! Without the feature `failpoints` a failpoint compiles to nothing.

/// Marks a named failpoint.
#[inline]
pub(crate) fn hit(name: &'static str) {
    #[cfg(feature = "failpoints")]
    fail::fail_point!(name);
    #[cfg(not(feature = "failpoints"))]
    let _ = name;
}
