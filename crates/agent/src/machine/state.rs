//! State of a run between two steps: plain data, consistent at all times.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use toolcrib_core::{ApprovalId, ApprovalRequest, Call, CallId, ConversationId, Labels, RunId};
use toolcrib_providers::Usage;
use toolcrib_providers::conversation::UserMessage;
use toolcrib_providers::model::FailureKind;

use crate::context::{Money, Summary};
use crate::tool_selection::FoundTools;

/// Version of the stored form; a newer one is refused.
pub const STATE_VERSION: u32 = 1;

/// Default number of rounds.
pub const ROUNDS: u32 = 15;
/// Maximum number of rounds that an agent may set.
pub const MAX_ROUNDS: u32 = 100;

/// The state of a run, without its messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Version of this form.
    pub version: u32,
    /// The run.
    pub run: RunId,
    /// The conversation to which it writes.
    pub conversation: ConversationId,
    /// Rounds of calls before the last request; `None` for unlimited, which requires a token or
    /// time budget.
    pub rounds_limit: Option<u32>,
    /// Current phase.
    pub phase: Phase,
    /// Start of the run, in milliseconds since 1970; `None` if it has not started.
    #[serde(default)]
    pub begun_at: Option<i64>,
    /// Rounds of calls so far.
    pub rounds: u32,
    /// Answered calls so far.
    pub calls: u64,
    /// Consecutive empty answers of the model.
    pub empty_answers: u32,
    /// Questions to the user so far.
    pub questions: u32,
    /// Summary that replaces older messages in requests.
    pub summary: Option<Summary>,
    /// Messages that arrived while the run was working, to be inserted before the next request.
    pub queued: Vec<UserMessage>,
    /// Answers of people, to be inserted after the results to which they belong.
    pub said: Vec<UserMessage>,
    /// Active skills, in the order in which they were loaded.
    pub skills: Vec<ActiveSkill>,
    /// Memory of the stall guard.
    pub progress: StallProgress,
    /// The answer of a run that a guard ended before the model answered.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub closing_text: String,
    /// Usage so far.
    pub spent: UsageTotals,
    /// Taint labels of this run and of the conversation before it.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Tools that were found in the conversation.
    #[serde(default, skip_serializing_if = "FoundTools::is_empty")]
    pub injected: FoundTools,
}

/// Phase of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// The model is asked next.
    Model {
        /// With or without tools.
        ask: RequestMode,
    },
    /// The calls of the newest message run next.
    Tools {
        /// One per call of the message, in order.
        calls: Vec<Call>,
    },
    /// Some calls of the newest message wait for people; all others have their result.
    Person {
        /// The waiting calls.
        pending: Vec<Pending>,
    },
    /// The run has ended.
    Ended {
        /// The end of the run.
        end: RunEnd,
    },
}

impl Phase {
    /// Calls that may not have a result yet, by their index in the newest message.
    pub(super) fn open_calls(&self) -> Vec<(usize, CallId)> {
        match self {
            Self::Tools { calls } => calls.iter().map(|call| call.id).enumerate().collect(),
            Self::Person { pending } => pending.iter().map(|w| (w.index, w.call)).collect(),
            Self::Model { .. } | Self::Ended { .. } => Vec::new(),
        }
    }
}

/// The mode of a request to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum RequestMode {
    /// With tools.
    Open,
    /// Without tools: its reply is the final answer.
    Last {
        /// The end of the run after it.
        end: RunEnd,
    },
}

/// The ways in which a run ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum RunEnd {
    /// The model finished.
    Completed,
    /// The answer was truncated by the output limit.
    Length,
    /// The model, or a filter of its provider, refused.
    Refused,
    /// The maximum number of rounds was reached; the last answer was requested without tools.
    RoundLimit,
    /// The same calls were repeated.
    Repeated,
    /// Several rounds produced nothing new.
    Stalled,
    /// A budget was exhausted.
    Budget {
        /// The budget, as a message.
        message: String,
    },
    /// The run was stopped.
    Stopped,
    /// No model answered.
    Failed {
        /// Kind of the failure.
        kind: FailureKind,
        /// The problem and the remedy.
        message: String,
    },
}

impl RunEnd {
    /// Returns the wire name.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Length => "length",
            Self::Refused => "refused",
            Self::RoundLimit => "round_limit",
            Self::Repeated => "repeated",
            Self::Stalled => "stalled",
            Self::Budget { .. } => "budget_exceeded",
            Self::Stopped => "stopped",
            Self::Failed { .. } => "failed",
        }
    }

    /// Returns the answer in place of the model's, if a guard ended the run and the model wrote
    /// none.
    #[must_use]
    pub fn text_without_answer(&self) -> Option<String> {
        let why = match self {
            Self::RoundLimit => "its rounds of tool calls were used up",
            Self::Repeated => "the model repeated the same tool calls",
            Self::Stalled => "its last tool calls brought nothing new",
            Self::Budget { message } => return Some(format!("The run has no answer. {message}")),
            Self::Completed
            | Self::Length
            | Self::Refused
            | Self::Stopped
            | Self::Failed { .. } => return None,
        };
        Some(format!("The run has no answer: {why}, and the model wrote none when it was asked."))
    }

    /// Returns the exit code of a command that ran only this run: 0 for an answer, also one that a
    /// guard requested; 1 failed or refused, 7 budget, 130 stopped, 3 wrong configuration.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Failed { kind: FailureKind::BadKey | FailureKind::UnknownModel, .. } => 3,
            end => Self::exit_code_of(end.as_str()),
        }
    }

    /// Returns the exit code by the wire name alone, which does not have the kind of a failure.
    #[must_use]
    pub fn exit_code_of(wire_name: &str) -> u8 {
        match wire_name {
            "completed" | "length" | "round_limit" | "repeated" | "stalled" => 0,
            "budget_exceeded" => 7,
            "stopped" => 130,
            _ => 1,
        }
    }
}

/// One call that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// Index of the call in the newest message.
    pub index: usize,
    /// The call.
    pub call: CallId,
    /// The subject on which the person decides.
    pub what: PendingKind,
    /// Id of a stored question of the model; `None` if it is not stored yet. (An approval has the
    /// id of its request.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<ApprovalId>,
}

impl Pending {
    /// Returns the id of the stored question or approval.
    #[must_use]
    pub fn approval(&self) -> Option<ApprovalId> {
        match &self.what {
            PendingKind::Approval(request) => Some(request.id),
            PendingKind::Answer(_) => self.asked,
        }
    }
}

/// The subject on which a person decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "waits_for", rename_all = "snake_case")]
pub enum PendingKind {
    /// Whether a call may run.
    Approval(Box<ApprovalRequest>),
    /// A question of the model.
    Answer(Question),
}

/// A question of the model to a person.
pub use toolcrib_core::UserQuestion as Question;

/// A person's reply to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum QuestionAnswer {
    /// An answer: one of the options, or free text.
    Answered {
        /// The text.
        text: String,
    },
    /// The person skipped the question.
    Skipped,
    /// No answer arrived in time, or no person was available.
    Expired,
}

/// An active skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveSkill {
    /// Its name.
    pub name: String,
    /// Tools that it allows; empty for no limit.
    pub allowed_tools: Vec<String>,
    /// Whether its instructions are in the system prompt, because it was active from the start.
    /// Those of a loaded skill are in the result of its call.
    pub in_prompt: bool,
}

/// Memory of the stall guard.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StallProgress {
    /// Number of consecutive rounds that produced nothing new.
    pub idle_rounds: u32,
    /// Whether the model received the hint.
    pub hinted: bool,
    /// Whether the engine refused a batch as repeated.
    pub repeated: bool,
    /// The budget that refused a call, as a message.
    pub budget: Option<String>,
    /// Hashes of earlier results.
    pub seen: BTreeSet<u64>,
}

/// Usage of a run, as providers report it. If a provider omits a count, the sum is a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UsageTotals {
    /// Number of requests that were answered.
    pub requests: u64,
    /// Sum of their token counts.
    pub usage: Usage,
    /// Their cost, where prices are known; an estimate.
    pub cost: Option<Money>,
    /// Estimated tokens of schemas that requests omitted because of tool search.
    #[serde(default)]
    pub tokens_saved: u64,
}

impl UsageTotals {
    /// Adds one answer.
    pub fn add(&mut self, usage: Option<Usage>, cost: Option<Money>) {
        self.requests += 1;
        if let Some(usage) = usage {
            let sum = &mut self.usage;
            for (total, part) in [
                (&mut sum.input, usage.input),
                (&mut sum.output, usage.output),
                (&mut sum.cache_read, usage.cache_read),
                (&mut sum.cache_write, usage.cache_write),
                (&mut sum.reasoning, usage.reasoning),
            ] {
                if let Some(part) = part {
                    *total = Some(total.unwrap_or(0).saturating_add(part));
                }
            }
        }
        if let Some(cost) = cost {
            self.cost = Some(self.cost.unwrap_or_default() + cost);
        }
    }
}
