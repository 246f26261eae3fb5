//! Draws a card as rows of text.

use serde_json::Value;
use toolcrib_assistant::card::CardBlock;

use super::super::{escape_to_line, truncate_to_width};
use super::blocks;

/// Minimum width of a card; a narrower one is unreadable.
const NARROWEST: usize = 24;
/// Maximum width of a card; longer lines are hard to read.
const WIDEST: usize = 100;

/// Draws a card, at most `width` columns wide; returns `None` if the value is not a card.
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
