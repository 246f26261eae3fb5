//! The page that draws cards in clients of MCP (MCP Apps): the clients that are offered it, and
//! access to it.

use serde_json::{Value, json};

use crate::support::TestEnv;

const PAGE: &str = "ui://toolcrib/card";
const KIND: &str = "text/html;profile=mcp-app";

/// Returns the metadata for programs in the definition of `rich_render`.
fn meta_of_tool(listed: &Value) -> Value {
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().find(|tool| tool["name"] == "rich_render").unwrap()["_meta"].clone()
}

fn request(id: i32, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// Covers a client with a handshake, and one that sends its capabilities in each request.
#[test]
fn cards_are_a_page_for_clients_that_show_pages_and_a_text_for_others() {
    let env = TestEnv::new();
    let pages =
        |kind: &str| json!({"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": [kind]}}});
    let told = json!({"ui": {"resourceUri": PAGE}});
    let client = json!({"name": "t", "version": "1"});
    for (capabilities, expected) in
        [(pages(KIND), told), (json!({}), Value::Null), (pages("text/html"), Value::Null)]
    {
        let mut server = env.filter(&["mcp", "serve"]);
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client});
        server.ask(&request(1, "initialize", &hello));
        for id in 2..4 {
            let listed = server.ask(&request(id, "tools/list", &json!({})));
            assert_eq!(meta_of_tool(&listed), expected, "{capabilities}");
        }
        let mut server = env.filter(&["mcp", "serve"]);
        let meta = json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            "io.modelcontextprotocol/clientInfo": client,
        }});
        let listed = server.ask(&request(1, "tools/list", &meta));
        assert_eq!(meta_of_tool(&listed), expected, "{capabilities}");
        // Every client gets the blocks in addition to the text.
        let blocks = json!([{"type": "badge", "label": "New"}]);
        let mut call = json!({"name": "rich_render", "arguments": {"blocks": blocks}});
        call["_meta"] = meta["_meta"].clone();
        let done = &server.ask(&request(2, "tools/call", &call))["result"];
        assert_eq!(done["content"][0]["text"], "Shown to the person: 1 blocks.", "{done}");
        assert_eq!(done["structuredContent"]["blocks"][0]["label"], "New", "{done}");
    }
}

#[test]
fn the_page_of_cards_is_read_by_whom_sees_the_tool() {
    let env = TestEnv::new();
    let read = |expected: &str| {
        let mut server = env.filter(&["mcp", "serve"]);
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        server.ask(&request(1, "initialize", &hello));
        let listed = server.ask(&request(2, "resources/list", &json!({})));
        let answer = server.ask(&request(3, "resources/read", &json!({"uri": PAGE})));
        assert!(answer.to_string().contains(expected), "{expected}: {answer}");
        (listed["result"]["resources"].to_string().contains(PAGE), answer)
    };
    let (is_listed, answer) = read("<!doctype html>");
    let page = &answer["result"]["contents"][0];
    assert!(is_listed);
    assert_eq!(
        (&page["mimeType"], &page["_meta"]["ui"]["prefersBorder"]),
        (&json!(KIND), &json!(true))
    );
    env.run(&["stop-tools"]).code(0);
    read("all tools are stopped");
    env.run(&["start-tools"]).code(0);
    env.run(&["tool", "disable", "--feature", "cards"]).code(0);
    assert!(!read("there is no ui://toolcrib/card").0);
}
