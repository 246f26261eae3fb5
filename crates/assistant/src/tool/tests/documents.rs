//! The tool `document`, with files whose pages are separated by form feeds.

use toolcrib_core::BoxFuture;

use super::*;
use crate::WorkspaceFiles;
use crate::document::{TextExtractor, TextWindow};

/// Pages per window.
const WINDOW: u32 = 2;

/// Files by name.
pub(super) struct Files;

impl WorkspaceFiles for Files {
    fn read<'a>(
        &'a self,
        _: &'a CallCtx,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Vec<u8>, ToolError>> {
        let text = match path {
            "docs/lease.pdf" => {
                "The rent is 900.\u{c}The notice period is three months.\u{c}Signed in Oslo."
            }
            "bread.txt" => "Rye bread is baked at night, and oats are soaked before.",
            "scan.pdf" => " \u{c} ",
            "endless.pdf" => "a\u{c}endless\u{c}b",
            _ => {
                return Box::pin(std::future::ready(Err(ToolError::execution(
                    "There is no such file.",
                ))));
            }
        };
        Box::pin(std::future::ready(Ok(text.as_bytes().to_vec())))
    }
}

impl TextExtractor for Files {
    fn extract<'a>(
        &'a self,
        name: &'a str,
        bytes: &'a [u8],
        first: u32,
    ) -> BoxFuture<'a, Result<TextWindow, ToolError>> {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let pages: Vec<&str> = text.split('\u{c}').collect();
        let count = u32::try_from(pages.len()).unwrap();
        let is_paged = name.ends_with(".pdf");
        let parts = (1..).zip(&pages).skip(first as usize - 1).take(WINDOW as usize);
        let parts = parts.map(|(n, text)| (if is_paged { n } else { 0 }, (*text).to_owned()));
        let next = if text.contains("endless") { 1 } else { first + WINDOW };
        let window = TextWindow {
            format: if is_paged { "PDF" } else { "text" }.into(),
            unit: if is_paged { "page" } else { "" }.into(),
            count: if is_paged { count } else { 0 },
            parts: parts.collect(),
            next: (next <= count).then_some(next),
            problem: None,
        };
        Box::pin(std::future::ready(Ok(window)))
    }
}

async fn document(tools: &AssistantTools, args: Value) -> Result<Value, String> {
    let ctx = ctx("ann", Some(RunId::fresh()));
    let output = call(tools, &ctx, "document", args).await.map_err(|error| error.message)?;
    Ok(output.structured.unwrap_or(Value::Null))
}

#[tokio::test]
async fn passages_are_found_by_words_and_meaning_with_their_page() {
    let tools = tools(RunId::fresh());
    let added = document(&tools, json!({"action": "add", "path": "docs/lease.pdf"})).await.unwrap();
    assert_eq!((&added["name"], &added["pages"]), (&json!("lease.pdf"), &json!(3)));
    tools.documents.finish().await.unwrap();
    document(&tools, json!({"action": "add", "path": "bread.txt"})).await.unwrap();
    let list = document(&tools, json!({"action": "list"})).await.unwrap();
    assert_eq!(list["documents"].as_array().unwrap().len(), 2);
    let statuses: Vec<&Value> =
        list["documents"].as_array().unwrap().iter().map(|row| &row["status"]).collect();
    assert_eq!(statuses, ["ready", "ready"]);
    let search = |query: &str| json!({"action": "search", "query": query, "limit": 1});
    let found = document(&tools, search("notice period")).await.unwrap();
    let first = &found["passages"][0];
    assert_eq!((&first["page"], &first["offset"]), (&json!(2), &json!(0)));
    assert_eq!(first["text"], "The notice period is three months.");
    // The query shares no word with the text.
    let found = document(&tools, search("loaf in the oven")).await.unwrap();
    assert_eq!(found["passages"][0]["name"], "bread.txt");
    // The last page was read after the first window.
    let found = document(&tools, search("signed")).await.unwrap();
    assert_eq!(found["passages"][0]["page"], 3);
    let view =
        json!({"action": "view", "document": "LEASE.pdf", "page": 2, "offset": 4, "max_chars": 10});
    let view = document(&tools, view).await.unwrap();
    assert_eq!(view["text"], "--- page 2 of 3 ---\nnotice per");
    assert_eq!(view["next"], json!({"page": 2, "offset": 14}));
    let stranger = call(&tools, &ctx("bob", None), "document", search("notice period")).await;
    assert!(stranger.unwrap().structured.is_none());
}

#[tokio::test]
async fn deleting_takes_two_steps_and_can_be_taken_back() {
    let tools = tools(RunId::fresh());
    document(&tools, json!({"action": "add", "path": "bread.txt"})).await.unwrap();
    let asked =
        document(&tools, json!({"action": "delete", "document": "bread.txt"})).await.unwrap();
    assert_eq!(asked["deleted"], false);
    let wrong = json!({"action": "delete", "document": "bread.txt", "confirm": "yes"});
    assert!(document(&tools, wrong).await.unwrap_err().contains("not the one"));
    let right = json!({"action": "delete", "document": "bread.txt", "confirm": asked["confirm"]});
    assert_eq!(document(&tools, right).await.unwrap()["deleted"], true);
    let search = json!({"action": "search", "query": "rye bread"});
    assert_eq!(document(&tools, search.clone()).await.unwrap(), Value::Null);
    document(&tools, json!({"action": "restore", "document": "bread.txt"})).await.unwrap();
    assert_eq!(document(&tools, search).await.unwrap()["passages"][0]["name"], "bread.txt");
}

#[tokio::test]
async fn what_cannot_be_done_is_said() {
    let tools = tools(RunId::fresh());
    for (args, part) in [
        (json!({"action": "add"}), "`add` needs `path`"),
        (json!({"action": "add", "path": "none.pdf"}), "no such file"),
        (json!({"action": "add", "path": "scan.pdf"}), "no text that can be found"),
        (json!({"action": "search", "query": "the of"}), "no words"),
        (json!({"action": "view", "document": "x"}), "There is no document \"x\""),
        (json!({"action": "restore", "document": "x"}), "There is no document \"x\""),
    ] {
        let message = document(&tools, args.clone()).await.unwrap_err();
        assert!(message.contains(part), "{args}: {message}");
    }
    document(&tools, json!({"action": "add", "path": "bread.txt"})).await.unwrap();
    let beyond = json!({"action": "view", "document": "bread.txt", "offset": 9_999});
    assert!(document(&tools, beyond).await.unwrap_err().contains("there is nothing at"));
    let there = json!({"action": "restore", "document": "bread.txt"});
    assert!(document(&tools, there).await.unwrap_err().contains("is not deleted"));
    // A file whose reader loops forever ends, and the text read before is found.
    document(&tools, json!({"action": "add", "path": "endless.pdf"})).await.unwrap();
    tools.documents.finish().await.unwrap();
    let list = document(&tools, json!({"action": "list"})).await.unwrap();
    let endless =
        &list["documents"].as_array().unwrap().iter().find(|d| d["name"] == "endless.pdf");
    assert_eq!(endless.unwrap()["status"], "failed");
}

#[tokio::test]
async fn a_document_from_a_run_that_read_outside_text_keeps_its_label() {
    let dirty = RunId::fresh();
    let tools = tools(dirty);
    let add = json!({"action": "add", "path": "bread.txt"});
    call(&tools, &ctx("ann", Some(dirty)), "document", add).await.unwrap();
    let search = json!({"action": "search", "query": "rye bread"});
    let found = call(&tools, &ctx("ann", None), "document", search).await.unwrap();
    assert_eq!(found.trust, Some(Trust::External));
}
