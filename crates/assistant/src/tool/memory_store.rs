//! `memory_store`: stores a fact.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{CallCtx, Effect, Tool, ToolError, ToolOutput, ToolSpec};

use super::assistant_tools::{AssistantTools, author};
use super::definition::{MEMORY, base_spec, examples};
use crate::memory::NewMemory;

/// Handler of `memory_store`.
pub(super) struct MemoryStore(pub(super) AssistantTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// A short descriptive key, such as favorite_color. An existing key is updated.
    key: String,
    /// What to remember.
    content: String,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "memory_store",
        "Store a memory",
        "Store or update a memory with a descriptive key, so that later conversations know it.",
        MEMORY,
    );
    spec.effect = Effect::Idempotent;
    spec.examples = examples([(
        "Remember that my sister is called Mia",
        json!({"key": "sister_name", "content": "The user's sister is called Mia."}),
    )]);
    spec.needs = ["remember a fact about the user", "note something for later conversations"]
        .map(str::to_owned)
        .to_vec();
    spec
}

impl Tool for MemoryStore {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let new = NewMemory {
            owner: &ctx.context.owner,
            key: args.key.trim(),
            content: args.content.trim(),
            category: None,
            author: author(ctx),
            untrusted: self.0.untrusted(ctx),
        };
        let (before, after) = self.0.memories.store(new).await?;
        let what = if before.is_some() { "updated" } else { "stored" };
        Ok(ToolOutput::structured(json!({ "key": after.key, "memory": what })))
    }
}
