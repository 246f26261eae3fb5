//! Cards as plain text, for services that show nothing else.

use serde_json::Value;
use toolcrib_assistant::card::{
    Action, Button, Card, CardBlock, Chart, FieldKind, Form, FormField, KeyValue, Level, Metric,
    Progress, StepState, Timeline, Trend,
};

/// Words for a card that cannot be shown as text.
const ON_THE_PAGE: &str = "[A card is on the page.]";
/// Maximum rows of a table, and maximum values of a chart.
const MAX_ROWS: usize = 50;

/// Returns a card as plain text.
#[must_use]
pub fn card_text(card: &Value) -> String {
    let blocks = card.get("blocks").cloned().map(serde_json::from_value::<Vec<CardBlock>>);
    let Some(Ok(blocks)) = blocks else { return ON_THE_PAGE.to_owned() };
    let mut text = all(&blocks);
    if let Some(source) = card.get("untrusted").and_then(Value::as_str) {
        let source: String = source.chars().filter(|c| !c.is_control()).take(200).collect();
        text.push_str(&format!("\n(from outside: {source})"));
    }
    text
}

fn all(blocks: &[CardBlock]) -> String {
    let texts = blocks.iter().map(block).filter(|text| !text.trim().is_empty());
    texts.collect::<Vec<_>>().join("\n\n")
}

fn block(block: &CardBlock) -> String {
    match block {
        CardBlock::Text(one) => one.text.clone(),
        CardBlock::Metric(one) => metric(one),
        CardBlock::Card(one) => card(one),
        CardBlock::Chart(one) => chart(one),
        CardBlock::Progress(one) => progress(one),
        CardBlock::Timeline(one) => timeline(one),
        CardBlock::Alert(one) => {
            let title = one.title.iter().map(|title| format!("{title}: "));
            format!("{} {}{}", sign(one.level), title.collect::<String>(), one.text)
        }
        CardBlock::Badge(one) => format!("{} {}", sign(one.level), one.label),
        CardBlock::KeyValue(one) => key_values(one),
        CardBlock::Columns(one) => {
            let columns = one.columns.iter().map(|column| all(&column.blocks));
            columns.collect::<Vec<_>>().join("\n\n")
        }
        CardBlock::Section(one) => format!("{}\n{}", one.title, all(&one.blocks)),
        CardBlock::Table(one) => {
            let mut rows = vec![one.columns.join(" | ")];
            rows.extend(one.rows.iter().take(MAX_ROWS).map(|row| row.join(" | ")));
            rows.extend((one.rows.len() > MAX_ROWS).then(|| "…".to_owned()));
            rows.join("\n")
        }
        CardBlock::Buttons(one) => buttons(&one.buttons),
        CardBlock::Form(one) => form(one),
    }
}

fn metric(metric: &Metric) -> String {
    let arrow = metric.trend.map(|trend| match trend {
        Trend::Up => "▲",
        Trend::Down => "▼",
        Trend::Flat => "▶",
    });
    let parts = [Some(metric.value.as_str()), metric.unit.as_deref(), arrow];
    let parts = parts.into_iter().flatten().chain(metric.change.as_deref());
    format!("{}: {}", metric.label, parts.collect::<Vec<_>>().join(" "))
}

fn card(card: &Card) -> String {
    let mut lines = vec![card.title.clone()];
    lines.extend(card.subtitle.clone());
    lines.extend(card.text.clone());
    lines.extend((!card.blocks.is_empty()).then(|| all(&card.blocks)));
    lines.extend((!card.buttons.is_empty()).then(|| buttons(&card.buttons)));
    lines.join("\n")
}

fn chart(chart: &Chart) -> String {
    let unit = chart.unit.as_deref().map_or_else(String::new, |unit| format!(" {unit}"));
    let mut lines: Vec<String> = chart.title.iter().cloned().collect();
    for series in &chart.series {
        lines.extend(series.name.clone());
        let pairs = chart.labels.iter().zip(&series.values).take(MAX_ROWS);
        lines.extend(pairs.map(|(label, value)| format!("{label}: {value}{unit}")));
    }
    lines.join("\n")
}

fn progress(progress: &Progress) -> String {
    let part = (progress.value / progress.max.unwrap_or(100.0)).clamp(0.0, 1.0);
    format!("{}: {:.0} %", progress.label, 100.0 * part)
}

fn timeline(timeline: &Timeline) -> String {
    let mut lines = Vec::new();
    for step in &timeline.items {
        let mark = match step.state {
            Some(StepState::Done) => "✓",
            Some(StepState::Current) => "●",
            Some(StepState::Open) | None => "○",
        };
        let parts = [Some(mark), step.time.as_deref(), Some(step.title.as_str())];
        lines.push(parts.into_iter().flatten().collect::<Vec<_>>().join(" "));
        lines.extend(step.text.clone());
    }
    lines.join("\n")
}

fn sign(level: Level) -> &'static str {
    match level {
        Level::Info => "ℹ",
        Level::Success => "✓",
        Level::Warning => "!",
        Level::Error => "✗",
    }
}

fn key_values(block: &KeyValue) -> String {
    let title = block.title.iter().cloned();
    let rows = block.items.iter().map(|item| format!("{}: {}", item.key, item.value));
    title.chain(rows).collect::<Vec<_>>().join("\n")
}

fn buttons(buttons: &[Button]) -> String {
    let row = |button: &Button| match button.action {
        Action::Callback => Some(format!("{}: write “{}”", button.label, button.value)),
        Action::OpenUrl | Action::Copy => Some(format!("{}: {}", button.label, button.value)),
        Action::Toggle => None,
    };
    buttons.iter().filter_map(row).collect::<Vec<_>>().join("\n")
}

fn form(form: &Form) -> String {
    let row = |field: &FormField| {
        let label = field.label.as_deref().unwrap_or(&field.name);
        let mark = if field.required { " *" } else { "" };
        let choice = match field.kind {
            FieldKind::Choice => format!(" ({})", field.options.join(", ")),
            _ => String::new(),
        };
        format!("- {label}{mark}{choice}")
    };
    let title = form.title.clone().unwrap_or_else(|| "Please answer:".to_owned());
    std::iter::once(title).chain(form.fields.iter().map(row)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_card_keeps_its_facts_as_text() {
        let blocks = json!([
            {"type": "metric", "label": "Oats", "value": "2.40", "unit": "EUR", "trend": "up", "change": "+4 %"},
            {"type": "table", "columns": ["a", "b"], "rows": [["1", "2"]]},
            {"type": "buttons", "buttons": [{"label": "Buy", "action": "callback", "value": "Buy it"}]},
        ]);
        let text = card_text(&json!({"blocks": blocks, "untrusted": "web\npage"}));
        assert_eq!(
            text,
            "Oats: 2.40 EUR ▲ +4 %\n\na | b\n1 | 2\n\nBuy: write “Buy it”\n(from outside: webpage)"
        );
        assert_eq!(card_text(&json!({"html": "<b>x</b>"})), ON_THE_PAGE);
        assert_eq!(card_text(&json!({"blocks": [{"type": "new"}]})), ON_THE_PAGE);
    }
}
