//! Operations on artifacts (stored results).

mod blocking;
mod list;
mod remove;
mod show;

pub use list::{ListArtifactsRequest, list};
pub use remove::{RemoveArtifactRequest, RemovedArtifact, remove};
pub use show::{ShowArtifactRequest, show};
