//! The engine as the door of a server.

use std::sync::Arc;

use toolcrib_core::invoke::DecideError;
use toolcrib_core::{
    Answer, ApprovalId, Batch, BoxFuture, Call, DecisionRecord, Entry, Invoker as _, Origin,
    ToolError, View, ViewRequest, Watch,
};
use toolcrib_engine::Engine;
use toolcrib_mcp::server::{Door, Shelf, Who};

use crate::shelf::Fixtures;

pub(crate) struct EngineDoor {
    engine: Engine,
    view: Arc<ViewRequest>,
    shelf: Fixtures,
}

impl EngineDoor {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine, view: Arc::default(), shelf: Fixtures }
    }
}

impl Door for EngineDoor {
    fn who(&self, _: Option<&http::Extensions>) -> Result<Who, String> {
        let (name, client) = ("suite".to_owned(), "suite".to_owned());
        Ok(Who { name, client, owner: String::new(), known: Arc::new(()) })
    }

    fn view(&self, _: &Who) -> Arc<View> {
        self.engine.catalog().view(&self.view)
    }

    fn tool(&self, name: &str) -> Option<Entry> {
        self.engine.catalog().view(&self.view).find(name).cloned()
    }

    fn call<'a>(
        &'a self,
        _: &'a Who,
        call: Call,
        watch: Option<Arc<dyn Watch>>,
    ) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async move {
            let batch = Batch::new(Origin::Mcp, vec![call]);
            let mut answers = match watch {
                Some(watch) => self.engine.invoke_watched(batch, watch).await,
                None => self.engine.invoke(batch).await,
            };
            answers.pop().ok_or_else(|| ToolError::execution("The door gave no answer."))
        })
    }

    fn may_decide(&self, _: &Who) -> bool {
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

    fn shelf(&self) -> &dyn Shelf {
        &self.shelf
    }
}
