//! Draws cards (`rich_render`) in rows of Unicode, without colour: every meaning has a sign or a
//! word.
//!
//! - `layout`: boxes, columns and wrapped text.
//! - `chart`: bars, lines and parts of a whole. `table`: columns that share the width.
//! - `blocks`: one function per type of block.

mod blocks;
mod chart;
mod layout;
mod table;
#[cfg(test)]
mod tests;

use serde_json::Value;
use toolcrib_app::assistant::card::CardBlock;

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
        let source = super::escape_to_line(source);
        rows.push(super::truncate_to_width(&format!("(from outside: {source})"), width));
    }
    Some(rows)
}
