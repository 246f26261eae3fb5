//! `rich_render`: shows blocks to the person.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{Block, CallCtx, Effect, Tool, ToolError, ToolOutput, ToolSpec};

use super::assistant_tools::AssistantTools;
use super::definition::{CARDS, base_spec, examples};
use crate::card::{REFERENCE, decode};

/// Maximum repair notes for the model.
const NOTES: usize = 10;

/// Handler of `rich_render`.
pub(super) struct RichRender(pub(super) AssistantTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// The blocks, each an object with a type: metric, card, chart, progress, timeline, alert,
    /// badge, keyvalue, columns, section, table, text, buttons, form. Omit to get their reference.
    #[schemars(with = "Option<Vec<serde_json::Map<String, Value>>>")]
    blocks: Option<Vec<Value>>,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "rich_render",
        "Show a card",
        "Show the person figures, charts, tables, timelines, buttons or a form instead of plain text. Call it without blocks for the reference of blocks.",
        CARDS,
    );
    spec.effect = Effect::Idempotent;
    spec.examples = examples([
        (
            "Show me this month's sales",
            json!({"blocks": [{"type": "metric", "label": "Sales", "value": "12,400", "unit": "€", "trend": "up"}]}),
        ),
        ("Which blocks are there?", json!({})),
    ]);
    spec.needs = ["draw a chart", "show a table", "dashboard", "ask with buttons or a form"]
        .map(str::to_owned)
        .to_vec();
    spec
}

impl Tool for RichRender {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let Some(blocks) = args.blocks else { return Ok(ToolOutput::text(REFERENCE)) };
        let card = decode(blocks)?;
        let mut data = json!({ "blocks": card.blocks });
        // A button of such a card contains untrusted text where the person clicks.
        if let Some(source) = self.0.untrusted(ctx) {
            data["untrusted"] = json!(source);
        }
        let mut text = format!("Shown to the person: {} blocks.", card.blocks.len());
        for note in card.notes.iter().take(NOTES) {
            text += &format!("\n- {note}");
        }
        let output =
            ToolOutput::from_blocks(vec![Block::text(text), Block::Card { card: data.clone() }]);
        Ok(output.with_structured(data))
    }
}
