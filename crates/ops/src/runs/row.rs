//! A run in a list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::StoredRun;

use super::stored_state::status_text;

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunRow {
    /// Its id.
    pub run: String,
    /// Its conversation.
    pub conversation: String,
    /// The agent.
    pub agent: String,
    /// Its state: `running`, `paused` or `ended`.
    pub state: String,
    /// The reason why it waits, or the status with which it ended.
    pub status: Option<String>,
    /// Subject of its conversation.
    pub topic: String,
    /// The principal that started it.
    pub by: String,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970 of its last step.
    pub updated_at: i64,
}

impl RunRow {
    /// Creates the row of a run. `shows_topic` is not set for viewers, because the topic is a
    /// person's text.
    #[must_use]
    pub fn new(run: &StoredRun, shows_topic: bool) -> Self {
        let topic = Some(&run.context.topic).filter(|_| shows_topic);
        Self {
            run: run.id.to_string(),
            conversation: run.conversation.to_string(),
            agent: run.context.agent.clone(),
            state: run.status.as_str().to_owned(),
            status: status_text(run).0,
            topic: topic.cloned().unwrap_or_default(),
            by: run.context.device.clone(),
            created_at: run.created_at,
            updated_at: run.updated_at,
        }
    }
}
