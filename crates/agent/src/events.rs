//! Events of a run, in real time: for a terminal, a page, and `toolcrib run --json` (one event per
//! line).
//!
//! The states of a call are those that are common to chat front ends: `input-streaming`,
//! `input-available`, `approval-requested`, `approval-responded`, `output-available`,
//! `output-error`, `output-denied`; Toolcrib adds `progress`.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use toolcrib_core::{
    ApprovalId, ApprovalRequest, CallId, ConversationId, DecisionRecord, ErrorType, OutcomeKind,
    Progress, RawArgs, Report, RunId, UserQuestion,
};
use toolcrib_providers::conversation::UserKind;
use toolcrib_providers::{Stop, Usage};

use crate::context::Money;
use crate::machine::QuestionAnswer;

/// Receives events in order. Called synchronously, so it must forward the event and return
/// immediately.
pub type EventSink = Arc<dyn Fn(Event) + Send + Sync>;

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Event {
    /// The run starts, or continues in this process.
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
        /// Whether another process started the run.
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
        /// Number of declared tools.
        tools: usize,
        /// Number of further tools that the model could find.
        #[serde(skip_serializing_if = "is_zero")]
        left_out: usize,
        /// Estimated tokens saved by leaving these out.
        #[serde(skip_serializing_if = "is_zero")]
        tokens_saved: u64,
        /// Estimated tokens of the request.
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
    /// The request is sent again: discard pieces since the last [`Event::Request`].
    Retry {
        /// Number of the attempt that begins, from 2.
        attempt: u32,
        /// Delay before it, in seconds.
        wait_seconds: f64,
        /// The reason.
        why: String,
    },
    /// Another model is asked after a failure.
    Fallback {
        /// The failed model, `provider/model`.
        from: String,
        /// The next one; `None` if there is none left.
        to: Option<String>,
        /// The reason.
        why: String,
    },
    /// The model's answer is complete.
    Answer {
        /// Its text.
        text: String,
        /// Id of the provider entry.
        provider: String,
        /// The model.
        model: String,
        /// Whether a model other than the first of the chain answered ("answered by").
        fallback: bool,
        /// The reason why the model stopped.
        stop: Stop,
        /// Tokens, as the provider reports them.
        usage: Option<Usage>,
        /// Estimated cost.
        cost: Option<Money>,
        /// Calls that the provider ran itself, by their kind.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        hosted: Vec<String>,
        /// Irregularities of the answer.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// A change in the state of one call.
    Tool(ToolEvent),
    /// The model asks a person.
    Question {
        /// The call that asks.
        call: CallId,
        /// Id of the stored question. The first answer to it counts, here or elsewhere.
        approval: ApprovalId,
        /// The question.
        #[serde(flatten)]
        question: UserQuestion,
    },
    /// A person answered.
    QuestionAnswered {
        /// The call that asked.
        call: CallId,
        /// The reply.
        said: QuestionAnswer,
    },
    /// A message was added to the conversation that is not from the model.
    Message {
        /// Its origin.
        kind: UserKind,
        /// Its text.
        text: String,
        /// Number of its images; omitted if 0.
        #[serde(skip_serializing_if = "is_zero")]
        images: usize,
    },
    /// Older messages were replaced by a summary in requests.
    Compaction {
        /// Number of messages that the summary covers.
        covers: usize,
    },
    /// Older messages were omitted from requests.
    Trimmed {
        /// Their number.
        dropped: usize,
    },
    /// A skill is active from here on.
    Skill {
        /// Its name.
        name: String,
        /// Tools that it allows; empty for no limit.
        allowed_tools: Vec<String>,
    },
    /// A notice for the user.
    Notice {
        /// The text.
        text: String,
    },
    /// The run waits for a person; `toolcrib resume RUN` continues it.
    RunPaused {
        /// The run.
        run: RunId,
        /// `approval_needed` or `clarification_needed`.
        status: &'static str,
        /// The questions, one per waiting call.
        waiting: Vec<PendingInput>,
    },
    /// The run has ended.
    RunEnd {
        /// The run.
        run: RunId,
        /// Its final status.
        status: &'static str,
        /// The reason, if the status alone does not state it.
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
        /// Estimated cost.
        cost: Option<Money>,
        /// Estimated tokens of schemas that requests omitted.
        #[serde(skip_serializing_if = "is_zero")]
        tokens_saved: u64,
    },
}

/// Returns whether a number is omitted from the JSON.
fn is_zero(number: &(impl PartialEq + From<u8>)) -> bool {
    *number == 0.into()
}

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "waits_for", rename_all = "snake_case")]
pub enum PendingInput {
    /// Whether a call may run.
    Approval(Box<ApprovalRequest>),
    /// A question of the model.
    Answer {
        /// The call that asks.
        call: CallId,
        /// Id of the stored question.
        #[serde(skip_serializing_if = "Option::is_none")]
        approval: Option<ApprovalId>,
        /// The question.
        #[serde(flatten)]
        question: UserQuestion,
    },
}

/// A change in the state of one call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolEvent {
    /// Round of the call, from 0.
    pub round: u32,
    /// Index of the call in the answer, from 0.
    pub index: usize,
    /// The call, once its id is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The tool.
    pub tool: String,
    /// The new state.
    #[serde(flatten)]
    pub state: ToolState,
    /// The decision of each pipeline stage, once the call has ended. For users of this process
    /// only, not part of the JSON.
    #[serde(skip)]
    pub report: Option<Arc<Report>>,
}

/// State of a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum ToolState {
    /// The model writes the arguments.
    InputStreaming {
        /// The next piece of them.
        delta: String,
    },
    /// The arguments are complete; the call starts.
    InputAvailable {
        /// The arguments as the model wrote them.
        args: RawArgs,
    },
    /// A person is asked for approval.
    ApprovalRequested {
        /// The approval request.
        approval: Box<ApprovalRequest>,
    },
    /// A person decided.
    ApprovalResponded {
        /// The approval.
        approval: ApprovalId,
        /// The decision.
        #[serde(flatten)]
        decision: DecisionRecord,
    },
    /// The call reports progress: at most ten times a second, and only if there is a subscriber.
    Progress {
        /// The progress: a text, or the newest lines of output.
        #[serde(flatten)]
        progress: Progress,
    },
    /// The call succeeded.
    OutputAvailable {
        /// The result that the model reads.
        output: Value,
        /// Milliseconds that the tool ran, without waiting for people; 0 if it did not run.
        elapsed_ms: u64,
        /// Cards that it shows to people: `{blocks, untrusted?}` or `{html}`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cards: Vec<Value>,
    },
    /// The call failed, timed out, was stopped, or its outcome is unknown.
    OutputError {
        /// The final status.
        outcome: OutcomeKind,
        /// The reason.
        error_type: Option<ErrorType>,
        /// The result that the model reads.
        output: Value,
        /// Milliseconds that the tool ran, without waiting for people; 0 if it did not run.
        elapsed_ms: u64,
        /// The reason, worded for people; absent if the model's wording serves both.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Policy, a switch, a budget, a guard or a person refused the call, or it was not decided in
    /// time.
    OutputDenied {
        /// The final status.
        outcome: OutcomeKind,
        /// The reason.
        error_type: Option<ErrorType>,
        /// The result that the model reads.
        output: Value,
        /// Milliseconds that the tool ran, without waiting for people; 0 if it did not run.
        elapsed_ms: u64,
        /// The reason, worded for people; absent if the model's wording serves both.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}
