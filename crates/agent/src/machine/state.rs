//! What a run of the loop remembers between two steps: plain data, whole at every moment.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use toolcrib_core::{ApprovalId, ApprovalRequest, Call, CallId, ConversationId, Labels, RunId};
use toolcrib_providers::Usage;
use toolcrib_providers::chat::UserMessage;
use toolcrib_providers::model::FailureKind;

use crate::context::{Money, Summary};
use crate::offer::Injected;

/// Version of the stored form; a newer one is refused (DESIGN 9, Versions).
pub const STATE_VERSION: u32 = 1;

/// Rounds of an agent that sets none (seed 000: 15).
pub const ROUNDS: u32 = 15;
/// Most rounds that an agent may set (SPEC 2.5: 100).
pub const MOST_ROUNDS: u32 = 100;

/// Everything about a run but its messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Version of this form.
    pub version: u32,
    /// The run.
    pub run: RunId,
    /// The conversation that it writes into.
    pub conversation: ConversationId,
    /// Rounds of calls before the last request; `None` = unlimited, which only a run with a token or time budget may be.
    pub rounds_limit: Option<u32>,
    /// Where it stands.
    pub phase: Phase,
    /// When it began, in milliseconds since 1970; `None` = not yet.
    #[serde(default)]
    pub begun_at: Option<i64>,
    /// Rounds of calls so far.
    pub rounds: u32,
    /// Calls that were answered so far.
    pub calls: u64,
    /// Answers of the model in a row that said and asked for nothing.
    pub empty_answers: u32,
    /// Questions that the model asked people so far.
    pub questions: u32,
    /// What the older messages are replaced by in requests.
    pub summary: Option<Summary>,
    /// Messages that were written while the run was working, to be injected at the next boundary.
    pub queued: Vec<UserMessage>,
    /// Answers of people, to be said after the results they belong to.
    pub said: Vec<UserMessage>,
    /// Skills that are active, in the order in which they were loaded.
    pub skills: Vec<ActiveSkill>,
    /// Progress, as the stall guard sees it.
    pub progress: Progress,
    /// What was used so far.
    pub spent: Spent,
    /// What was read so far, in this run and before it in the conversation.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Tools that were found in the conversation.
    #[serde(default, skip_serializing_if = "Injected::is_empty")]
    pub injected: Injected,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// The model is to be asked.
    Model {
        /// With or without tools.
        ask: Ask,
    },
    /// The calls of the newest message are to be run.
    Tools {
        /// One per call of the message, in its order.
        calls: Vec<Call>,
    },
    /// Some calls of the newest message wait for people; all others have their answer.
    Person {
        /// What is waited for.
        pending: Vec<Pending>,
    },
    /// It is over.
    Ended {
        /// How.
        end: End,
    },
}

impl Phase {
    /// Calls that may have no answer yet, by their places in the newest message.
    pub(super) fn open_calls(&self) -> Vec<(usize, CallId)> {
        match self {
            Self::Tools { calls } => calls.iter().map(|call| call.id).enumerate().collect(),
            Self::Person { pending } => pending.iter().map(|w| (w.index, w.call)).collect(),
            Self::Model { .. } | Self::Ended { .. } => Vec::new(),
        }
    }
}

/// How the model is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// With tools.
    Open,
    /// Without tools: what it says now is the answer.
    Last {
        /// How the run ends after it.
        end: End,
    },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum End {
    /// The model is done.
    Completed,
    /// The answer was cut by the limit of output.
    Length,
    /// The model, or a filter of its provider, refused.
    Refused,
    /// The rounds were used up; the last answer was asked for without tools.
    RoundLimit,
    /// The same calls came again and again.
    Repeated,
    /// Several rounds brought nothing new.
    Stalled,
    /// A budget was used up.
    Budget {
        /// Which, in words.
        message: String,
    },
    /// Somebody stopped it.
    Stopped,
    /// No model answered.
    Failed {
        /// What kind of failure it was.
        kind: FailureKind,
        /// What is wrong and what to do.
        message: String,
    },
}

impl End {
    /// The wire name.
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

    /// The exit code of a command that ran just this run (DESIGN 7): 0 where the model gave its answer, also one that a guard asked for;
    /// 1 failed or refused, 7 budget, 130 stopped, 3 where the set-up is wrong.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Completed | Self::Length | Self::RoundLimit | Self::Repeated | Self::Stalled => 0,
            Self::Refused => 1,
            Self::Budget { .. } => 7,
            Self::Stopped => 130,
            Self::Failed { kind: FailureKind::BadKey | FailureKind::UnknownModel, .. } => 3,
            Self::Failed { .. } => 1,
        }
    }
}

/// One call that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// Place of the call in the newest message.
    pub index: usize,
    /// The call.
    pub call: CallId,
    /// What the person is asked.
    pub what: Waits,
    /// Under which id a question of the model is kept; `None` = it is not stored yet. (An approval has the id of its request.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<ApprovalId>,
}

impl Pending {
    /// The stored question.
    #[must_use]
    pub fn approval(&self) -> Option<ApprovalId> {
        match &self.what {
            Waits::Approval(request) => Some(request.id),
            Waits::Answer(_) => self.asked,
        }
    }
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "waits_for", rename_all = "snake_case")]
pub enum Waits {
    /// Whether a call may run.
    Approval(Box<ApprovalRequest>),
    /// A question of the model.
    Answer(Question),
}

/// A question of the model to a person (DESIGN 9, ask_user).
pub use toolcrib_core::UserQuestion as Question;

/// What a person said to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Said {
    /// An answer: one of the options, or free text.
    Answered {
        /// The words.
        text: String,
    },
    /// The person skipped the question.
    Skipped,
    /// Nobody answered in time, or nobody could.
    Expired,
}

/// A skill whose rules hold now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveSkill {
    /// Its name.
    pub name: String,
    /// Tools that it allows; empty = no limit.
    pub allowed_tools: Vec<String>,
    /// Whether its words are in the system prompt: it was active from the start. Those of a skill that was loaded stand in the result of
    /// that call.
    pub in_prompt: bool,
}

/// What the stall guard remembers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Rounds in a row that brought nothing new.
    pub idle_rounds: u32,
    /// Whether the model was told so.
    pub hinted: bool,
    /// Whether the door refused a batch as repeated.
    pub repeated: bool,
    /// The budget that refused a call, in words.
    pub budget: Option<String>,
    /// Hashes of the results that were seen.
    pub seen: BTreeSet<u64>,
}

/// What a run used. Tokens are those that providers report; a part that one of them does not report makes the sum a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Requests that were answered.
    pub requests: u64,
    /// What they used together.
    pub usage: Usage,
    /// What they cost, where prices are known; an estimate.
    pub cost: Option<Money>,
    /// Tokens of schemas that their requests left out, because tools were to be found; an estimate.
    #[serde(default)]
    pub tokens_saved: u64,
}

impl Spent {
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
