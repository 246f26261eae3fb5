//! Tests of cards at a terminal.

use serde_json::{Value, json};

use super::super::width;
use super::draw;

fn drawn(blocks: Value, columns: usize) -> String {
    let decoded = toolcrib_assistant::card::decode(serde_json::from_value(blocks).unwrap());
    let card = json!({ "blocks": decoded.unwrap().blocks });
    draw(&card, columns).unwrap().join("\n")
}

fn everything() -> Value {
    json!([
        {"type": "text", "text": "A report of this month, with a line that is too long for the narrow terminal of this test."},
        {"type": "columns", "columns": [
            {"blocks": [{"type": "metric", "label": "Sales", "value": "12,400", "unit": "€", "change": "+4 %", "trend": "up"}]},
            {"blocks": [{"type": "progress", "label": "Plan", "value": 62}]},
        ]},
        {"type": "card", "title": "Oats", "subtitle": "from the north", "text": "They are **cheap**.", "blocks": [
            {"type": "keyvalue", "items": [{"key": "Price", "value": "2.40"}, {"key": "Stock", "value": "17"}]}],
         "buttons": [{"label": "Order", "action": "callback", "value": "Order oats"}]},
        {"type": "chart", "kind": "bar", "title": "Loaves", "labels": ["Mon", "Tue"], "series": [{"values": [12, 30.5]}]},
        {"type": "chart", "kind": "pie", "labels": ["rye", "oat"], "series": [{"values": [1, 3]}]},
        {"type": "chart", "kind": "line", "labels": ["1", "4"], "series": [{"name": "a", "values": [1, 8]}], "unit": "°C"},
        {"type": "timeline", "items": [
            {"title": "Ordered", "time": "9:00", "state": "done"}, {"title": "Baked", "text": "at noon", "state": "current"}, {"title": "Sold"}]},
        {"type": "alert", "level": "warning", "title": "Stock", "text": "Only 17 are left."},
        {"type": "badge", "label": "new", "level": "success"},
        {"type": "section", "title": "Details", "blocks": [
            {"type": "table", "columns": ["Bread", "Price"], "rows": [["rye", "3.10"], ["oat and a long name", "12.40"]]}]},
        {"type": "buttons", "buttons": [{"label": "Site", "action": "open_url", "value": "https://oats.example/"}]},
        {"type": "form", "title": "Order", "fields": [
            {"name": "loaves", "kind": "number", "required": true}, {"name": "bread", "kind": "choice", "options": ["rye", "oat"]},
            {"name": "sliced", "kind": "checkbox"}]},
    ])
}

#[test]
fn every_block_is_drawn() {
    insta::assert_snapshot!(drawn(everything(), 46));
}

#[test]
fn no_row_is_wider_than_the_terminal() {
    for columns in [24, 30, 46, 80] {
        for row in drawn(everything(), columns).lines() {
            assert!(width(row) <= columns, "{columns}: {row:?}");
        }
    }
}

#[test]
fn hostile_text_is_written_out() {
    let card = json!({"blocks": [{"type": "badge", "label": "\u{1b}[2Jx\nfake", "level": "info"}], "untrusted": "fetch_url\u{1b}[2J"});
    let rows = draw(&card, 60).unwrap().join("\n");
    assert_eq!(rows, "[i \\u{1b}[2Jx fake]\n(from outside: fetch_url\\u{1b}[2J)");
    assert_eq!(draw(&json!({"blocks": "none"}), 60), None);
}
