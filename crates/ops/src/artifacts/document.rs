//! A stored result, as replies have it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::ArtifactMeta;

use crate::calls::serialized_name;

/// A stored result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactDocument {
    /// Its name.
    pub artifact: String,
    /// Media type.
    pub media_type: String,
    /// Whose words it is: `tool`, `workspace` or `external`.
    pub trust: String,
    /// Where it comes from.
    pub source: Option<String>,
    /// Number of stored bytes.
    pub bytes: u64,
    /// Bytes that the tool produced; more than `bytes` where too many came.
    pub total_bytes: u64,
    /// SHA-256 of its owner, a zero byte and the stored bytes.
    pub sha256: String,
    /// Call that made it.
    pub call: String,
    /// Run that made it.
    pub run: Option<String>,
    /// Conversation that it was made in.
    pub conversation: Option<String>,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// When it may be removed, milliseconds since 1970; absent = never.
    pub expires_at: Option<i64>,
}

impl From<&ArtifactMeta> for ArtifactDocument {
    fn from(meta: &ArtifactMeta) -> Self {
        Self {
            artifact: meta.artifact.0.clone(),
            media_type: meta.media_type.clone(),
            trust: serialized_name(&meta.trust).unwrap_or_default(),
            source: meta.source.clone(),
            bytes: meta.bytes,
            total_bytes: meta.total_bytes,
            sha256: meta.sha256.clone(),
            call: meta.call.to_string(),
            run: meta.run.map(|run| run.to_string()),
            conversation: Some(meta.conversation.clone()).filter(|text| !text.is_empty()),
            created_at: meta.created_at,
            expires_at: meta.expires_at,
        }
    }
}
