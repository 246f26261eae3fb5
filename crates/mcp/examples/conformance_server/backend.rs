//! MCP backend over an engine.

use std::sync::Arc;

use toolcrib_core::invoker::DecideError;
use toolcrib_core::{
    Answer, ApprovalId, Batch, BatchSubscriber, BoxFuture, Call, DecisionRecord, Entry,
    Invoker as _, Origin, ToolError, View, ViewRequest,
};
use toolcrib_engine::Engine;
use toolcrib_mcp::server::{ClientIdentity, McpBackend, ResourcesAndPrompts};

use crate::resources_and_prompts::Fixtures;

pub(crate) struct EngineBackend {
    engine: Engine,
    view: Arc<ViewRequest>,
    shelf: Fixtures,
}

impl EngineBackend {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine, view: Arc::default(), shelf: Fixtures }
    }
}

impl McpBackend for EngineBackend {
    fn identify(&self, _: Option<&http::Extensions>) -> Result<ClientIdentity, String> {
        let (name, client) = ("suite".to_owned(), "suite".to_owned());
        Ok(ClientIdentity { name, client, owner: String::new(), extensions: Arc::new(()) })
    }

    fn view(&self, _: &ClientIdentity) -> Arc<View> {
        self.engine.catalog().view(&self.view)
    }

    fn tool(&self, name: &str) -> Option<Entry> {
        self.engine.catalog().view(&self.view).find(name).cloned()
    }

    fn call<'a>(
        &'a self,
        _: &'a ClientIdentity,
        call: Call,
        watch: Option<Arc<dyn BatchSubscriber>>,
    ) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async move {
            let batch = Batch::new(Origin::Mcp, vec![call]);
            let mut answers = match watch {
                Some(watch) => self.engine.invoke_with_subscriber(batch, watch).await,
                None => self.engine.invoke(batch).await,
            };
            answers.pop().ok_or_else(|| ToolError::execution("The engine gave no answer."))
        })
    }

    fn may_decide(&self, _: &ClientIdentity) -> bool {
        true
    }

    fn decide(
        &self,
        approval: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Option<Answer>, DecideError>> {
        self.engine.decide(approval, decision)
    }

    fn has_inbox(&self) -> bool {
        false
    }

    fn generation(&self) -> u64 {
        self.engine.catalog().generation()
    }

    fn resources_and_prompts(&self) -> &dyn ResourcesAndPrompts {
        &self.shelf
    }
}
