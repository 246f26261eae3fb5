//! A goal and its states: pure.

use serde::{Deserialize, Serialize};
use toolcrib_core::{Author, ConversationId, RunId, Surroundings};

/// Maximum characters of a goal.
pub const MAX_GOAL_CHARS: usize = 4_000;
/// Maximum characters of a stored result; the conversation contains the complete result.
const MAX_RESULT_CHARS: usize = 8_000;

/// The state of a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GoalStatus {
    /// A person must let it start: its text came from a run that had read untrusted text.
    Waiting,
    /// A daemon will start its run.
    Pending,
    /// Its run is in progress.
    Running,
    /// The run reports that it was reached.
    Done,
    /// Its run failed or exhausted its budget.
    Failed,
    /// A person or a model closed it before it ended.
    Cancelled,
}

impl GoalStatus {
    /// Returns the name in tools and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns whether it may still be reached.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Waiting | Self::Pending | Self::Running)
    }
}

/// The budget of a goal's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalBudget {
    /// Maximum rounds of calls.
    pub rounds: u32,
    /// Maximum calls.
    pub calls: u64,
    /// Maximum tokens.
    pub tokens: u64,
    /// Maximum run time of tools, in seconds.
    pub seconds: u64,
}

impl Default for GoalBudget {
    /// Allows twice the budget of a run at the terminal, since no person waits for it.
    fn default() -> Self {
        Self { rounds: 40, calls: 100, tokens: 500_000, seconds: 1_800 }
    }
}

/// A goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// Its id.
    pub id: String,
    /// The aim.
    pub goal: String,
    /// Its status.
    pub status: GoalStatus,
    /// The budget of its run.
    pub budget: GoalBudget,
    /// The agent of its run; empty for the configured one.
    #[serde(default)]
    pub agent: String,
    /// The tools that the run is limited to, as entries of tool lists: those of the run that
    /// started it; `None` for the tools of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Its run, once it has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The conversation of its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// The conversation in which it was started.
    #[serde(default)]
    pub started_in: String,
    /// Number of goals that started one another before this one.
    #[serde(default)]
    pub depth: u32,
    /// Information about the person when it was started, for its run.
    #[serde(default, skip_serializing_if = "Surroundings::is_empty")]
    pub surroundings: Surroundings,
    /// The answer of the run, or why it failed, shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The source that makes the result untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_source: Option<String>,
    /// The source of the goal's text, if the text is untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// Whether the conversation that started the goal has received the result.
    #[serde(default)]
    pub delivered: bool,
    /// The author.
    pub author: Author,
    /// Unix time in milliseconds.
    pub created_at: i64,
    /// Unix time in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
}

/// The result of a goal's run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalEnd {
    /// Whether it answered.
    pub ok: bool,
    /// The answer, or why there is none.
    pub result: String,
    /// The source that makes the answer untrusted.
    pub source: Option<String>,
}

impl Goal {
    /// Returns the goal after its run ended. A goal that was cancelled meanwhile stays cancelled.
    #[must_use]
    pub fn ended(self, end: &GoalEnd, at: i64) -> Self {
        let status = match (self.status, end.ok) {
            (GoalStatus::Cancelled, _) => GoalStatus::Cancelled,
            (_, true) => GoalStatus::Done,
            (_, false) => GoalStatus::Failed,
        };
        let result = end.result.trim().chars().take(MAX_RESULT_CHARS).collect();
        let ended_at = Some(self.ended_at.unwrap_or(at));
        Self { status, result: Some(result), result_source: end.source.clone(), ended_at, ..self }
    }
}

/// Renders the message that starts the run of a goal.
#[must_use]
pub fn pursuit_message(goal: &Goal) -> String {
    format!(
        "Pursue this goal on your own until it is reached, or until you know that it cannot be. No person watches, so do not ask; if a step needs a person, say so in the answer. Answer with the result, what it rests on, and what is left open.\n\nGoal: {}",
        goal.goal
    )
}
