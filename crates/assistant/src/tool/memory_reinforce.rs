//! `memory_reinforce`: confirms a memory.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{CallCtx, Tool, ToolError, ToolOutput, ToolSpec};

use super::assistant_tools::{AssistantTools, author};
use super::definition::{MEMORY, base_spec, examples};

/// Handler of `memory_reinforce`.
pub(super) struct MemoryReinforce(pub(super) AssistantTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// The exact key of the memory.
    key: String,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "memory_reinforce",
        "Confirm a memory",
        "Reinforce a stored memory by incrementing its hit count, when it proved right or useful.",
        MEMORY,
    );
    spec.examples = examples([("That tip worked again", json!({ "key": "build_linker_error" }))]);
    spec
}

impl Tool for MemoryReinforce {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let key = args.key.trim();
        let after = self.0.memories.reinforce(&ctx.context.owner, key, &author(ctx)).await?;
        Ok(ToolOutput::structured(json!({ "key": after.key, "hit_count": after.hit_count })))
    }
}
