//! Signs the newest record of the audit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::StoreContext;
use crate::error::OpError;

/// The state of the chain when it was signed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Checkpointed")]
pub struct CheckpointReply {
    /// The checkpoint; absent = there are no new records since the last one, or there is no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Value>,
}

/// Signs the newest record.
///
/// # Errors
/// [`OpError::Store`].
pub async fn checkpoint(ctx: &StoreContext<'_>) -> Result<CheckpointReply, OpError> {
    let checkpoint = ctx.stores.audit.checkpoint_now().await?;
    Ok(CheckpointReply { checkpoint: checkpoint.map(|checkpoint| json!(checkpoint)) })
}
