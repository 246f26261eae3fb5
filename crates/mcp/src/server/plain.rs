//! Over HTTP, the common requests without the library: a list of tools that is written down already, and a call of a client of today's revision that is told of
//! nothing but by its answer. Whatever does not look exactly like one of them is for the library.
#![deny(clippy::indexing_slicing)]

use std::convert::Infallible;
use std::fmt::Display;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use rmcp::model::{
    CallToolRequestParams, ErrorCode, JsonRpcVersion2_0, ProtocolVersion, RequestId,
    RequestMetaObject, ServerJsonRpcMessage,
};
use serde::Deserialize;
use serde_json::Value;

use super::Serve;
use super::serve::LOG_LEVEL;
use crate::lines::Call;

/// A request that is no longer than this may be a list.
const LIST_BYTES: usize = 4096;
/// A property of a schema that is sent as a header too, which the library checks.
const AS_HEADER: &str = "x-mcp-header";

pub(super) type Answer = Response<BoxBody<Bytes, Infallible>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct List<'a> {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    pub(super) id: RequestId,
    method: &'a str,
    params: Option<ListParams>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListParams {
    #[serde(rename = "_meta")]
    meta: Option<RequestMetaObject>,
}

impl<'a> List<'a> {
    /// `None` = it is something else, or not exactly so.
    pub(super) fn of(text: &'a [u8]) -> Option<Self> {
        let text = text.get(..LIST_BYTES.min(text.len()))?;
        let list: Self = serde_json::from_slice(text).ok()?;
        (list.method == "tools/list").then_some(list)
    }

    /// What it says of itself; `None` = nothing.
    pub(super) fn meta(&self) -> Option<&RequestMetaObject> {
        self.params.as_ref()?.meta.as_ref()
    }
}

/// Whether a request says all that today's revision wants, and nothing that needs more than an answer.
pub(super) fn is_plain(meta: &RequestMetaObject) -> bool {
    meta.protocol_version() == Some(ProtocolVersion::V_2026_07_28)
        && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
        && meta.get_progress_token().is_none()
        && !meta.contains_key(LOG_LEVEL)
}

/// A result that is written down, as an answer to this request.
pub(super) fn answer(id: &RequestId, result: &[u8]) -> Option<Vec<u8>> {
    let id = serde_json::to_vec(id).ok()?;
    let mut text = Vec::with_capacity(result.len() + id.len() + 40);
    for part in [&b"{\"jsonrpc\":\"2.0\",\"id\":"[..], &id, b",\"result\":", result, b"}"] {
        text.extend_from_slice(part);
    }
    Some(text)
}

/// The one value of a header.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Whether the head of a request is that of one of ours.
pub(super) fn may_be<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    let accepts = one(headers, "accept").unwrap_or_default();
    request.method() == Method::POST
        && one(headers, "content-type") == Some("application/json")
        && accepts.contains("application/json")
        && accepts.contains("text/event-stream")
        && !accepts.contains(";")
        && one(headers, "mcp-protocol-version") == Some(ProtocolVersion::V_2026_07_28.as_str())
        && matches!(one(headers, "mcp-method"), Some("tools/call" | "tools/list"))
        && !headers.contains_key("mcp-session-id")
        && headers.keys().all(|name| !name.as_str().starts_with("mcp-param-"))
}

/// The answer to a request whose head [`may_be`] ours, or its body and it is for the library.
pub(super) async fn handle<B>(
    serve: &Serve,
    request: Request<B>,
) -> Result<Answer, Request<Full<Bytes>>>
where
    B: http_body::Body,
    B::Error: Display,
{
    let (parts, body) = request.into_parts();
    let text = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => {
            let words = format!("the body could not be read: {error}");
            let mut refused = Response::new(Full::new(words.into()).boxed());
            *refused.status_mut() = StatusCode::BAD_REQUEST;
            return Ok(refused);
        }
    };
    let answered = match one(&parts.headers, "mcp-method") {
        Some("tools/list") => list(serve, &parts.extensions, &text),
        _ => call(serve, &parts, &text).await,
    };
    answered.ok_or_else(|| Request::from_parts(parts, Full::new(text)))
}

fn list(serve: &Serve, known: &http::Extensions, text: &[u8]) -> Option<Answer> {
    let list = List::of(text)?;
    list.meta().filter(|meta| is_plain(meta))?;
    let listing = serve.listing(&serve.door().who(Some(known)).ok()?)?;
    Some(json(StatusCode::OK, answer(&list.id, &listing.modern)?))
}

async fn call(serve: &Serve, parts: &http::request::Parts, text: &[u8]) -> Option<Answer> {
    let Call { id, name, arguments, meta } = Call::of(text)?;
    let meta = meta?;
    let is_named = one(&parts.headers, "mcp-name") == Some(&name);
    if !is_named || !is_plain(&meta) {
        return None;
    }
    if serve.door().tool(&name).is_some_and(|entry| has_header(&entry.spec().input_schema)) {
        return None;
    }
    let who = serve.door().who(Some(&parts.extensions)).ok()?;
    let capabilities = meta.client_capabilities()?;
    let mut params = CallToolRequestParams::new(name);
    params.arguments = arguments;
    let (status, said) = match serve.call_plainly(who, id.clone(), params, capabilities).await {
        Ok(result) => (StatusCode::OK, ServerJsonRpcMessage::response(result, id)),
        Err(error) => {
            let is_request = error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
            let status = if is_request { StatusCode::BAD_REQUEST } else { StatusCode::OK };
            (status, ServerJsonRpcMessage::error(error, Some(id)))
        }
    };
    Some(json(status, serde_json::to_vec(&said).unwrap_or_default()))
}

fn json(status: StatusCode, text: Vec<u8>) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text)).boxed());
    *answer.status_mut() = status;
    let json = header::HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, json);
    answer
}

/// Whether any property is sent as a header too.
fn has_header(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().any(|(key, value)| key == AS_HEADER || has_header(value)),
        Value::Array(items) => items.iter().any(has_header),
        _ => false,
    }
}
