//! Charts: bars, lines and parts of a whole.

use toolcrib_assistant::card::{Chart, ChartKind};

use super::super::width;
use super::layout::{line, pad};

/// Eighths of a row or a column.
const BARS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Divisor of the width for the maximum number of columns of a label.
const LABEL_PART: usize = 3;

/// Draws a chart without its title.
pub(super) fn draw(chart: &Chart, columns: usize) -> Vec<String> {
    match chart.kind {
        ChartKind::Line => lines(chart, columns),
        ChartKind::Bar => bars(chart, columns, None),
        ChartKind::Pie => {
            let values = chart.series.first().map(|series| series.values.as_slice());
            let total: f64 = values.unwrap_or_default().iter().map(|value| value.max(0.0)).sum();
            bars(chart, columns, Some(total))
        }
    }
}

/// Draws a bar for each value; with a total, also its share in percent.
fn bars(chart: &Chart, columns: usize, total: Option<f64>) -> Vec<String> {
    let names = chart.labels.iter().map(|label| width(label)).max().unwrap_or(0);
    let names = names.clamp(1, columns / LABEL_PART);
    let figure = |value: f64| match total {
        Some(total) if total > 0.0 => format!("{} ({:.0} %)", number(value), 100.0 * value / total),
        _ => format!("{}{}", number(value), unit(chart)),
    };
    let all = || chart.series.iter().flat_map(|series| series.values.iter().copied());
    let figures = all().map(|value| width(&figure(value))).max().unwrap_or(0);
    let room = columns.saturating_sub(names + figures + 2).max(4);
    let largest = all().map(f64::abs).fold(0.0, f64::max);
    let mut rows = Vec::new();
    for series in &chart.series {
        if let Some(name) = series.name.as_deref().filter(|_| chart.series.len() > 1) {
            rows.push(line(name, columns));
        }
        for (label, value) in chart.labels.iter().zip(&series.values) {
            let part = if largest > 0.0 { value.abs() / largest } else { 0.0 };
            let bar = bar(part, room);
            let sign = if *value < 0.0 { "−" } else { "" };
            let label = pad(&line(label, names), names);
            rows.push(line(&format!("{label} {sign}{bar} {}", figure(*value)), columns));
        }
    }
    rows
}

/// Draws a row of blocks whose length is this fraction of the width.
fn bar(part: f64, room: usize) -> String {
    // The value is not negative, and at most the width.
    let eighths = (part.clamp(0.0, 1.0) * (room * 8) as f64).round() as usize;
    let mut bar = "█".repeat(eighths / 8);
    if let Some(last) = BARS.get(eighths % 8).filter(|last| **last != ' ') {
        bar.push(*last);
    }
    bar
}

/// Draws one row of levels for each series, with its minimum and maximum.
fn lines(chart: &Chart, columns: usize) -> Vec<String> {
    let mut rows = Vec::new();
    for series in &chart.series {
        let (least, most) = series
            .values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
        let level = |value: &f64| {
            let part = if most > least { (value - least) / (most - least) } else { 0.5 };
            let index = (part.clamp(0.0, 1.0) * 7.0).round() as usize;
            LEVELS.get(index).copied().unwrap_or('█')
        };
        let name = series.name.as_deref().unwrap_or_default();
        let name =
            if name.is_empty() { String::new() } else { format!("{} ", line(name, columns / 3)) };
        let range = format!(" {}…{}{}", number(least), number(most), unit(chart));
        let room = columns.saturating_sub(width(&name) + width(&range)).max(4);
        let drawn: String = sampled(&series.values, room).iter().map(level).collect();
        rows.push(line(&format!("{name}{drawn}{range}"), columns));
    }
    if let (Some(first), Some(last)) = (chart.labels.first(), chart.labels.last()) {
        rows.push(line(&format!("{first} … {last}"), columns));
    }
    rows
}

/// Returns at most this many of the values, evenly spaced.
fn sampled(values: &[f64], room: usize) -> Vec<f64> {
    if values.len() <= room {
        return values.to_vec();
    }
    (0..room).filter_map(|n| values.get(n * values.len() / room).copied()).collect()
}

fn unit(chart: &Chart) -> String {
    chart.unit.as_deref().map_or_else(String::new, |unit| format!(" {unit}"))
}

/// Formats a number with at most two decimal places.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}
