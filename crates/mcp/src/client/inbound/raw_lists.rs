//! Lists of tools in their wire form. rmcp's tool type drops members that it does not know; a
//! reviewed definition must be complete, since a later reader may use them.

use std::collections::BTreeSet;

use rmcp::model::{
    JsonRpcVersion2_0, ListToolsResult, RequestId, ServerJsonRpcMessage, ServerResult, Tool,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Member of the result's `_meta` that contains the list in its wire form. The typed list remains
/// next to it: rmcp's transport uses it to find the arguments that a call repeats as `Mcp-Param-*`
/// headers (SEP-2243).
const RAW_TOOLS: &str = "dev.toolcrib/rawTools";

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: RequestId,
    result: Map<String, Value>,
}

fn is_readable(tool: &Value) -> bool {
    Tool::deserialize(tool).is_ok()
}

fn parse(text: &[u8], lists: impl Fn(&RequestId) -> bool) -> Option<(RequestId, ListToolsResult)> {
    let Answer { id, mut result, .. } = serde_json::from_slice(text).ok()?;
    let tools = result.remove("tools").filter(Value::is_array)?;
    if !lists(&id) {
        return None;
    }
    let readable: Vec<&Value> = tools.as_array()?.iter().filter(|tool| is_readable(tool)).collect();
    let next = result.remove("nextCursor").filter(Value::is_string);
    let result = json!({"tools": readable, "nextCursor": next, "_meta": {RAW_TOOLS: tools}});
    Some((id, serde_json::from_value(result).ok()?))
}

/// Parses the response to a request that lists tools; `None` if the text is anything else.
pub(crate) fn read_answer(
    text: &[u8],
    lists: impl Fn(&RequestId) -> bool,
) -> Option<ServerJsonRpcMessage> {
    let (id, result) = parse(text, lists)?;
    Some(ServerJsonRpcMessage::response(ServerResult::ListToolsResult(result), id))
}

/// Rewrites the text of such a response for rmcp's parser.
pub(crate) fn rewrite_answer(text: &str, lists: &RequestId) -> Option<String> {
    let answer = read_answer(text.as_bytes(), |id| id == lists)?;
    serde_json::to_string(&answer).ok()
}

/// Returns the tools of such a result, and the next page. Tools that rmcp removed from its typed
/// list, as SEP-2243 demands for invalid header annotations, are omitted here too.
pub(crate) fn page(mut result: ListToolsResult) -> (Vec<Value>, Option<String>) {
    let raw = result.meta.as_mut().and_then(|meta| meta.0.remove(RAW_TOOLS));
    let Some(Value::Array(mut tools)) = raw else {
        let typed = result.tools.iter().filter_map(|tool| serde_json::to_value(tool).ok());
        return (typed.collect(), result.next_cursor);
    };
    let kept: BTreeSet<&str> = result.tools.iter().map(|tool| tool.name.as_ref()).collect();
    tools.retain(|tool| {
        !is_readable(tool) || tool["name"].as_str().is_some_and(|name| kept.contains(name))
    });
    (tools, result.next_cursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_the_library_does_not_know_stay() {
        let tool = json!({"name": "a", "inputSchema": {}, "later": {"x": 1}, "annotations": null});
        let unreadable = json!({"name": "b", "inputSchema": 3});
        let id = RequestId::Number(3);
        let text =
            json!({"jsonrpc": "2.0", "id": 3, "result": {"resultType": "complete", "ttlMs": 1,
            "tools": [tool, unreadable], "nextCursor": "n"}})
            .to_string();
        let of = |message: ServerJsonRpcMessage| {
            let ServerJsonRpcMessage::Response(answer) = message else { panic!() };
            let ServerResult::ListToolsResult(result) = answer.result else { panic!() };
            page(result)
        };
        let expected = (vec![tool, unreadable], Some("n".to_owned()));
        assert_eq!(of(read_answer(text.as_bytes(), |own| *own == id).unwrap()), expected);
        let rewritten = rewrite_answer(&text, &id).unwrap();
        assert_eq!(of(serde_json::from_str(&rewritten).unwrap()), expected);
        assert!(read_answer(text.as_bytes(), |_| false).is_none());
    }

    #[test]
    fn what_the_transport_took_out_stays_out() {
        let tools = json!([{"name": "a", "inputSchema": {}}, {"name": "b", "inputSchema": {}}]);
        let text = json!({"jsonrpc": "2.0", "id": 3, "result": {"tools": tools}}).to_string();
        let (_, mut result) = parse(text.as_bytes(), |_| true).unwrap();
        result.tools.retain(|tool| tool.name != "a");
        assert_eq!(page(result), (vec![json!({"name": "b", "inputSchema": {}})], None));
    }
}
