//! What is asked for: a batch of calls with its context.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::catalog::ViewRequest;
use crate::id::{CallId, RunId};

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A model, through the agent loop.
    Model,
    /// A script that chains calls.
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

/// Whose call it is: in every call and every stored row. Empty text means "the only one".
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Context {
    /// Owner of everything the call touches.
    pub owner: String,
    /// Agent that calls.
    pub agent: String,
    /// Conversation that the call belongs to.
    pub conversation: String,
    /// Workspace folder.
    pub workspace: String,
    /// Channel: `chat`, `external-agent`, `background` (DESIGN 9).
    pub channel: String,
    /// Device that asked, when one did.
    pub device: String,
    /// What the conversation is about, in a few words; for history and audit.
    pub topic: String,
}

/// The channels that rules and permissions know (DESIGN 9, Channels).
pub const CHANNELS: [&str; 3] = ["chat", "background", "external-agent"];

/// The channel of a call: what its context says, else that of its origin (DESIGN 9, Channels). A chain whose context names none counts as
/// its model's.
#[must_use]
pub fn channel(context: &Context, origin: Origin) -> &str {
    if !context.channel.is_empty() {
        return &context.channel;
    }
    match origin {
        Origin::Model | Origin::Chain | Origin::Cli => "chat",
        Origin::Mcp | Origin::Rest => "external-agent",
        Origin::Schedule | Origin::Device => "background",
    }
}

/// Arguments as they arrive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RawArgs {
    /// Text, as OpenAI-like providers send it.
    Text(String),
    /// A value, as Anthropic and Gemini send it.
    Value(Value),
    /// The provider's answer broke inside them: the call is recorded and never run. The text says how.
    Broken(String),
    /// Arguments that hold a secret, as a store keeps them: the JSON form of one of the others, sealed by a
    /// [`Sealer`](crate::seal::Sealer). No provider sends these.
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
    /// Our id; the provider's own is kept by whoever talks to the provider.
    pub id: CallId,
    /// The name as the caller wrote it.
    pub name: String,
    /// The arguments.
    pub args: RawArgs,
}

impl Call {
    /// A call with a fresh id.
    pub fn new(name: impl Into<String>, args: impl Into<RawArgs>) -> Self {
        Self { id: CallId::fresh(), name: name.into(), args: args.into() }
    }

    /// A call with argument text and a fresh id.
    pub fn with_text(name: impl Into<String>, args: impl Into<String>) -> Self {
        Self { id: CallId::fresh(), name: name.into(), args: RawArgs::Text(args.into()) }
    }
}

/// The call that others are made by.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Within {
    /// It, alone in its batch, with its final arguments.
    pub parent: Arc<Batch>,
    /// How long the tool of a call that it makes may run.
    pub limit: Duration,
    /// The number of that call, from 1.
    pub number: u32,
    /// The most calls that there may be.
    pub most: u32,
}

/// Calls that were asked for together. They run side by side; answers come back in this order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Batch {
    /// Run that pays for them and whose repeats are watched; `None` = outside any run.
    pub run: Option<RunId>,
    /// Who asks.
    pub origin: Origin,
    /// Whose calls they are.
    pub context: Arc<Context>,
    /// Which tools the caller sees.
    pub view: Arc<ViewRequest>,
    /// The calls.
    pub calls: Vec<Call>,
    /// Whether these calls may have been sent before, by a process that has died or a caller that asks again: then what is recorded of
    /// each is looked up first, and only what never ran, or changes nothing, runs.
    #[serde(default)]
    pub again: bool,
    /// The running call that makes these; whoever goes on with one of them goes on with that call afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Box<Within>>,
}

impl Batch {
    /// Calls outside a run, in an empty context, with every enabled tool in view.
    #[must_use]
    pub fn new(origin: Origin, calls: Vec<Call>) -> Self {
        Self {
            run: None,
            origin,
            context: Arc::default(),
            view: Arc::default(),
            calls,
            again: false,
            within: None,
        }
    }
}
