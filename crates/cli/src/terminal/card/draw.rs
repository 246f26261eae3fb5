//! A card as rows.

use serde_json::Value;
use toolcrib_assistant::card::CardBlock;

use super::super::{escape_to_line, truncate_to_width};
use super::blocks;

/// Narrowest card: below it nothing can be read.
const NARROWEST: usize = 24;
/// Widest card; longer lines are hard to read.
const WIDEST: usize = 100;

/// The rows of a card, at most `width` columns wide; `None` if it is no card.
pub(crate) fn draw(card: &Value, width: usize) -> Option<Vec<String>> {
    let blocks: Vec<CardBlock> = serde_json::from_value(card.get("blocks")?.clone()).ok()?;
    let width = width.clamp(NARROWEST, WIDEST);
    let mut rows = blocks::draw_all(&blocks, width);
    if let Some(source) = card.get("untrusted").and_then(Value::as_str) {
        let source = escape_to_line(source);
        rows.push(truncate_to_width(&format!("(from outside: {source})"), width));
    }
    Some(rows)
}
