//! HTTP fast path: handles the most frequent requests without rmcp. These are tool lists, which are
//! cached as JSON, and calls of clients of the current revision that need only a response. Every
//! other request goes to rmcp.
//!
//! rmcp identifies a message by trying all its forms, and runs a service for each HTTP request
//! (docs/adr/0066); `cargo xtask bench` compares a call with the same call of a bare rmcp server.
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

use super::McpServer;
use super::mcp_server::LOG_LEVEL;
use crate::stdio::FastCall;

/// Longest request that may be a tool list, in bytes.
const LIST_BYTES: usize = 4096;
/// A schema property that is also sent as a header; rmcp checks those.
const AS_HEADER: &str = "x-mcp-header";

pub(super) type Answer = Response<BoxBody<Bytes, Infallible>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListRequest<'a> {
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

impl<'a> ListRequest<'a> {
    /// Parses the request; `None` if it is anything else.
    pub(super) fn parse(text: &'a [u8]) -> Option<Self> {
        let text = text.get(..LIST_BYTES.min(text.len()))?;
        let list: Self = serde_json::from_slice(text).ok()?;
        (list.method == "tools/list").then_some(list)
    }

    /// Returns its metadata, if there is any.
    pub(super) fn meta(&self) -> Option<&RequestMetaObject> {
        self.params.as_ref()?.meta.as_ref()
    }
}

/// Returns whether the metadata is complete for the current revision and requests nothing but a
/// response.
pub(super) fn is_fast_meta(meta: &RequestMetaObject) -> bool {
    meta.protocol_version() == Some(ProtocolVersion::V_2026_07_28)
        && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
        && meta.get_progress_token().is_none()
        && !meta.contains_key(LOG_LEVEL)
}

/// Wraps a cached result into the response to this request.
pub(super) fn write_answer(id: &RequestId, result: &[u8]) -> Option<Vec<u8>> {
    let id = serde_json::to_vec(id).ok()?;
    let mut text = Vec::with_capacity(result.len() + id.len() + 40);
    for part in [&b"{\"jsonrpc\":\"2.0\",\"id\":"[..], &id, b",\"result\":", result, b"}"] {
        text.extend_from_slice(part);
    }
    Some(text)
}

/// Returns the value of a header that occurs exactly once.
fn single_header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Returns whether the request's headers qualify for the fast path.
pub(super) fn is_candidate<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    let accepts = single_header(headers, "accept").unwrap_or_default();
    request.method() == Method::POST
        && single_header(headers, "content-type") == Some("application/json")
        && accepts.contains("application/json")
        && accepts.contains("text/event-stream")
        && !accepts.contains(";")
        && single_header(headers, "mcp-protocol-version")
            == Some(ProtocolVersion::V_2026_07_28.as_str())
        && matches!(single_header(headers, "mcp-method"), Some("tools/call" | "tools/list"))
        && !headers.contains_key("mcp-session-id")
        && headers.keys().all(|name| !name.as_str().starts_with("mcp-param-"))
}

/// Handles a request for which [`is_candidate`] is true; returns its body if it must go to rmcp.
pub(super) async fn handle<B>(
    serve: &McpServer,
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
    let answered = match single_header(&parts.headers, "mcp-method") {
        Some("tools/list") => list(serve, &parts.extensions, &text),
        _ => call(serve, &parts, &text).await,
    };
    answered.ok_or_else(|| Request::from_parts(parts, Full::new(text)))
}

fn list(serve: &McpServer, known: &http::Extensions, text: &[u8]) -> Option<Answer> {
    let list = ListRequest::parse(text)?;
    let capabilities = list.meta().filter(|meta| is_fast_meta(meta))?.client_capabilities()?;
    let listing = serve.listing(&serve.backend().identify(Some(known)).ok()?, &capabilities)?;
    Some(json(StatusCode::OK, write_answer(&list.id, &listing.modern)?))
}

async fn call(serve: &McpServer, parts: &http::request::Parts, text: &[u8]) -> Option<Answer> {
    let FastCall { id, name, arguments, meta } = FastCall::parse(text)?;
    let meta = meta?;
    let is_named = single_header(&parts.headers, "mcp-name") == Some(&name);
    if !is_named || !is_fast_meta(&meta) {
        return None;
    }
    if serve.backend().tool(&name).is_some_and(|entry| has_header(&entry.spec().input_schema)) {
        return None;
    }
    let who = serve.backend().identify(Some(&parts.extensions)).ok()?;
    let capabilities = meta.client_capabilities()?;
    let mut params = CallToolRequestParams::new(name);
    params.arguments = arguments;
    let (status, said) = match serve.call_fast(who, id.clone(), params, capabilities).await {
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

/// Returns whether any property is also sent as a header.
fn has_header(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().any(|(key, value)| key == AS_HEADER || has_header(value)),
        Value::Array(items) => items.iter().any(has_header),
        _ => false,
    }
}
