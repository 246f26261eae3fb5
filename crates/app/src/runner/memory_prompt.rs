//! Memories in the system prompt of a run.

use std::sync::Arc;

use toolcrib_agent::library::Agent;
use toolcrib_assistant::memory::{GUIDANCE, PromptMemories};
use toolcrib_core::taint::SYSTEM_PROMPT;
use toolcrib_core::{Label, LabelSource, Labels, ViewRequest};

use super::Runner;

/// The tool whose presence says that memory is on for an agent.
const RECALL: &str = "memory_recall";
/// The tool whose presence says that a model may store memories.
const STORE: &str = "memory_store";

impl Runner {
    /// The owner's memories, if the agent has the tools for them. A store that cannot be read makes
    /// the run begin without memories: they are a help, not a condition.
    pub(super) async fn prompt_memories(&self, agent: &Agent, owner: &str) -> Arc<PromptMemories> {
        let request = ViewRequest {
            role: agent.role.clone(),
            agent: agent.tools.clone(),
            ..ViewRequest::default()
        };
        let view = self.toolcrib.catalog().view(&Arc::new(request));
        if view.find(RECALL).is_none() {
            return Arc::default();
        }
        self.toolcrib.memories().for_prompt(owner).await.unwrap_or_default()
    }
}

/// What the memories of a prompt make of a run: it has read private data.
pub(super) fn labels(memories: &PromptMemories) -> Labels {
    let mut labels = Labels::default();
    if memories.is_private() {
        let source = Some("memories".to_owned());
        let by = LabelSource { call: None, tool: SYSTEM_PROMPT.to_owned(), source };
        labels.raise(Label::Private, by);
    }
    labels
}

/// The section of the prompt for a model that has these tools.
pub(super) fn section(
    memories: &PromptMemories,
    tools: &[&str],
    on_device: bool,
) -> Option<String> {
    let guidance = tools.contains(&STORE).then_some(GUIDANCE);
    let parts: Vec<&str> = guidance.into_iter().chain(memories.section(on_device)).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}
