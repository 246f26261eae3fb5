//! The interface between the server and the host program: the pipeline, and the identity of
//! clients.

use std::any::Any;
use std::sync::Arc;

use toolcrib_core::invoker::DecideError;
use toolcrib_core::{
    Answer, ApprovalId, BatchSubscriber, BoxFuture, Call, DecisionRecord, Entry, ToolError, View,
};

use super::resources_and_prompts::ResourcesAndPrompts;

/// The client of a request.
#[derive(Clone)]
pub struct ClientIdentity {
    /// Its name in records.
    pub name: String,
    /// Unique id of the client; only the same client may continue its requests.
    pub client: String,
    /// The owner whose data it sees; empty is the default owner.
    pub owner: String,
    /// Additional data of the backend.
    pub extensions: Arc<dyn Any + Send + Sync>,
}

/// The tools that are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolListMode {
    /// All tools of the view.
    #[default]
    Direct,
    /// Only [`LEAN_TOOLS`]: clients find other tools by search, and call them by name.
    Lean,
}

/// The listed tools of [`ToolListMode::Lean`], as far as they exist.
pub const LEAN_TOOLS: [&str; 4] = ["find_tools", "call_tool", "tool_chain", "run_chain"];

/// Services of the host program for the server: the pipeline, and the resources and prompts.
pub trait McpBackend: Send + Sync + 'static {
    /// Identifies the client; over HTTP from the data of the daemon's middleware.
    ///
    /// # Errors
    /// Why such clients are not accepted.
    fn identify(&self, request: Option<&::http::Extensions>) -> Result<ClientIdentity, String>;

    /// Returns the tools that this client sees.
    fn view(&self, who: &ClientIdentity) -> Arc<View>;

    /// Returns the tool of this name, for its argument schema.
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

    /// Returns whether the person at this client may decide about its calls. If not, they are not
    /// asked.
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

    /// Returns whether undecided calls may wait in an inbox.
    fn has_inbox(&self) -> bool;

    /// Returns a number that changes with the tools.
    fn generation(&self) -> u64;

    /// Returns the resources and prompts.
    fn resources_and_prompts(&self) -> &dyn ResourcesAndPrompts;
}
