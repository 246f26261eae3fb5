//! MCP server: a client sees a view, and each of its calls goes through the pipeline.

mod approval;
mod call_result;
mod http_endpoint;
mod http_fast_path;
mod http_sessions;
mod mcp_server;
mod request_state;
mod skills;
mod tasks;
mod tool_list;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use http_endpoint::{HttpSettings, Service, service};
pub use mcp_server::McpServer;
use toolcrib_core::invoker::DecideError;
use toolcrib_core::{
    Answer, ApprovalId, BatchSubscriber, Block, BoxFuture, Call, DecisionRecord, Entry, ToolError,
    ToolSpec, View,
};

use crate::client_channel::ClientChannel;
pub use crate::resource_contents::{Contents, PAGE_TYPE, ResourceBody};
pub use skills::SkillFile;

/// The client of a request.
#[derive(Clone)]
pub struct ClientIdentity {
    /// Its name in records.
    pub name: String,
    /// Unique id of the client; only the same client may continue what it has begun.
    pub client: String,
    /// The owner whose data it sees; empty is the default owner.
    pub owner: String,
    /// Additional data of the backend.
    pub extensions: Arc<dyn Any + Send + Sync>,
}

/// Which tools are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolListMode {
    /// All tools of the view.
    #[default]
    Direct,
    /// Only [`LEAN_TOOLS`]: other tools are found by search, and called by name.
    Lean,
}

/// The tools in [`ToolListMode::Lean`], as far as they exist.
pub const LEAN_TOOLS: [&str; 4] = ["find_tools", "call_tool", "tool_chain", "run_chain"];

/// What the server needs from the host program: the pipeline, and the resources beside it.
pub trait McpBackend: Send + Sync + 'static {
    /// Identifies the client; over HTTP from what the daemon's middleware found out.
    ///
    /// # Errors
    /// Why such clients are not accepted.
    fn identify(&self, request: Option<&::http::Extensions>) -> Result<ClientIdentity, String>;

    /// The tools that this client sees.
    fn view(&self, who: &ClientIdentity) -> Arc<View>;

    /// The tool of this name, for its argument schema.
    fn tool(&self, name: &str) -> Option<Entry>;

    /// Runs one call through the pipeline.
    ///
    /// # Errors
    /// Why it was not accepted; then nothing has run.
    fn call<'a>(
        &'a self,
        who: &'a ClientIdentity,
        call: Call,
        watch: Option<Arc<dyn BatchSubscriber>>,
    ) -> BoxFuture<'a, Result<Answer, ToolError>>;

    /// Whether the person at this client may decide about its calls. If not, they are not asked.
    fn may_decide(&self, who: &ClientIdentity) -> bool;

    /// Decides about a waiting call, and continues it.
    ///
    /// # Errors
    /// [`DecideError`].
    fn decide(
        &self,
        approval: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Option<Answer>, DecideError>>;

    /// Whether undecided calls may wait in an inbox.
    fn has_inbox(&self) -> bool;

    /// A number that changes with the tools.
    fn generation(&self) -> u64;

    /// Resources and prompts.
    fn resources_and_prompts(&self) -> &dyn ResourcesAndPrompts;
}

/// A prompt: a skill or a kit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prompt {
    /// Its name.
    pub name: String,
    /// Title for people.
    pub title: Option<String>,
    /// Its purpose.
    pub description: String,
    /// Its arguments: name, description, whether it is required.
    pub arguments: Vec<(String, String, bool)>,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Whether its role is the assistant; otherwise the user.
    pub by_model: bool,
    /// Its content.
    pub content: Block,
}

/// A resource.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resource {
    /// Its URI, or a URI template with `{names}`.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Its media type.
    pub media_type: Option<String>,
    /// Its size in bytes.
    pub size: Option<u64>,
}

/// A skill for clients (`io.modelcontextprotocol/skills`, SEP-2640).
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    /// Its front matter, including `name` and `description`.
    pub front_matter: serde_json::Map<String, serde_json::Value>,
    /// Its files, `SKILL.md` first. Each is also a resource.
    pub files: Vec<SkillFile>,
}

/// Why something was not found, in words for the client.
pub type Refusal = String;

/// Resources and prompts. The defaults are empty.
pub trait ResourcesAndPrompts: Send + Sync {
    /// The prompts.
    fn prompts<'a>(&'a self, who: &'a ClientIdentity) -> BoxFuture<'a, Vec<Prompt>> {
        let _ = who;
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Renders a prompt. `caller` can be asked for more.
    ///
    /// # Errors
    /// [`Refusal`].
    fn prompt<'a>(
        &'a self,
        who: &'a ClientIdentity,
        caller: &'a ClientChannel,
        name: &'a str,
        arguments: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<Vec<Message>, Refusal>> {
        let _ = (who, caller, arguments);
        Box::pin(std::future::ready(Err(format!("there is no prompt {name}"))))
    }

    /// The skills, or only the one whose `SKILL.md` has this URI.
    fn skills<'a>(
        &'a self,
        who: &'a ClientIdentity,
        only: Option<&'a str>,
    ) -> BoxFuture<'a, Vec<Skill>> {
        let _ = (who, only);
        Box::pin(std::future::ready(Vec::new()))
    }

    /// The resources. `view` is the caller's view of tools.
    fn resources<'a>(
        &'a self,
        who: &'a ClientIdentity,
        view: &'a View,
    ) -> BoxFuture<'a, Vec<Resource>> {
        let _ = (who, view);
        Box::pin(std::future::ready(Vec::new()))
    }

    /// The page of our own that shows results of this tool, for clients that show pages (MCP Apps).
    fn page_of(&self, tool: &ToolSpec) -> Option<&str> {
        let _ = tool;
        None
    }

    /// The resource templates.
    fn templates(&self) -> Vec<Resource> {
        Vec::new()
    }

    /// Reads a resource; `None` if it does not exist for this caller.
    ///
    /// # Errors
    /// [`Refusal`] if it exists but cannot be read.
    fn read<'a>(
        &'a self,
        who: &'a ClientIdentity,
        view: &'a View,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Option<Contents>, Refusal>> {
        let _ = (who, view, uri);
        Box::pin(std::future::ready(Ok(None)))
    }
}
