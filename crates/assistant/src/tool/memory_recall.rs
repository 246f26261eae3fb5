//! `memory_recall`: finds memories by words and meaning.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{CallCtx, Effect, Tool, ToolError, ToolOutput, ToolSpec, Trust};

use super::assistant_tools::AssistantTools;
use super::definition::{MEMORY, base_spec, examples};
use crate::memory::Recalled;

/// Default and maximum number of results.
const LIMIT: usize = 5;
const MOST: usize = 20;

/// Handler of `memory_recall`.
pub(super) struct MemoryRecall(pub(super) AssistantTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// What you want to know, in plain words, or a key.
    query: String,
    /// Maximum number of memories. Default: 5.
    #[schemars(range(min = 1, max = 20))]
    limit: Option<usize>,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "memory_recall",
        "Recall memories",
        "Find stored memories by words and meaning. Use it when your list of memories ends with \"and N more\", or when you may have known something before.",
        MEMORY,
    );
    spec.effect = Effect::Read;
    spec.reach.private_read = true;
    spec.examples =
        examples([("What do I usually order?", json!({ "query": "favorite food order" }))]);
    spec.needs = ["look up what was remembered before"].map(str::to_owned).to_vec();
    spec
}

impl Tool for MemoryRecall {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        if args.query.trim().is_empty() {
            return Err(ToolError::validation(
                "The query is empty. Say in query what you want to know, in a few words.",
            ));
        }
        let limit = args.limit.unwrap_or(LIMIT).clamp(1, MOST);
        let found = self.0.memories.recall(&ctx.context.owner, &args.query, limit).await?;
        if found.is_empty() {
            return Ok(ToolOutput::text("No memory fits. Nothing about this was stored."));
        }
        let output = ToolOutput::structured(json!({ "memories": rows(&found) }));
        let outside = found.iter().find_map(|found| found.memory.untrusted.clone());
        Ok(match outside {
            Some(source) => output.with_origin(Trust::External, source),
            None => output,
        })
    }
}

fn rows(found: &[Recalled]) -> Vec<Value> {
    let row = |found: &Recalled| {
        let memory = &found.memory;
        let mut row = json!({
            "key": memory.key, "content": memory.content, "category": memory.category,
            "hit_count": memory.hit_count,
        });
        if let Some(source) = &memory.untrusted {
            row["untrusted"] = json!(source);
        }
        row
    };
    found.iter().map(row).collect()
}
