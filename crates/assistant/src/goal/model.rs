//! A goal and its states: pure.

use serde::{Deserialize, Serialize};
use toolcrib_core::{Author, ConversationId, RunId, Surroundings};

/// Characters of a goal.
pub const MAX_GOAL_CHARS: usize = 4_000;
/// Characters of a result that are kept; the conversation has all of it.
const MAX_RESULT_CHARS: usize = 8_000;

/// Where a goal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GoalStatus {
    /// A person has to let it begin: its text came from a run that had read text from outside.
    Waiting,
    /// A daemon will start its run.
    Pending,
    /// Its run goes on.
    Running,
    /// It was reached, as far as the run says.
    Done,
    /// Its run failed or used its budget up.
    Failed,
    /// A person or a model closed it before it ended.
    Cancelled,
}

impl GoalStatus {
    /// Name in tools and on the wire.
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

    /// Whether it may still be reached.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Waiting | Self::Pending | Self::Running)
    }
}

/// What the run of a goal may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalBudget {
    /// Rounds of calls.
    pub rounds: u32,
    /// Calls.
    pub calls: u64,
    /// Tokens.
    pub tokens: u64,
    /// Run time of tools, in seconds.
    pub seconds: u64,
}

impl Default for GoalBudget {
    /// Twice what a run at the terminal has, since no person waits for it.
    fn default() -> Self {
        Self { rounds: 40, calls: 100, tokens: 500_000, seconds: 1_800 }
    }
}

/// A goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// Its id.
    pub id: String,
    /// What is to be reached.
    pub goal: String,
    /// Its status.
    pub status: GoalStatus,
    /// What its run may use.
    pub budget: GoalBudget,
    /// The agent of its run; empty = the configured one.
    #[serde(default)]
    pub agent: String,
    /// The tools that the run is limited to, as entries of tool lists: those of the run that
    /// started it; `None` = those of the agent.
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
    /// How many goals started one another until this one.
    #[serde(default)]
    pub depth: u32,
    /// What was known about the person when it was started, for its run.
    #[serde(default, skip_serializing_if = "Surroundings::is_empty")]
    pub surroundings: Surroundings,
    /// What the run answered, or why it failed, shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// What makes the result outside text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_source: Option<String>,
    /// What the goal's text comes from, if that is outside text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// Whether the result was seen in the conversation that started the goal.
    #[serde(default)]
    pub delivered: bool,
    /// Who or what started it.
    pub author: Author,
    /// Unix time in milliseconds.
    pub created_at: i64,
    /// Unix time in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
}

/// How the run of a goal ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalEnd {
    /// Whether it answered.
    pub ok: bool,
    /// The answer, or why there is none.
    pub result: String,
    /// What makes the answer outside text.
    pub source: Option<String>,
}

impl Goal {
    /// The goal after its run ended. One that was cancelled meanwhile stays cancelled.
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

/// What the run of a goal is told.
#[must_use]
pub fn pursuit_message(goal: &Goal) -> String {
    format!(
        "Pursue this goal on your own until it is reached, or until you know that it cannot be. No person watches, so do not ask; if a step needs a person, say so in the answer. Answer with the result, what it rests on, and what is left open.\n\nGoal: {}",
        goal.goal
    )
}
