//! Quotas and lifetime of artifacts.

use std::time::Duration;

use toolcrib_core::{StoreError, defaults};

/// Quotas and lifetime of artifacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArtifactLimits {
    /// Bytes per owner.
    pub owner_bytes: u64,
    /// Bytes created by one run.
    pub run_bytes: u64,
    /// Lifetime of an artifact after its creation; longer while a run that created it continues or
    /// waits.
    pub ttl: Duration,
}

impl Default for ArtifactLimits {
    fn default() -> Self {
        Self {
            owner_bytes: defaults::ARTIFACT_OWNER_BYTES,
            run_bytes: defaults::ARTIFACT_RUN_BYTES,
            ttl: defaults::ARTIFACT_TTL,
        }
    }
}

impl ArtifactLimits {
    /// Returns when an artifact of this time expires, in milliseconds since 1970.
    pub(crate) fn expiry(&self, created_at: i64) -> i64 {
        created_at.saturating_add(i64::try_from(self.ttl.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Returns the refusal of an artifact that would exceed a quota.
pub(crate) fn over_quota(holder: &str, used: u64, more: u64, limit: u64) -> Option<StoreError> {
    (used.saturating_add(more) > limit).then(|| {
        StoreError::Full(format!(
            "{holder} has {used} bytes of artifacts, and {more} more would exceed the limit of {limit}"
        ))
    })
}
