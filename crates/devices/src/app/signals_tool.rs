//! `app_signals`: the contents of the strongest signals. The prompt only names their types, because
//! contents are text from outside; the result of this tool is labeled as such.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::{
    BoxFuture, CallCtx, Effect, Handler, Reach, Risk, ToolError, ToolName, ToolOutput, ToolSpec,
    Trust, remote_name,
};

use super::apps::Apps;

/// Name of the tool.
pub const SIGNALS_TOOL: &str = "app_signals";
/// Id of its source.
pub(super) const SIGNALS_SOURCE: &str = "apps";

/// The tool.
pub(super) struct SignalsTool {
    spec: Arc<ToolSpec>,
    apps: Apps,
}

impl SignalsTool {
    pub(super) fn new(apps: Apps) -> Self {
        let name = ToolName::local(SIGNALS_TOOL)
            .unwrap_or_else(|_| remote_name(SIGNALS_SOURCE, SIGNALS_TOOL));
        let about = "Read what paired apps have reported lately: the strongest signals, with their contents.";
        let mut spec = ToolSpec::new(name, about, json!({"type": "object", "properties": {}}));
        spec.risk = Risk::Safe;
        spec.effect = Effect::Read;
        spec.trust = Trust::External;
        spec.reach = Reach { private_read: true, ..Reach::default() };
        spec.polling = true;
        Self { spec: Arc::new(spec), apps }
    }
}

impl Handler for SignalsTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        _: &'a CallCtx,
        _: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let now = self.apps.now();
        let rows: Vec<Value> = self
            .apps
            .strongest_signals()
            .into_iter()
            .map(|signal| {
                json!({
                    "app": signal.app,
                    "type": signal.kind,
                    "topic": signal.topic,
                    "content": signal.content,
                    "minutes_ago": now.saturating_sub(signal.at) / 60_000,
                })
            })
            .collect();
        let output = ToolOutput::structured(json!({"signals": rows}));
        Box::pin(std::future::ready(Ok(output.with_origin(Trust::External, "paired apps"))))
    }
}
