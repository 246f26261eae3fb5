//! What happens in a run, as it happens: for a terminal, a page, and `toolcrib run --json` (one event per line).
//!
//! The states of a call are those that the common chat front ends share: `input-streaming`, `input-available`, `approval-requested`,
//! `approval-responded`, `output-available`, `output-error`, `output-denied`; one of ours is `progress`.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use toolcrib_core::{
    ApprovalId, ApprovalRequest, CallId, ConversationId, DecisionRecord, ErrorType, OutcomeKind,
    Progress, RawArgs, Report, RunId, UserQuestion,
};
use toolcrib_providers::chat::UserKind;
use toolcrib_providers::{Stop, Usage};

use crate::context::Money;
use crate::machine::Said;

/// Receives events, in their order. It is called in place: it passes on and returns at once.
pub type EventSink = Arc<dyn Fn(Event) + Send + Sync>;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Event {
    /// The run begins, or goes on in this process.
    RunStart {
        /// The run.
        run: RunId,
        /// Its conversation.
        conversation: ConversationId,
        /// The agent.
        agent: String,
        /// Id of the first provider entry that is asked.
        provider: String,
        /// The first model that is asked.
        model: String,
        /// Whether that model only replays a file.
        scripted: bool,
        /// Whether another process began it.
        resumed: bool,
    },
    /// A model is asked.
    Request {
        /// Rounds of calls before this request.
        round: u32,
        /// Id of the provider entry.
        provider: String,
        /// The model.
        model: String,
        /// Tools that it is given.
        tools: usize,
        /// Tools that it could find besides.
        #[serde(skip_serializing_if = "is_zero")]
        left_out: usize,
        /// Tokens that leaving them out saves, an estimate.
        #[serde(skip_serializing_if = "is_zero")]
        tokens_saved: u64,
        /// Tokens of the request, an estimate.
        estimated_tokens: u64,
    },
    /// A piece of the answer's text.
    TextDelta {
        /// The piece.
        text: String,
    },
    /// A piece of the model's reasoning.
    ReasoningDelta {
        /// The piece.
        text: String,
    },
    /// The request is sent again: pieces since the last [`Event::Request`] are void.
    Retry {
        /// Number of the attempt that begins, from 2.
        attempt: u32,
        /// Seconds that are waited before.
        wait_seconds: f64,
        /// Why.
        why: String,
    },
    /// Another model is asked in place of one that failed.
    Fallback {
        /// The one that failed, `provider/model`.
        from: String,
        /// The next one; `None` = there is none left.
        to: Option<String>,
        /// Why.
        why: String,
    },
    /// The model's answer is whole.
    Answer {
        /// Its text.
        text: String,
        /// Id of the provider entry.
        provider: String,
        /// The model.
        model: String,
        /// Whether it is not the first of the chain ("answered by").
        fallback: bool,
        /// Why it stopped.
        stop: Stop,
        /// Tokens, as the provider reports them.
        usage: Option<Usage>,
        /// What it cost, an estimate.
        cost: Option<Money>,
        /// Calls that the provider ran itself, by their kind.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        hosted: Vec<String>,
        /// What was odd about it.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// Something about one call.
    Tool(ToolEvent),
    /// The model asks a person.
    Question {
        /// The call that asks.
        call: CallId,
        /// Under which id the question is kept; whoever answers it first, here or elsewhere, has answered it.
        approval: ApprovalId,
        /// The question.
        #[serde(flatten)]
        question: UserQuestion,
    },
    /// A person answered.
    QuestionAnswered {
        /// The call that asked.
        call: CallId,
        /// What was said.
        said: Said,
    },
    /// A message was added to the conversation by somebody else than the model.
    Message {
        /// Where it comes from.
        kind: UserKind,
        /// Its text.
        text: String,
    },
    /// Older messages were replaced by a summary in what is sent.
    Compaction {
        /// Messages that the summary covers.
        covers: usize,
    },
    /// Older messages were left out of what is sent.
    Trimmed {
        /// How many.
        dropped: usize,
    },
    /// A skill is active from here on.
    Skill {
        /// Its name.
        name: String,
        /// Tools that it allows; empty = no limit.
        allowed_tools: Vec<String>,
    },
    /// Something that people should know.
    Notice {
        /// In words.
        text: String,
    },
    /// The run waits for a person; `toolcrib resume RUN` goes on with it.
    RunPaused {
        /// The run.
        run: RunId,
        /// `approval_needed` or `clarification_needed`.
        status: &'static str,
        /// The questions, one per waiting call.
        waiting: Vec<Waiting>,
    },
    /// The run is over.
    RunEnd {
        /// The run.
        run: RunId,
        /// How it ended.
        status: &'static str,
        /// Why, where the status alone does not say it.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The answer.
        text: String,
        /// Rounds of calls.
        rounds: u32,
        /// Calls.
        calls: u64,
        /// Tokens, as far as providers report them.
        usage: Usage,
        /// What it cost, an estimate.
        cost: Option<Money>,
        /// Tokens of schemas that all requests left out, an estimate.
        #[serde(skip_serializing_if = "is_zero")]
        tokens_saved: u64,
    },
}

/// Whether there is nothing to say of a number.
fn is_zero(number: &(impl PartialEq + From<u8>)) -> bool {
    *number == 0.into()
}

/// What waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "waits_for", rename_all = "snake_case")]
pub enum Waiting {
    /// Whether a call may run.
    Approval(Box<ApprovalRequest>),
    /// An answer.
    Answer {
        /// The call that asks.
        call: CallId,
        /// Under which id the question is kept.
        #[serde(skip_serializing_if = "Option::is_none")]
        approval: Option<ApprovalId>,
        /// The question.
        #[serde(flatten)]
        question: UserQuestion,
    },
}

/// Something about one call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolEvent {
    /// Round that the call belongs to, from 0.
    pub round: u32,
    /// Place of the call in the answer, from 0.
    pub index: usize,
    /// The call, once it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The tool.
    pub tool: String,
    /// Where it stands.
    #[serde(flatten)]
    pub state: ToolState,
    /// What each stage of the door decided, once the call is over; for people at this process, not part of the wire form.
    #[serde(skip)]
    pub report: Option<Arc<Report>>,
}

/// Where a call stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum ToolState {
    /// The model writes its arguments.
    InputStreaming {
        /// The next piece of them.
        delta: String,
    },
    /// The arguments are whole; the call begins.
    InputAvailable {
        /// As the model wrote them.
        args: RawArgs,
    },
    /// A person is asked.
    ApprovalRequested {
        /// What the person is shown.
        approval: Box<ApprovalRequest>,
    },
    /// A person decided.
    ApprovalResponded {
        /// The question.
        approval: ApprovalId,
        /// The decision.
        #[serde(flatten)]
        decision: DecisionRecord,
    },
    /// It runs, and says how far it is. Not all of what it says comes: at most ten a second, and none where nobody looks.
    Progress {
        /// How far: words, or the newest lines of what it writes.
        #[serde(flatten)]
        progress: Progress,
    },
    /// It succeeded.
    OutputAvailable {
        /// What the model reads.
        output: Value,
        /// Milliseconds since the call began, waiting for people included.
        elapsed_ms: u64,
    },
    /// It failed, ran out of time, was stopped, or its outcome is unknown.
    OutputError {
        /// How it ended.
        outcome: OutcomeKind,
        /// Why.
        error_type: Option<ErrorType>,
        /// What the model reads.
        output: Value,
        /// Milliseconds since the call began.
        elapsed_ms: u64,
    },
    /// Policy, a switch, a budget, a guard or a person refused it, or nobody decided in time.
    OutputDenied {
        /// How it ended.
        outcome: OutcomeKind,
        /// Why.
        error_type: Option<ErrorType>,
        /// What the model reads.
        output: Value,
        /// Milliseconds since the call began.
        elapsed_ms: u64,
    },
}
