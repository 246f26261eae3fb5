//! Parsing of program output.

use serde_json::json;
use toolcrib_core::{Blob, Block, ErrorType};

use super::*;
use crate::external_tools::parse_output::{OutputKind, parse};

async fn answered(output: &str, script: &str) -> Result<ToolOutput, ToolError> {
    let tools = Tools::new();
    tools.tool("say", &format!("{PLAIN}output = \"{output}\""), script);
    call(&tools.source(), "say", json!({})).await
}

async fn check(output: &str, script: &str, wanted: ToolOutput) {
    let wanted = wanted.with_sandbox("none");
    assert_eq!(answered(output, script).await.unwrap(), wanted, "{output}: {script}");
}

fn failing(text: &str) -> ToolOutput {
    ToolOutput { is_error: true, ..ToolOutput::text(text) }
}

#[tokio::test]
async fn text_is_text_of_its_kind() {
    check("text", "echo hello", ToolOutput::text("hello")).await;
    check("text", "printf 'a\\n\\n'", ToolOutput::text("a\n")).await;
    check("text", ":", ToolOutput::text("")).await;
    check("text", "echo 42", ToolOutput::text("42")).await;
    check("text", "echo '{broken'", ToolOutput::text("{broken")).await;
    check("text", "printf 'a\\377b'", ToolOutput::text("a\u{FFFD}b")).await;
    check("markdown", "echo '# Hi'", ToolOutput::text_with_type("# Hi", "text/markdown")).await;
    check("text/csv", "echo a,b", ToolOutput::text_with_type("a,b", "text/csv")).await;
    check("text", "echo noise >&2; echo quiet", ToolOutput::text("quiet")).await;
}

#[tokio::test]
async fn text_html_and_error() {
    let card = |text: &str, html: &str| {
        ToolOutput::from_blocks(vec![Block::text(text), Block::Html { html: html.to_owned() }])
    };
    check("text", r#"echo '{"text": "hi"}'"#, ToolOutput::text("hi")).await;
    check("text", r#"echo '{"text": "hi", "html": "<b>hi</b>"}'"#, card("hi", "<b>hi</b>")).await;
    check(
        "text",
        r#"echo '{"html": "<b>"}'"#,
        card("The result is shown to the user as a card.", "<b>"),
    )
    .await;
    check(
        "text",
        r#"echo '{"text": "x", "html": "y", "error": "no such city"}'"#,
        failing("no such city"),
    )
    .await;
    check("text", r#"echo '{"text": "hi", "error": null}'"#, ToolOutput::text("hi")).await;
    check(
        "markdown",
        r#"echo '{"text": "*hi*"}'"#,
        ToolOutput::text_with_type("*hi*", "text/markdown"),
    )
    .await;
    // Data that happens to have such a key stays data.
    for data in
        [json!({"text": 5}), json!({"text": "a", "n": 1}), json!({"error": null}), json!({})]
    {
        check("text", &format!("echo '{data}'"), ToolOutput::structured(data)).await;
    }
}

#[tokio::test]
async fn parts() {
    let png = |data: &[u8]| {
        Block::Image(Blob { media_type: "image/png".to_owned(), data: data.to_vec() })
    };
    let sound = Block::Audio(Blob { media_type: "audio/wav".to_owned(), data: vec![1] });
    check(
        "text",
        r#"echo '{"content": [{"type": "image", "mime_type": "image/png", "data": "AAEC"}, {"type": "text", "text": "a"},
            {"type": "html", "html": "<i>"}, {"type": "audio", "mimeType": "audio/wav", "data": "AQ"}]}'"#,
        ToolOutput::from_blocks(vec![
            png(&[0, 1, 2]),
            Block::text("a"),
            Block::Html { html: "<i>".to_owned() },
            sound,
        ]),
    )
    .await;
    check(
        "text",
        r#"echo '{"content": [{"type": "text", "text": "no"}], "isError": true}'"#,
        failing("no"),
    )
    .await;
    check(
        "text",
        r#"printf '{"content": [{"type": "image", "mime_type": "image/png", "data": "AAE\\nC"}]}'"#,
        ToolOutput::from_blocks(vec![png(&[0, 1, 2])]),
    )
    .await;
    check("text", r#"echo '{"content": "x"}'"#, ToolOutput::structured(json!({"content": "x"})))
        .await;
    for (part, words) in [
        (r#"{"type": "video"}"#, "part 1 of its content has a \"type\" other than"),
        (r#"{"type": "image", "data": "AAEC"}"#, "begins with image/"),
        (r#"{"type": "image", "mime_type": "text/html", "data": ""}"#, "begins with image/"),
        (r#"{"type": "image", "mime_type": "image/png", "data": "?"}"#, "no base64"),
        (r#"{"type": "text"}"#, "no text in the key \"text\""),
    ] {
        let script = format!(r#"echo '{{"content": [{part}]}}'"#);
        let error = answered("text", &script).await.expect_err(part);
        assert!(error.message.contains(words), "{}", error.message);
    }
}

#[tokio::test]
async fn data_and_promises() {
    let list = ToolOutput::structured(json!([1, {"a": 2.5}]));
    check("text", "echo ' [1, {\"a\": 2.5}] '", list.clone()).await;
    check("json", "echo ' [1, {\"a\": 2.5}] '", list).await;
    check("json", "echo 42", ToolOutput::structured(json!(42))).await;
    check("json", r#"echo '{"error": "no"}'"#, failing("no")).await;
    check("raw", r#"echo '{"error": "no"}'"#, ToolOutput::text(r#"{"error": "no"}"#)).await;
    let error = answered("json", "echo hello").await.unwrap_err();
    assert_eq!(error.error_type, ErrorType::ExecutionError);
    assert!(error.message.contains("it promises JSON"), "{}", error.message);
}

#[tokio::test]
async fn a_flood_keeps_both_ends_and_says_how_much_is_missing() {
    let flood = "echo first; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo last";
    let said = answered("text", flood).await.unwrap();
    let Block::Text { text, .. } = &said.content[0] else { panic!("{:?}", said.content) };
    let left_out = 20_000_012 - 8 * 1024 * 1024;
    assert!(text.starts_with("first\nx") && text.ends_with("x\nlast"));
    assert!(text.contains(&format!("[… {left_out} bytes left out …]")), "{}", text.len());
    let cut =
        answered("text", "printf '{\"a\": \"'; head -c 20000000 /dev/zero | tr '\\0' x").await;
    assert!(cut.unwrap_err().message.contains("20000007 bytes of JSON are more than"));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(256))]

    #[test]
    fn no_answer_breaks_the_reader(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200), json in r#"\{("(text|html|error|content|type)": ?("[a-z]{0,3}"|null|\[\{"type":"(text|image)","text":"x"\}\]),?){0,4}\}"#) {
        for text in [bytes.clone(), json.clone().into_bytes()] {
            let stdout = toolcrib_sandbox::process::Captured { total: text.len() as u64, head: text, tail: Vec::new() };
            for kind in ["text", "json", "raw"] {
                let kind = OutputKind::from_manifest(Some(kind.to_owned())).unwrap();
                if let Err(what) = parse(&kind, &stdout) {
                    proptest::prop_assert!(!what.is_empty());
                }
            }
        }
    }
}
