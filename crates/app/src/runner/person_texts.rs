//! What the person has in the system prompt of a run: memories, and a text of their own.

use std::sync::Arc;

use toolcrib_agent::library::Agent;
use toolcrib_assistant::memory::{PromptMemories, guidance};
use toolcrib_core::taint::SYSTEM_PROMPT;
use toolcrib_core::{Label, LabelSource, Labels, ViewRequest};

use super::Runner;

/// The tool whose presence says that memory is on for an agent.
const RECALL: &str = "memory_recall";
/// The tool that makes tasks.
const SCHEDULE: &str = "schedule_task";
/// The tool that shows the results of goals.
const GOALS: &str = "goals";

/// What the person has in a prompt.
#[derive(Debug, Clone, Default)]
pub(super) struct PersonTexts {
    /// Memories, if the agent has the tools for them.
    pub(super) memories: Arc<PromptMemories>,
    /// The text for every run.
    pub(super) custom_instructions: Option<String>,
    /// Addresses of their mail accounts.
    pub(super) mail_accounts: Vec<String>,
    /// Their tasks that wait for a time, a line each.
    pub(super) tasks: Vec<String>,
    /// Goals of this conversation that ended since its last run: id and status.
    pub(super) ended_goals: Vec<(String, &'static str)>,
}

impl Runner {
    /// The owner's memories and text. A store that cannot be read makes the run begin without them:
    /// they are a help, not a condition.
    pub(super) async fn person_texts(&self, agent: &Agent, owner: &str) -> PersonTexts {
        let memories = self.prompt_memories(agent, owner).await;
        let own = self.toolcrib.custom_instructions().get(owner).await.ok().flatten();
        PersonTexts {
            memories,
            custom_instructions: own.map(|own| own.text),
            mail_accounts: self.mail_addresses(owner),
            tasks: self.task_lines(agent, owner).await,
            ended_goals: Vec::new(),
        }
    }

    /// The accounts are those of the owner of this machine.
    fn mail_addresses(&self, owner: &str) -> Vec<String> {
        if !owner.is_empty() {
            return Vec::new();
        }
        let accounts = self.toolcrib.mail_accounts().list().unwrap_or_default();
        accounts.into_iter().map(|account| account.address).collect()
    }

    /// Tasks that wait for their time, soonest first, if the agent makes tasks.
    async fn task_lines(&self, agent: &Agent, owner: &str) -> Vec<String> {
        if !self.has_tool(agent, SCHEDULE) {
            return Vec::new();
        }
        self.toolcrib.tasks().prompt_lines(owner).await.unwrap_or_default()
    }

    fn has_tool(&self, agent: &Agent, tool: &str) -> bool {
        let request = ViewRequest {
            role: agent.role.clone(),
            agent: agent.tools.clone(),
            ..ViewRequest::default()
        };
        self.toolcrib.catalog().view(&Arc::new(request)).find(tool).is_some()
    }

    /// Goals that ended since the last run of this conversation. Only their ids and how they ended:
    /// what came out may be text from outside, and is read with the tool, which says so.
    pub(super) async fn ended_goals(
        &self,
        owner: &str,
        conversation: &str,
    ) -> Vec<(String, &'static str)> {
        let ended = self.toolcrib.goals().deliver(owner, conversation).await.unwrap_or_default();
        ended.into_iter().map(|goal| (goal.id, goal.status.as_str())).collect()
    }

    /// The owner's memories, if the agent has the tools for them. A store that cannot be read makes
    /// the run begin without memories: they are a help, not a condition.
    async fn prompt_memories(&self, agent: &Agent, owner: &str) -> Arc<PromptMemories> {
        if !self.has_tool(agent, RECALL) {
            return Arc::default();
        }
        self.toolcrib.memories().for_prompt(owner).await.unwrap_or_default()
    }
}

/// What the memories and tasks of a prompt make of a run: it has read private data.
pub(super) fn labels(texts: &PersonTexts) -> Labels {
    let mut labels = Labels::default();
    let source = match (texts.memories.is_private(), texts.tasks.is_empty()) {
        (true, _) => Some("memories".to_owned()),
        (false, false) => Some("tasks".to_owned()),
        (false, true) => None,
    };
    if source.is_some() {
        let by = LabelSource { call: None, tool: SYSTEM_PROMPT.to_owned(), source };
        labels.raise(Label::Private, by);
    }
    labels
}

/// The section about goals that ended, for a model that can read their results.
pub(super) fn goal_section(ended: &[(String, &'static str)], tools: &[&str]) -> Option<String> {
    if ended.is_empty() || !tools.contains(&GOALS) {
        return None;
    }
    let lines: Vec<String> = ended.iter().map(|(id, how)| format!("- {id}: {how}")).collect();
    Some(format!(
        "## Goals That Ended\n\nRuns in the background that this conversation started have ended. Read each result with {GOALS} (inspect), and tell the person.\n\n{}",
        lines.join("\n")
    ))
}

/// The section of the prompt for a model that has these tools.
pub(super) fn memory_section(
    memories: &PromptMemories,
    tools: &[&str],
    on_device: bool,
) -> Option<String> {
    let guidance = guidance(tools);
    let parts: Vec<&str> =
        guidance.as_deref().into_iter().chain(memories.section(on_device)).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}
