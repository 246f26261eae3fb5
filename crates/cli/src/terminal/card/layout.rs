//! Boxes, columns and wrapped text.

use super::super::{
    Span, Style, Styler, encode, escape_controls, escape_to_line, truncate_to_width, width, wrap,
};

/// Fits a line into this many columns. Texts were sanitized when the card was created; a stored
/// card is sanitized again, because another program may have written it.
pub(super) fn line(text: &str, columns: usize) -> String {
    truncate_to_width(&escape_to_line(text), columns)
}

/// Wraps a text into rows.
pub(super) fn paragraph(text: &str, columns: usize) -> Vec<String> {
    let clean = escape_controls(text);
    let rows = clean.lines().flat_map(|line| {
        let spans = [Span::new(line.replace('\t', " "), Style::PLAIN)];
        encode(&wrap(&spans, columns, &[], &[]), Styler { colour: false })
    });
    rows.collect()
}

/// Pads a row to a width.
pub(super) fn pad(text: &str, columns: usize) -> String {
    let text = truncate_to_width(text, columns);
    let gap = columns.saturating_sub(width(&text));
    text + &" ".repeat(gap)
}

/// Draws rows in a box with a title.
pub(super) fn boxed(title: &str, rows: &[String], columns: usize) -> Vec<String> {
    let inner = columns.saturating_sub(4);
    let title = if title.is_empty() { String::new() } else { format!(" {} ", line(title, inner)) };
    let rule = "─".repeat(columns.saturating_sub(3 + width(&title)));
    let mut all = vec![format!("╭─{title}{rule}╮")];
    all.extend(rows.iter().map(|row| format!("│ {} │", pad(row, inner))));
    all.push(format!("╰{}╯", "─".repeat(columns.saturating_sub(2))));
    all
}

/// Places parts side by side, each with its own width, with a gap between them.
pub(super) fn side_by_side(parts: &[Vec<String>], columns: usize, gap: usize) -> Vec<String> {
    let height = parts.iter().map(Vec::len).max().unwrap_or(0);
    let row = |number: usize| {
        let cells = parts.iter().map(|part| pad(part.get(number).map_or("", |row| row), columns));
        cells.collect::<Vec<_>>().join(&" ".repeat(gap)).trim_end().to_owned()
    };
    (0..height).map(row).collect()
}
