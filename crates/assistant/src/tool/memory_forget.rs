//! `memory_forget`: deletes a memory.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{CallCtx, Effect, Tool, ToolError, ToolOutput, ToolSpec};

use super::assistant_tools::{AssistantTools, author};
use super::definition::{MEMORY, base_spec, examples};

/// Handler of `memory_forget`.
pub(super) struct MemoryForget(pub(super) AssistantTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// The exact key of the memory.
    key: String,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "memory_forget",
        "Forget a memory",
        "Delete a stored memory by its exact key.",
        MEMORY,
    );
    // The person can undo it, so it needs no approval; in a run that has read untrusted text it
    // needs approval like every deletion.
    spec.effect = Effect::Destructive;
    spec.examples = examples([("Forget where I live", json!({ "key": "home_address" }))]);
    spec
}

impl Tool for MemoryForget {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let key = args.key.trim();
        self.0.memories.forget(&ctx.context.owner, key, &author(ctx)).await?;
        Ok(ToolOutput::structured(json!({ "key": key, "memory": "forgotten" })))
    }
}
