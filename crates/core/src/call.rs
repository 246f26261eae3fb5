//! Calls, their batch and the context they come from.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{CallId, RunId};
use crate::surroundings::Surroundings;
use crate::view_request::ViewRequest;

/// Where a call comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A model, through the agent loop.
    Model,
    /// A script that calls tools.
    Chain,
    /// An MCP client.
    Mcp,
    /// The REST API.
    Rest,
    /// The command line.
    Cli,
    /// The scheduler or a heartbeat.
    Schedule,
    /// A paired device.
    Device,
}

/// Owner and surroundings of a call, part of every call and every stored row. An empty text means
/// the default.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Context {
    /// Owner of everything the call touches.
    pub owner: String,
    /// Agent that makes the call.
    pub agent: String,
    /// Conversation of the call.
    pub conversation: String,
    /// Workspace folder.
    pub workspace: String,
    /// Channel: `chat`, `message`, `external-agent` or `background`.
    pub channel: String,
    /// Device that made the call, if any.
    pub device: String,
    /// Topic of the conversation in a few words; for history and audit.
    pub topic: String,
    /// Information from the surface about the person who asks.
    #[serde(skip_serializing_if = "Surroundings::is_empty")]
    pub surroundings: Surroundings,
    /// Number of goals and tasks in the chain that started this run; 0 if a person started it. The
    /// value is known before the run begins, so that the first call of the run has it too.
    #[serde(skip_serializing_if = "is_zero")]
    pub depth: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(depth: &u32) -> bool {
    *depth == 0
}

/// The channel of runs that answer messages of a chat service, such as Telegram.
pub const MESSAGE_CHANNEL: &str = "message";

/// The channels that rules and permissions know.
pub const CHANNELS: [&str; 4] = ["chat", MESSAGE_CHANNEL, "background", "external-agent"];

/// Returns the channel of a call: the one in its context, or else the one of its origin. A chain
/// without a channel counts as its model's.
#[must_use]
pub fn effective_channel(context: &Context, origin: Origin) -> &str {
    if !context.channel.is_empty() {
        return &context.channel;
    }
    match origin {
        Origin::Model | Origin::Chain | Origin::Cli => "chat",
        Origin::Mcp | Origin::Rest => "external-agent",
        Origin::Schedule | Origin::Device => "background",
    }
}

/// Arguments as received.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RawArgs {
    /// JSON text, as OpenAI-compatible providers send it.
    Text(String),
    /// A JSON value, as Anthropic and Gemini send it.
    Value(Value),
    /// The provider's response ended inside the arguments: the call is recorded and never run. The
    /// text is the reason.
    Broken(String),
    /// Stored arguments that contain a secret: the JSON form of one of the other variants, sealed
    /// by a [`Sealer`](crate::seal::Sealer). No provider sends this variant.
    Sealed(String),
}

impl From<Value> for RawArgs {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

/// One request to run one tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Toolcrib's id. The provider client keeps the provider's own id.
    pub id: CallId,
    /// Name as the caller wrote it.
    pub name: String,
    /// The arguments.
    pub args: RawArgs,
}

impl Call {
    /// Creates a call with a fresh id.
    pub fn new(name: impl Into<String>, args: impl Into<RawArgs>) -> Self {
        Self { id: CallId::fresh(), name: name.into(), args: args.into() }
    }

    /// Creates a call with argument text and a fresh id.
    pub fn with_text(name: impl Into<String>, args: impl Into<String>) -> Self {
        Self { id: CallId::fresh(), name: name.into(), args: RawArgs::Text(args.into()) }
    }
}

/// The parent of a child call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ParentCall {
    /// The parent alone in its batch, with its final arguments.
    pub parent: Arc<Batch>,
    /// How long the child's tool may run.
    pub limit: Duration,
    /// Number of the child, from 1.
    pub number: u32,
    /// Maximum number of children.
    pub most: u32,
}

/// Calls that were requested together. They run concurrently; answers are returned in this order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Batch {
    /// Run that is charged and whose repeats are checked; `None` outside a run.
    pub run: Option<RunId>,
    /// Where the calls come from.
    pub origin: Origin,
    /// Owner, agent and the rest of the caller's context.
    pub context: Arc<Context>,
    /// The tools that the caller sees.
    pub view: Arc<ViewRequest>,
    /// The calls.
    pub calls: Vec<Call>,
    /// Whether these calls may be a repetition, after a crash or a retry by the caller. The engine
    /// then looks up the records first, and runs only calls that never ran or that change nothing.
    #[serde(default)]
    #[serde(rename = "again")]
    pub is_replay: bool,
    /// Identity of the tool environment that a stored batch was asked in: workspace, policy and
    /// tools, as named by the program that embeds the engine. Only a process with the same identity
    /// runs the batch. Empty if the batch is not stored or was stored by an earlier version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub environment: String,
    /// The running call that makes these calls. Resuming one of them resumes that call afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "within")]
    pub parent_call: Option<Box<ParentCall>>,
}

impl Batch {
    /// Creates a batch of calls outside a run, with an empty context and a view of every enabled
    /// tool.
    #[must_use]
    pub fn new(origin: Origin, calls: Vec<Call>) -> Self {
        Self {
            run: None,
            origin,
            context: Arc::default(),
            view: Arc::default(),
            calls,
            is_replay: false,
            environment: String::new(),
            parent_call: None,
        }
    }
}
