//! Responses over HTTP: an unreadable one becomes an error that ends its request, and lists of
//! tools are read in their wire form.

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use rmcp::model::{
    ClientRequest, ErrorCode, ErrorData, JsonRpcRequest, RequestId, ServerJsonRpcMessage,
};
use sse_stream::{Error as SseError, Sse};

use super::raw_lists;

/// Code of the error with which the gate ends a request whose response cannot be read.
pub(in crate::client) const UNREADABLE_ANSWER: ErrorCode = ErrorCode(-32_811);

type Request = JsonRpcRequest<ClientRequest>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

fn lists_tools(request: &Request) -> bool {
    matches!(request.request, ClientRequest::ListToolsRequest(_))
}

fn unreadable(id: &RequestId, why: &str) -> ServerJsonRpcMessage {
    let why: String = why.chars().take(200).collect();
    ServerJsonRpcMessage::error(ErrorData::new(UNREADABLE_ANSWER, why, None), Some(id.clone()))
}

/// Parses the response to this request.
pub(crate) fn parse(body: &[u8], request: &Request) -> ServerJsonRpcMessage {
    let raw = lists_tools(request).then(|| raw_lists::read_answer(body, |id| *id == request.id));
    raw.flatten().unwrap_or_else(|| {
        serde_json::from_slice(body)
            .unwrap_or_else(|error| unreadable(&request.id, &error.to_string()))
    })
}

/// Returns the events that respond to this request. A broken stream or an unreadable message ends
/// the request.
pub(crate) fn readable(events: Events, request: &Request) -> Events {
    let (id, lists) = (request.id.clone(), lists_tools(request));
    let event = move |message: &ServerJsonRpcMessage| Sse {
        data: serde_json::to_string(message).ok(),
        ..Sse::default()
    };
    let one = move |next: Result<Sse, SseError>| match next {
        Err(error @ (SseError::Utf8Parse(_) | SseError::IntParse(_))) => {
            Ok(event(&unreadable(&id, &error.to_string())))
        }
        Err(error) => Err(error),
        Ok(sse) => {
            let Some(data) = sse.data.as_deref().filter(|data| !data.trim().is_empty()) else {
                return Ok(sse);
            };
            if lists && let Some(data) = raw_lists::rewrite_answer(data, &id) {
                return Ok(Sse { data: Some(data), ..sse });
            }
            match serde_json::from_str::<ServerJsonRpcMessage>(data) {
                Ok(_) => Ok(sse),
                // A notification of an unknown kind.
                Err(_) if data.contains("\"method\"") && !data.contains("\"result\"") => Ok(sse),
                Err(error) => Ok(event(&unreadable(&id, &error.to_string()))),
            }
        }
    };
    events.map(one).boxed()
}
