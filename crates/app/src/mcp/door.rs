//! A Toolcrib as the door of an MCP server, for the one person whose program it is.

use std::sync::Arc;

use toolcrib_core::invoke::DecideError;
use toolcrib_core::{
    Answer, ApprovalId, Batch, BoxFuture, Call, Context, DecisionRecord, Entry, Invoker as _,
    Origin, ToolError, View, ViewRequest, Watch,
};
use toolcrib_mcp::server::{Door, Shelf, Who};

use super::shelf::Shelves;
use crate::toolcrib::Toolcrib;

/// A Toolcrib as a door. Its calls are in the channel `external-agent`.
pub struct ToolcribDoor {
    toolcrib: Toolcrib,
    view: Arc<ViewRequest>,
    /// Whose every call is.
    context: Arc<Context>,
    shelves: Shelves,
}

/// What its one client is called in records.
const CLIENT: &str = "mcp client";

impl ToolcribDoor {
    /// The door of this Toolcrib, with the tools of this view.
    #[must_use]
    pub fn new(toolcrib: Toolcrib, view: ViewRequest) -> Self {
        let shelves = Shelves::new(toolcrib.clone());
        let placed = toolcrib.batch_of(Vec::new(), Origin::Mcp).context;
        let context = Arc::new(Context { device: CLIENT.to_owned(), ..Context::clone(&placed) });
        Self { toolcrib, view: Arc::new(view), context, shelves }
    }
}

impl Door for ToolcribDoor {
    fn who(&self, _: Option<&http::Extensions>) -> Result<Who, String> {
        let (name, client) = (CLIENT.to_owned(), CLIENT.to_owned());
        Ok(Who { name, client, owner: String::new(), known: Arc::new(()) })
    }

    fn view(&self, _: &Who) -> Arc<View> {
        self.toolcrib.catalog().view(&self.view)
    }

    fn tool(&self, name: &str) -> Option<Entry> {
        self.toolcrib.catalog().view(&self.view).find(name).cloned()
    }

    fn call<'a>(
        &'a self,
        _: &'a Who,
        call: Call,
        watch: Option<Arc<dyn Watch>>,
    ) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async move {
            let (context, view) = (Arc::clone(&self.context), Arc::clone(&self.view));
            let batch = Batch { context, view, ..Batch::new(Origin::Mcp, vec![call]) };
            let engine = self.toolcrib.engine();
            let mut answers = match watch {
                Some(watch) => engine.invoke_watched(batch, watch).await,
                None => engine.invoke(batch).await,
            };
            answers.pop().ok_or_else(|| ToolError::execution("The call has no answer."))
        })
    }

    /// Whoever started this process is the owner of what it works on.
    fn may_decide(&self, _: &Who) -> bool {
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

    fn shelf(&self) -> &dyn Shelf {
        &self.shelves
    }
}
