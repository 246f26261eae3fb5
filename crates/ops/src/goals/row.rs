//! A goal in replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::goal::{Goal, GoalError};

use crate::context::StoreContext;
use crate::error::{OpError, Resource};

/// A goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Goal")]
pub struct GoalReply {
    /// Its id.
    pub goal: String,
    /// The objective; only for callers that may see payloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// `waiting`, `pending`, `running`, `done`, `failed` or `cancelled`.
    pub status: String,
    /// Its run; `/runs/{run}/events` shows its progress, `/runs/{run}/steer` sends it a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The conversation of its run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Maximum number of rounds of its run.
    pub rounds: u32,
    /// Maximum number of calls of its run.
    pub calls: u64,
    /// Maximum number of tokens of its run.
    pub tokens: u64,
    /// Maximum run time of tools in its run, in seconds.
    pub seconds: u64,
    /// The answer of the run, or the reason for its failure; only for callers that may see
    /// payloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The source that makes the result untrusted text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_source: Option<String>,
    /// Source of its text, if that is untrusted: the goal then waits until a person starts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// The person, token or agent that started it.
    pub by: String,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
}

impl GoalReply {
    pub(super) fn new(ctx: &StoreContext<'_>, goal: Goal) -> Self {
        let shows = ctx.shows_payloads;
        Self {
            goal: goal.id,
            text: shows.then_some(goal.goal),
            status: goal.status.as_str().to_owned(),
            run: goal.run.map(|run| run.to_string()),
            conversation: goal.conversation.map(|id| id.to_string()),
            rounds: goal.budget.rounds,
            calls: goal.budget.calls,
            tokens: goal.budget.tokens,
            seconds: goal.budget.seconds,
            result: goal.result.filter(|_| shows),
            result_source: goal.result_source,
            untrusted: goal.untrusted,
            by: goal.author.by,
            created_at: goal.created_at,
            ended_at: goal.ended_at,
        }
    }
}

impl From<GoalError> for OpError {
    fn from(error: GoalError) -> Self {
        match error {
            GoalError::Row(error) => error.into(),
            GoalError::Unknown(id) => Self::not_found(Resource::Goal, id),
            GoalError::Full
            | GoalError::TooDeep
            | GoalError::TooManyPerHour
            | GoalError::State(_) => Self::Conflict(error.to_string()),
            GoalError::BadText | GoalError::Secret => Self::Invalid(error.to_string()),
        }
    }
}
