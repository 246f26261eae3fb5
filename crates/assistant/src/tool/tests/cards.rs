//! The tool `rich_render`.

use toolcrib_core::Block;

use super::*;

async fn render(blocks: Value) -> Result<(Value, String), String> {
    let tools = tools(RunId::fresh());
    let output = call(&tools, &ctx("", None), "rich_render", json!({ "blocks": blocks })).await;
    let output = output.map_err(|error| error.message)?;
    let text = match &output.content[..] {
        [Block::Text { text, .. }, Block::Card { card }] => {
            assert_eq!(Some(card), output.structured.as_ref());
            text.clone()
        }
        other => panic!("{other:?}"),
    };
    Ok((output.structured.unwrap()["blocks"].clone(), text))
}

#[tokio::test]
async fn without_blocks_the_reference_is_the_answer() {
    let tools = tools(RunId::fresh());
    let output = call(&tools, &ctx("", None), "rich_render", json!({})).await.unwrap();
    let Some(Block::Text { text, .. }) = output.content.first() else { panic!("no text") };
    // The reference names every type that the decoder knows.
    let wrong = crate::card::decode(vec![json!({"type": "zzzz"})]).unwrap_err().to_string();
    let names = wrong.split_once("it is one of ").unwrap().1.split_once('.').unwrap().0;
    assert_eq!(names.split(", ").count(), 14);
    for name in names.split(", ") {
        assert!(text.contains(&format!("\n{name} {{")), "{name}");
    }
}

#[tokio::test]
async fn slips_with_one_reading_are_repaired_and_said() {
    let (blocks, text) = render(json!([
        {"type": "KPI", "label": "Sales", "value": 12},
        "{\"type\": \"progress\", \"label\": \"Plan\", \"value\": \"62\"}",
        "Just words",
        {"type": "section", "title": "More", "blocks": [{"type": "kv", "items": [{"key": "a", "value": "b"}]}]},
    ]))
    .await
    .unwrap();
    assert_eq!(blocks[0], json!({"type": "metric", "label": "Sales", "value": "12"}));
    assert_eq!(blocks[1], json!({"type": "progress", "label": "Plan", "value": 62.0}));
    assert_eq!(blocks[2], json!({"type": "text", "text": "Just words"}));
    assert_eq!(blocks[3]["blocks"][0]["type"], "keyvalue");
    assert!(text.starts_with("Shown to the person: 4 blocks."), "{text}");
    assert!(text.contains("blocks[0]: the type was read as metric"), "{text}");
}

#[tokio::test]
async fn what_cannot_be_shown_names_its_block() {
    let mut deep = json!({"type": "badge", "label": "x"});
    for _ in 0..5 {
        deep = json!({"type": "section", "title": "s", "blocks": [deep]});
    }
    let many: Vec<Value> = (0..101).map(|_| json!({"type": "badge", "label": "x"})).collect();
    let rows: Vec<[&str; 1]> = (0..201).map(|_| ["x"]).collect();
    for (blocks, part) in [
        (json!([]), "blocks: there are none"),
        (json!([{"label": "x"}]), "blocks[0]: its type is missing"),
        (json!([{"type": "tabel"}]), "did you mean table?"),
        (json!([{"type": "metric", "label": "x"}]), "blocks[0] (metric): "),
        (json!([deep]), "more than 4 deep"),
        (json!(many), "more than 100 blocks"),
        (json!([{"type": "table", "columns": ["a"], "rows": rows}]), "rows has 201 entries"),
        (
            json!([{"type": "table", "columns": ["a", "b"], "rows": [["1"]]}]),
            "row 0 does not have 2 cells",
        ),
        (
            json!([{"type": "chart", "kind": "bar", "labels": ["a"], "series": [{"values": [1, 2]}]}]),
            "series 0 does not have 1 values",
        ),
        (json!([{"type": "progress", "label": "x", "value": 1, "max": 0}]), "more than 0"),
        (json!([{"type": "form", "fields": [{"name": "a", "kind": "choice"}]}]), "has no options"),
        (
            json!([{"type": "buttons", "buttons": [{"label": "x", "action": "open_url", "value": "javascript:alert(1)"}]}]),
            "open_url opens https:// only",
        ),
        (
            json!([{"type": "buttons", "buttons": [{"label": "x", "action": "run", "value": "y"}]}]),
            "blocks[0] (buttons)",
        ),
        (json!([{"type": "badge", "label": "x".repeat(301)}]), "at most 300"),
    ] {
        let message = render(blocks.clone()).await.expect_err(&blocks.to_string());
        assert!(message.contains(part), "{part}: {message}");
        assert!(message.len() < 1_500, "{message}");
    }
}

#[tokio::test]
async fn hostile_text_is_written_out_and_outside_text_is_marked() {
    let blocks = json!([{"type": "badge", "label": "a\u{1b}[2J\nb\u{202e}c"}, {"type": "text", "text": "one\ntwo\u{200b}"}]);
    let (shown, _) = render(blocks.clone()).await.unwrap();
    assert_eq!(shown[0]["label"], "a\\u{1b}[2J b\\u{202e}c");
    assert_eq!(shown[1]["text"], "one\ntwo\\u{200b}");
    let dirty = RunId::fresh();
    let tools = tools(dirty);
    let args = json!({ "blocks": blocks });
    let output = call(&tools, &ctx("", Some(dirty)), "rich_render", args).await.unwrap();
    assert!(output.structured.unwrap()["untrusted"].as_str().unwrap().contains("x.org"));
}
