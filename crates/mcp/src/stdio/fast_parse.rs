//! Fast parsers for a tool call and its result, the two most frequent messages. Each accepts
//! exactly one form. Any other message goes to rmcp, whose untagged enums try every variant in
//! turn.

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientJsonRpcMessage, ClientRequest,
    ContentBlock, JsonObject, JsonRpcMessage, JsonRpcVersion2_0, MetaObject, RequestId,
    RequestMetaObject, ResultType, ServerJsonRpcMessage, ServerResult,
};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A typical `tools/call` request.
pub(crate) struct FastCall {
    pub(crate) id: RequestId,
    pub(crate) name: String,
    pub(crate) arguments: Option<JsonObject>,
    pub(crate) meta: Option<RequestMetaObject>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request<'a> {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: RequestId,
    method: &'a str,
    params: CallParams,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallParams {
    name: String,
    arguments: Option<JsonObject>,
    #[serde(rename = "_meta")]
    meta: Option<RequestMetaObject>,
}

impl FastCall {
    /// Parses a request; `None` if it is anything else.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let request: Request<'_> = serde_json::from_slice(text).ok()?;
        let CallParams { name, arguments, meta } = request.params;
        (request.method == "tools/call").then_some(Self { id: request.id, name, arguments, meta })
    }
}

impl From<FastCall> for ClientJsonRpcMessage {
    fn from(call: FastCall) -> Self {
        let mut params = CallToolRequestParams::new(call.name);
        params.arguments = call.arguments;
        let mut request = CallToolRequest::new(params);
        request.extensions.insert(call.meta.unwrap_or_default());
        Self::request(ClientRequest::CallToolRequest(request), call.id)
    }
}

/// A typical result of a call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: RequestId,
    result: AnswerResult,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct AnswerResult {
    content: Vec<ContentBlock>,
    #[serde(default, deserialize_with = "present")]
    structured_content: Option<Value>,
    is_error: Option<bool>,
    result_type: Option<ResultType>,
    #[serde(rename = "_meta")]
    meta: Option<MetaObject>,
}

/// Deserializes an explicit `null` as a value.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// Parses the result of a call; `None` if it is anything else.
pub(super) fn parse_result(text: &[u8]) -> Option<ServerJsonRpcMessage> {
    let answer: Answer = serde_json::from_slice(text).ok()?;
    let told = answer.result;
    if told.result_type.as_ref().is_some_and(|kind| !kind.is_complete()) {
        return None;
    }
    let mut result = CallToolResult::default();
    (result.content, result.is_error) = (told.content, told.is_error);
    (result.structured_content, result.result_type) = (told.structured_content, told.result_type);
    result.meta = told.meta;
    Some(JsonRpcMessage::response(ServerResult::CallToolResult(result), answer.id))
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use serde::de::DeserializeOwned;

    use super::*;

    /// Checks that both parsers return the same message.
    fn check<M: Debug + DeserializeOwned>(ours: Option<M>, line: &str, quick: bool) {
        assert_eq!(ours.is_some(), quick, "{line}");
        let Some(ours) = ours else { return };
        let theirs: M = serde_json::from_str(line).unwrap();
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "{line}");
    }

    fn check_call(line: &str, quick: bool) {
        check(FastCall::parse(line.as_bytes()).map(ClientJsonRpcMessage::from), line, quick);
    }

    fn check_result(line: &str, quick: bool) {
        check(parse_result(line.as_bytes()), line, quick);
    }

    #[test]
    fn what_is_read_quickly_is_read_as_the_library_reads_it() {
        let call = |rest: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a"{rest}}}}}"#
            )
        };
        check_call(&call(""), true);
        check_call(&call(r#","arguments":{"x":[1,{"y":null}],"z":"\u00e9"}"#), true);
        check_call(&call(r#","_meta":{"progressToken":7,"x":{}}"#), true);
        check_call(&call(r#","requestState":"s""#), false);
        check_call(&call(r#","task":{}"#), false);
        check_call(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"name":"a"}}"#,
            false,
        );
        check_call(r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}"#, false);
        check_call(
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
            false,
        );
        let answer =
            |result: &str| format!(r#"{{"jsonrpc":"2.0","id":"x","result":{{{result}}}}}"#);
        check_result(&answer(r#""content":[{"type":"text","text":"hi"}]"#), true);
        check_result(&answer(r#""content":[],"structuredContent":null,"isError":true"#), true);
        check_result(&answer(r#""content":[],"resultType":"complete","_meta":{"a":1}"#), true);
        check_result(&answer(r#""content":[],"resultType":"task","taskId":"1""#), false);
        check_result(&answer(r#""content":[],"messages":[]"#), false);
        check_result(&answer(r#""tools":[]"#), false);
        check_result(&answer(r#""content":[{"type":"strange"}]"#), false);
    }
}
