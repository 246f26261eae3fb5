//! Places where a test can end the process: what is left behind there is what a crash leaves behind
//! (reliability 3, K1 to K9).
//!
//! Without the feature `failpoints` a place is nothing at all.

/// A place with a name.
#[inline]
pub(crate) fn hit(name: &'static str) {
    #[cfg(feature = "failpoints")]
    fail::fail_point!(name);
    #[cfg(not(feature = "failpoints"))]
    let _ = name;
}
