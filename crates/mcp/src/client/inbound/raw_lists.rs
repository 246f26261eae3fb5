//! Lists of tools as they are on the wire. rmcp's type of a tool drops members that it does not
//! know; a definition that is reviewed must be complete, since a later reader may use them.

use rmcp::model::{CustomResult, JsonRpcVersion2_0, RequestId, ServerJsonRpcMessage, ServerResult};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Member of a result that holds the list. rmcp would take a result with `tools` for its own type.
const RAW_TOOLS: &str = "dev.toolcrib/rawTools";

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: RequestId,
    result: Map<String, Value>,
}

fn parse(text: &[u8], lists: impl Fn(&RequestId) -> bool) -> Option<(RequestId, Value)> {
    let Answer { id, mut result, .. } = serde_json::from_slice(text).ok()?;
    let tools = result.remove("tools").filter(Value::is_array)?;
    let next = result.remove("nextCursor").unwrap_or_default();
    lists(&id).then(|| (id, json!({RAW_TOOLS: tools, "nextCursor": next})))
}

/// The answer to a request that lists tools; `None` if the text is anything else.
pub(crate) fn read_answer(
    text: &[u8],
    lists: impl Fn(&RequestId) -> bool,
) -> Option<ServerJsonRpcMessage> {
    let (id, result) = parse(text, lists)?;
    let result = ServerResult::CustomResult(CustomResult(result));
    Some(ServerJsonRpcMessage::response(result, id))
}

/// The text of such an answer, for a reader of rmcp's.
pub(crate) fn rewrite_answer(text: &str, lists: &RequestId) -> Option<String> {
    let (id, result) = parse(text.as_bytes(), |id| id == lists)?;
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
}

/// The tools of such a result, and the next page.
pub(crate) fn page(result: CustomResult) -> Option<(Vec<Value>, Option<String>)> {
    let Value::Object(mut result) = result.0 else { return None };
    let tools = result.remove(RAW_TOOLS).or_else(|| result.remove("tools"))?;
    let Value::Array(tools) = tools else { return None };
    let next = result.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
    Some((tools, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_the_library_does_not_know_stay() {
        let tool = json!({"name": "a", "inputSchema": {}, "later": {"x": 1}, "annotations": null});
        let id = RequestId::Number(3);
        let text =
            json!({"jsonrpc": "2.0", "id": 3, "result": {"resultType": "complete", "ttlMs": 1,
            "tools": [tool], "nextCursor": "n"}})
            .to_string();
        let of = |message: ServerJsonRpcMessage| {
            let ServerJsonRpcMessage::Response(answer) = message else { panic!() };
            let ServerResult::CustomResult(result) = answer.result else { panic!() };
            page(result).unwrap()
        };
        let expected = (vec![tool], Some("n".to_owned()));
        assert_eq!(of(read_answer(text.as_bytes(), |own| *own == id).unwrap()), expected);
        let rewritten = rewrite_answer(&text, &id).unwrap();
        assert_eq!(of(serde_json::from_str(&rewritten).unwrap()), expected);
        assert!(read_answer(text.as_bytes(), |_| false).is_none());
    }
}
