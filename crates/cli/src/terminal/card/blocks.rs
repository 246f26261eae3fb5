//! One function per type of block.

use toolcrib_assistant::card::{
    Action, Alert, Button, Card, CardBlock, Columns, FieldKind, Form, KeyValue, Level, Metric,
    Progress, Section, StepState, Timeline, Trend,
};

use super::super::width;
use super::layout::{boxed, line, pad, paragraph, side_by_side};
use super::{chart, table};

/// Minimum width of blocks side by side; narrower ones are stacked.
const NARROWEST_COLUMN: usize = 18;

/// Draws blocks, with an empty row between two.
pub(super) fn draw_all(blocks: &[CardBlock], columns: usize) -> Vec<String> {
    let mut rows = Vec::new();
    for block in blocks {
        if !rows.is_empty() {
            rows.push(String::new());
        }
        rows.extend(draw(block, columns));
    }
    rows
}

fn draw(block: &CardBlock, columns: usize) -> Vec<String> {
    match block {
        CardBlock::Text(text) => paragraph(&text.text, columns),
        CardBlock::Metric(one) => metric(one, columns),
        CardBlock::Card(one) => card(one, columns),
        CardBlock::Chart(one) => titled(one.title.as_deref(), chart::draw(one, columns), columns),
        CardBlock::Progress(one) => progress(one, columns),
        CardBlock::Timeline(one) => timeline(one, columns),
        CardBlock::Alert(one) => alert(one, columns),
        CardBlock::Badge(one) => {
            vec![line(&format!("[{} {}]", sign(one.level), one.label), columns)]
        }
        CardBlock::KeyValue(one) => key_values(one, columns),
        CardBlock::Columns(one) => beside(one, columns),
        CardBlock::Section(one) => section(one, columns),
        CardBlock::Table(one) => table::draw(&one.columns, &one.rows, columns),
        CardBlock::Buttons(one) => buttons(&one.buttons, columns),
        CardBlock::Form(one) => form(one, columns),
    }
}

fn titled(title: Option<&str>, rows: Vec<String>, columns: usize) -> Vec<String> {
    title.map(|title| line(title, columns)).into_iter().chain(rows).collect()
}

fn metric(metric: &Metric, columns: usize) -> Vec<String> {
    let mut value = metric.value.clone();
    if let Some(unit) = &metric.unit {
        value += &format!(" {unit}");
    }
    let arrow = metric.trend.map(|trend| match trend {
        Trend::Up => "▲",
        Trend::Down => "▼",
        Trend::Flat => "▶",
    });
    for part in arrow.into_iter().chain(metric.change.as_deref()) {
        value += &format!(" {part}");
    }
    vec![line(&metric.label, columns), line(&value, columns)]
}

fn card(card: &Card, columns: usize) -> Vec<String> {
    let inner = columns.saturating_sub(4);
    let mut rows: Vec<String> = card.subtitle.iter().map(|text| line(text, inner)).collect();
    rows.extend(card.text.iter().flat_map(|text| paragraph(text, inner)));
    if !card.blocks.is_empty() {
        if !rows.is_empty() {
            rows.push(String::new());
        }
        rows.extend(draw_all(&card.blocks, inner));
    }
    rows.extend(buttons(&card.buttons, inner));
    boxed(&card.title, &rows, columns)
}

fn progress(progress: &Progress, columns: usize) -> Vec<String> {
    let max = progress.max.unwrap_or(100.0);
    let part = (progress.value / max).clamp(0.0, 1.0);
    let figure = format!(" {:.0} %", 100.0 * part);
    let room = columns.saturating_sub(width(&figure)).clamp(4, 40);
    let full = (part * room as f64).round() as usize;
    let bar = "█".repeat(full) + &"░".repeat(room.saturating_sub(full));
    vec![line(&progress.label, columns), format!("{bar}{figure}")]
}

fn timeline(timeline: &Timeline, columns: usize) -> Vec<String> {
    let mut rows = Vec::new();
    for (number, step) in timeline.items.iter().enumerate() {
        let mark = match step.state {
            Some(StepState::Done) => "✓",
            Some(StepState::Current) => "●",
            Some(StepState::Open) | None => "○",
        };
        let time = step.time.as_deref().map_or_else(String::new, |time| format!("{time}  "));
        rows.push(line(&format!("{mark} {time}{}", step.title), columns));
        let rail = if number + 1 < timeline.items.len() { "│ " } else { "  " };
        let text = step.text.iter().flat_map(|text| paragraph(text, columns.saturating_sub(2)));
        rows.extend(text.map(|row| format!("{rail}{row}")));
    }
    rows
}

fn alert(alert: &Alert, columns: usize) -> Vec<String> {
    let word = match alert.level {
        Level::Info => "Info",
        Level::Success => "Done",
        Level::Warning => "Warning",
        Level::Error => "Error",
    };
    let title = match &alert.title {
        Some(title) => format!("{} {word}: {title}", sign(alert.level)),
        None => format!("{} {word}", sign(alert.level)),
    };
    boxed(&title, &paragraph(&alert.text, columns.saturating_sub(4)), columns)
}

fn sign(level: Level) -> &'static str {
    match level {
        Level::Info => "i",
        Level::Success => "✓",
        Level::Warning => "!",
        Level::Error => "✗",
    }
}

fn key_values(block: &KeyValue, columns: usize) -> Vec<String> {
    let keys = block.items.iter().map(|item| width(&item.key)).max().unwrap_or(0);
    let keys = keys.clamp(1, (columns / 2).max(1));
    let row = |key: &str, value: &str| line(&format!("{}  {value}", pad(key, keys)), columns);
    let rows = block.items.iter().map(|item| row(&line(&item.key, keys), &item.value)).collect();
    titled(block.title.as_deref(), rows, columns)
}

fn beside(block: &Columns, columns: usize) -> Vec<String> {
    let count = block.columns.len().max(1);
    let each = columns.saturating_sub(2 * (count - 1)) / count;
    if each < NARROWEST_COLUMN {
        return block.columns.iter().flat_map(|one| draw_all(&one.blocks, columns)).collect();
    }
    let parts: Vec<Vec<String>> =
        block.columns.iter().map(|one| draw_all(&one.blocks, each)).collect();
    side_by_side(&parts, each, 2)
}

/// Draws an open section, because a terminal cannot open it.
fn section(section: &Section, columns: usize) -> Vec<String> {
    let mut rows = vec![line(&format!("▾ {}", section.title), columns)];
    let inner = draw_all(&section.blocks, columns.saturating_sub(2));
    rows.extend(inner.into_iter().map(|row| format!("  {row}").trim_end().to_owned()));
    rows
}

/// Draws buttons as text with their actions, because a terminal cannot press them.
fn buttons(buttons: &[Button], columns: usize) -> Vec<String> {
    let row = |button: &Button| {
        let does = match button.action {
            Action::Callback => "say",
            Action::Toggle => return line(&format!("[{}]", button.label), columns),
            Action::OpenUrl => "open",
            Action::Copy => "copy",
        };
        line(&format!("[{}] {does}: {}", button.label, button.value), columns)
    };
    buttons.iter().map(row).collect()
}

fn form(form: &Form, columns: usize) -> Vec<String> {
    let inner = columns.saturating_sub(4);
    let mut rows = Vec::new();
    for field in &form.fields {
        let label = field.label.as_deref().unwrap_or(&field.name);
        let mark = if field.required { " *" } else { "" };
        let value = field.value.as_deref().unwrap_or_default();
        let entry = match field.kind {
            FieldKind::Checkbox if value == "true" => "[x]".to_owned(),
            FieldKind::Checkbox => "[ ]".to_owned(),
            FieldKind::Choice => format!("({})", field.options.join(" | ")),
            FieldKind::Text | FieldKind::Multiline | FieldKind::Number | FieldKind::Date => {
                format!("[{}]", if value.is_empty() { "…" } else { value })
            }
        };
        rows.push(line(&format!("{label}{mark}: {entry}"), inner));
    }
    rows.push(line(&format!("[{}]", form.submit.as_deref().unwrap_or("OK")), inner));
    boxed(form.title.as_deref().unwrap_or_default(), &rows, columns)
}
