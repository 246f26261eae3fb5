//! Operations on artifacts (stored results).

mod blocking;
mod document;
mod list;
mod remove;
mod show;

pub use document::ArtifactDocument;
pub use list::{ListArtifactsRequest, list};
pub use remove::{RemoveArtifactRequest, RemovedArtifact, remove};
pub use show::{ShowArtifactRequest, show};
