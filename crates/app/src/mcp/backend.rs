//! MCP backend: exposes a Toolcrib through an MCP server to the one user who started it.

use std::sync::Arc;

use toolcrib_core::invoker::DecideError;
use toolcrib_core::{
    Answer, ApprovalId, Batch, BatchSubscriber, BoxFuture, Call, Context, DecisionRecord, Entry,
    Invoker as _, Origin, ToolError, View, ViewRequest,
};
use toolcrib_mcp::server::{ClientIdentity, McpBackend, ResourcesAndPrompts};

use super::resources_and_prompts::ToolcribResources;
use crate::toolcrib::Toolcrib;

/// A Toolcrib as backend. Its calls use the channel `external-agent`.
pub struct ToolcribBackend {
    toolcrib: Toolcrib,
    view: Arc<ViewRequest>,
    /// Context of every call.
    context: Arc<Context>,
    resources: ToolcribResources,
}

/// Name of the only client in records.
const CLIENT: &str = "mcp client";

impl ToolcribBackend {
    /// Creates the backend of this Toolcrib, with the tools of this view.
    #[must_use]
    pub fn new(toolcrib: Toolcrib, view: ViewRequest) -> Self {
        let resources = ToolcribResources::new(toolcrib.clone());
        let placed = toolcrib.manual_batch(Vec::new(), Origin::Mcp).context;
        let context = Arc::new(Context { device: CLIENT.to_owned(), ..Context::clone(&placed) });
        Self { toolcrib, view: Arc::new(view), context, resources }
    }
}

impl McpBackend for ToolcribBackend {
    fn identify(&self, _: Option<&http::Extensions>) -> Result<ClientIdentity, String> {
        let (name, client) = (CLIENT.to_owned(), CLIENT.to_owned());
        Ok(ClientIdentity { name, client, owner: String::new(), extensions: Arc::new(()) })
    }

    fn view(&self, _: &ClientIdentity) -> Arc<View> {
        self.toolcrib.catalog().view(&self.view)
    }

    fn tool(&self, name: &str) -> Option<Entry> {
        self.toolcrib.catalog().view(&self.view).find(name).cloned()
    }

    fn call<'a>(
        &'a self,
        _: &'a ClientIdentity,
        call: Call,
        watch: Option<Arc<dyn BatchSubscriber>>,
    ) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async move {
            let (context, view) = (Arc::clone(&self.context), Arc::clone(&self.view));
            let batch = Batch { context, view, ..Batch::new(Origin::Mcp, vec![call]) };
            let engine = self.toolcrib.engine();
            let mut answers = match watch {
                Some(watch) => engine.invoke_with_subscriber(batch, watch).await,
                None => engine.invoke(batch).await,
            };
            answers.pop().ok_or_else(|| ToolError::execution("The call has no answer."))
        })
    }

    /// Returns `true`: the user who started this process owns its data and may decide.
    fn may_decide(&self, _: &ClientIdentity) -> bool {
        true
    }

    fn decide(
        &self,
        approval: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Option<Answer>, DecideError>> {
        self.toolcrib.engine().decide(approval, decision)
    }

    fn has_inbox(&self) -> bool {
        self.toolcrib.engine().settings().inbox
    }

    fn generation(&self) -> u64 {
        self.toolcrib.catalog().generation()
    }

    fn resources_and_prompts(&self) -> &dyn ResourcesAndPrompts {
        &self.resources
    }
}
