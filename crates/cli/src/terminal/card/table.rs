//! Tables: columns share the width, and the widest shrink first.

use super::super::width;
use super::layout::{line, pad};

/// Number of columns between two columns of a table.
const GAP: usize = 2;
/// Minimum width of a column.
const LEAST: usize = 4;

/// Draws the rows of a table with its header.
pub(super) fn draw(head: &[String], rows: &[Vec<String>], columns: usize) -> Vec<String> {
    let cell = |row: &[String], number: usize| row.get(number).map_or(0, |cell| width(cell));
    let all = || std::iter::once(head).chain(rows.iter().map(Vec::as_slice));
    let mut widths: Vec<usize> =
        (0..head.len()).map(|n| all().map(|row| cell(row, n)).max().unwrap_or(0).max(1)).collect();
    shrink(&mut widths, columns.saturating_sub(GAP * head.len().saturating_sub(1)));
    let is_number = |n: usize| {
        !rows.is_empty()
            && rows.iter().all(|row| row.get(n).is_some_and(|cell| reads_as_number(cell)))
    };
    let right: Vec<bool> = (0..head.len()).map(is_number).collect();
    let draw_row = |row: &[String]| {
        let cells = widths.iter().zip(&right).enumerate().map(|(n, (columns, right))| {
            let text = line(row.get(n).map_or("", |cell| cell), *columns);
            if *right {
                " ".repeat(columns.saturating_sub(width(&text))) + &text
            } else {
                pad(&text, *columns)
            }
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
    };
    let rule: Vec<String> = widths.iter().map(|columns| "─".repeat(*columns)).collect();
    let mut drawn = vec![draw_row(head), rule.join(&" ".repeat(GAP))];
    drawn.extend(rows.iter().map(|row| draw_row(row)));
    drawn
}

/// Shrinks the widest column until all fit.
fn shrink(widths: &mut [usize], room: usize) {
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > LEAST) else {
            return;
        };
        *widest -= 1;
    }
}

fn reads_as_number(text: &str) -> bool {
    let mut digits = text.chars().filter(char::is_ascii_digit).peekable();
    digits.peek().is_some() && text.chars().all(|c| c.is_ascii_digit() || " .,+-−%€$£".contains(c))
}
