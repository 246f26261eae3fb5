//! The person's part of the system prompt of a run: memories, tasks, and a text of their own.

use std::sync::Arc;

use toolcrib_agent::library::Agent;
use toolcrib_assistant::memory::{PromptMemories, guidance};
use toolcrib_core::taint::SYSTEM_PROMPT;
use toolcrib_core::{Label, LabelSource, Labels, ViewRequest};
use toolcrib_devices::{SIGNALS_TOOL, Signal};

use super::Runner;

/// An agent with this tool in view has access to memories.
const RECALL: &str = "memory_recall";
/// The tool that creates tasks.
const SCHEDULE: &str = "schedule_task";
/// The tool that shows the results of goals.
const GOALS: &str = "goals";

/// The person's data in a prompt.
#[derive(Debug, Clone, Default)]
pub(super) struct PersonTexts {
    /// Memories, if the agent has the tools for them.
    pub(super) memories: Arc<PromptMemories>,
    /// The text for every run.
    pub(super) custom_instructions: Option<String>,
    /// Addresses of their mail accounts.
    pub(super) mail_accounts: Vec<String>,
    /// The person's tasks that wait for a time, one line each.
    pub(super) tasks: Vec<String>,
    /// Apps and types of their strongest signals, one line each.
    pub(super) signals: Vec<String>,
    /// Goals of this conversation that ended since its last run: id and status.
    pub(super) ended_goals: Vec<(String, &'static str)>,
}

impl Runner {
    /// Reads the owner's memories and text. If the store cannot be read, the run starts without
    /// them, because they are optional.
    pub(super) async fn person_texts(&self, agent: &Agent, owner: &str) -> PersonTexts {
        let memories = self.prompt_memories(agent, owner).await;
        let own = self.toolcrib.custom_instructions().get(owner).await.ok().flatten();
        PersonTexts {
            memories,
            custom_instructions: own.map(|own| own.text),
            mail_accounts: self.mail_addresses(owner),
            tasks: self.task_lines(agent, owner).await,
            signals: self.signal_lines(owner),
            ended_goals: Vec::new(),
        }
    }

    /// Returns the mail addresses; the accounts belong to the owner of this machine.
    fn mail_addresses(&self, owner: &str) -> Vec<String> {
        if !owner.is_empty() {
            return Vec::new();
        }
        let accounts = self.toolcrib.mail_accounts().list().unwrap_or_default();
        accounts.into_iter().map(|account| account.address).collect()
    }

    /// Returns the strongest signals of apps, only with names that the owner has confirmed: the
    /// contents are untrusted text, and the tool that reads them labels them.
    fn signal_lines(&self, owner: &str) -> Vec<String> {
        if !owner.is_empty() {
            return Vec::new();
        }
        let apps = self.toolcrib.apps();
        let now = apps.now();
        let line = |signal: Signal| {
            let minutes = now.saturating_sub(signal.at) / 60_000;
            format!("- {}: {}, {minutes} min ago", signal.app, signal.kind)
        };
        apps.strongest_signals().into_iter().map(line).collect()
    }

    /// Returns the tasks that wait for their time, soonest first, if the agent creates tasks.
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

    /// Returns the goals that ended since the last run of this conversation, only with id and
    /// status: the result may be untrusted text, and the tool that reads it labels it.
    pub(super) async fn ended_goals(
        &self,
        owner: &str,
        conversation: &str,
    ) -> Vec<(String, &'static str)> {
        let ended = self.toolcrib.goals().deliver(owner, conversation).await.unwrap_or_default();
        ended.into_iter().map(|goal| (goal.id, goal.status.as_str())).collect()
    }

    /// Reads the owner's memories, if the agent has the tools for them. If the store cannot be
    /// read, the run starts without memories, because they are optional.
    async fn prompt_memories(&self, agent: &Agent, owner: &str) -> Arc<PromptMemories> {
        if !self.has_tool(agent, RECALL) {
            return Arc::default();
        }
        self.toolcrib.memories().for_prompt(owner).await.unwrap_or_default()
    }
}

/// Returns the taint labels that the memories and tasks of a prompt raise: the run has read private
/// data.
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

/// Returns the section about goals that ended, for a model that can read their results.
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

/// Returns the section about signals of apps, for a model that can read their contents.
pub(super) fn signal_section(signals: &[String], tools: &[&str]) -> Option<String> {
    if signals.is_empty() || !tools.contains(&SIGNALS_TOOL) {
        return None;
    }
    Some(format!(
        "## Signals of Apps\n\nPaired apps reported these types of events. Read their contents with {SIGNALS_TOOL} if they matter for the request.\n\n{}",
        signals.join("\n")
    ))
}

/// Returns the section of the prompt for a model that has these tools.
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
