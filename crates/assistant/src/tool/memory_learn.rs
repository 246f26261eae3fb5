//! `memory_learn`: stores a learning, an error with its solution, or a preference.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{CallCtx, Effect, MemoryCategory, Tool, ToolError, ToolOutput, ToolSpec};

use super::assistant_tools::{AssistantTools, author};
use super::definition::{MEMORY, base_spec, examples};
use crate::memory::{MemoryError, NewMemory};

/// Handler of `memory_learn`.
pub(super) struct MemoryLearn(pub(super) AssistantTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// A short descriptive key.
    key: String,
    /// What was learned.
    content: String,
    /// LEARNING: what worked. ERROR: what failed, and how it was solved. PREFERENCE: what the user
    /// prefers.
    category: String,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "memory_learn",
        "Store a learning",
        "Store a structured learning with a category: LEARNING, ERROR or PREFERENCE.",
        MEMORY,
    );
    spec.effect = Effect::Idempotent;
    spec.examples = examples([
        (
            "I like short answers",
            json!({"key": "answer_length", "content": "The user prefers short answers.", "category": "PREFERENCE"}),
        ),
        (
            "Note how we fixed the build",
            json!({"key": "build_linker_error", "content": "The linker error was solved by installing lld.", "category": "ERROR"}),
        ),
    ]);
    spec
}

impl Tool for MemoryLearn {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let category: MemoryCategory = args.category.parse().map_err(|_| {
            ToolError::validation("The category is not known. Use LEARNING, ERROR or PREFERENCE.")
        })?;
        if category == MemoryCategory::General {
            return Err(MemoryError::General.into());
        }
        let new = NewMemory {
            owner: &ctx.context.owner,
            key: args.key.trim(),
            content: args.content.trim(),
            category: Some(category),
            author: author(ctx),
            untrusted: self.0.untrusted(ctx),
        };
        let (before, after) = self.0.memories.store(new).await?;
        let what = if before.is_some() { "updated" } else { "stored" };
        Ok(ToolOutput::structured(
            json!({ "key": after.key, "category": after.category, "memory": what }),
        ))
    }
}
