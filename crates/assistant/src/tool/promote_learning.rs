//! `promote_learning`: moves a memory into the person's own part of the system prompt.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{Assessment, CallCtx, Risk, Tool, ToolError, ToolOutput, ToolSpec};

use super::assistant_tools::{AssistantTools, author};
use super::definition::{SCHEDULING, base_spec, examples};
use crate::custom_instructions::promote;
use crate::rows::Writer;

/// Handler of `promote_learning`.
pub(super) struct PromoteLearning(pub(super) AssistantTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// The key of the memory.
    key: String,
    /// The text to append to the system prompt, as an instruction that is understood on its own.
    instruction: String,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "promote_learning",
        "Promote a learning",
        "Move a memory that was confirmed many times into the system prompt for good. The memory is removed.",
        SCHEDULING,
    );
    // It changes every later run, so a person decides; in the background the call waits in the
    // inbox.
    spec.risk = Risk::High;
    // The second name is a former one, which conversations may still have.
    let aliases = [("memory_key", "key"), ("soul_addition", "instruction")];
    spec.parameter_aliases =
        aliases.map(|(alias, name)| (alias.to_owned(), name.to_owned())).to_vec();
    spec.examples = examples([(
        "Always answer in short sentences from now on",
        json!({"key": "answer_length", "instruction": "Answer in short sentences."}),
    )]);
    spec
}

impl Tool for PromoteLearning {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let summary = format!("add to the system prompt: {}", args.instruction);
        Ok(Assessment::from_spec(spec).with_summary(summary))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        if let Some(source) = self.0.untrusted(ctx) {
            return Err(ToolError::validation(format!(
                "This run has read text from outside ({source}), so nothing was added to the system prompt. Suggest it to the user in a conversation of their own."
            )));
        }
        let (owner, key) = (&ctx.context.owner, args.key.trim());
        let writer = Writer { owner: owner.clone(), author: author(ctx), untrusted: None };
        let stores = (&self.0.memories, &self.0.custom_instructions);
        let promoted = promote(stores, &writer, key, &args.instruction).await?;
        Ok(ToolOutput::structured(json!({
            "promoted_key": promoted.key, "hit_count": promoted.hit_count,
            "note": "It is in the system prompt from the next run on. `toolcrib memory undo` takes it back, and `toolcrib prompt instructions` shows the text.",
        })))
    }
}
