//! Draws cards (`rich_render`) in rows of Unicode, without color: every meaning has a symbol or a
//! word.
//!
//! - `layout`: boxes, columns and wrapped text.
//! - `chart`: bars, lines and parts of a whole. `table`: columns that share the width.
//! - `blocks`: one function per type of block.

mod blocks;
mod chart;
mod draw;
mod layout;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use draw::draw;
