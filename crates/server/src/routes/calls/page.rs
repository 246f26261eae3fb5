//! The page of a call's server (MCP Apps): its HTML under a policy that grants neither an origin
//! nor network access, and the calls and resources that the page requests.

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolcrib_core::CallId;
use toolcrib_ops::Resource;
use toolcrib_ops::calls::{
    self, CallPageRequest, CallerContextRequest, PageResource, PageResourceRequest, PageToolRequest,
};

use super::document::{answer_response, document_status_codes, no_answer};
use super::start::{NewCall, in_context};
use crate::active_requests::CallsReply;
use crate::admission::AdmittedCaller;
use crate::api::{Api, Json, Operation, Path, Query, parse_id};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Policy of a page of a server: it runs its own inline scripts and is rendered. `sandbox` removes
/// its origin wherever it is opened, so that it reads no cookie, no storage and no other page.
const POLICY: &str = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
    img-src data: blob:; media-src data: blob:; font-src data:; connect-src 'none'; frame-src 'none'; \
    worker-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// A call that a page requests.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PageCall {
    /// Name of the tool on the server of the page.
    #[schemars(length(min = 1))]
    tool: String,
    /// Its arguments.
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// A resource that a page requests.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PageResourceQuery {
    /// Address of the resource on the server of the page.
    #[schemars(length(min = 1, max = 2000))]
    uri: String,
}

pub(super) fn routes(api: &mut Api) {
    let show = Operation::get(
        "/calls/{id}/page",
        Role::Caller,
        "Gets the page with which the MCP server of a call's tool shows its result.",
    );
    let show = show.description("HTML of the server (MCP Apps, SEP-1865), under a policy that gives it no origin and no network. Show it only in a frame with `sandbox=\"allow-scripts\"`, never as part of a page.");
    api.add(show.returns_media("text/html; charset=utf-8", "The page."), show_page);
    let call = Operation::post(
        "/calls/{id}/page/calls",
        Role::Caller,
        "Runs a tool on request of the page of a call.",
    );
    let call = call.queues_calls().description("Only tools of the same server that are for pages. The call goes through the same checks as every other; its topic names the page that asked.").body::<PageCall>();
    api.add(document_status_codes(call), call_tool);
    let read = Operation::get(
        "/calls/{id}/page/resource",
        Role::Caller,
        "Reads a resource on request of the page of a call.",
    );
    let read = read.description("Only resources of the server of the page, while its tool is enabled; of at most 4 MB, with secrets masked. It is for the page: nothing in it is sanitized.");
    let read = read.query::<PageResourceQuery>().returns_ok::<PageResource>("The resource.");
    api.add(read, read_resource);
}

async fn read_resource(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(call): Path<String>,
    Query(PageResourceQuery { uri }): Query<PageResourceQuery>,
) -> Result<Json<PageResource>, Problem> {
    let call: CallId = parse_id(Resource::Call, &call)?;
    daemon.require_call(&principal, call).await?;
    let request = PageResourceRequest { call, uri };
    Ok(Json(calls::page_resource(&daemon.op_context(&principal, None), request).await?))
}

async fn show_page(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(call): Path<String>,
) -> Result<Response, Problem> {
    let call: CallId = parse_id(Resource::Call, &call)?;
    daemon.require_call(&principal, call).await?;
    let ctx = daemon.op_context(&principal, None);
    let html = calls::page(&ctx, CallPageRequest { call }).await?;
    let fixed = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN")),
        // DNS lookups could leak data, too.
        (HeaderName::from_static("x-dns-prefetch-control"), HeaderValue::from_static("off")),
    ];
    Ok((fixed, html).into_response())
}

async fn call_tool(
    State(daemon): State<DaemonState>,
    principal: AdmittedCaller,
    Path(call): Path<String>,
    Json(body): Json<PageCall>,
) -> Result<Response, Problem> {
    let call: CallId = parse_id(Resource::Call, &call)?;
    daemon.require_call(&principal, call).await?;
    let request = PageToolRequest { call, tool: body.tool };
    let found = calls::page_tool(&daemon.op_context(&principal, None), request).await?;
    let server = found.spec.group.as_deref().unwrap_or_default();
    let topic = Some(format!("asked for by the page of {server}"));
    let arguments = Value::Object(body.arguments);
    let new = NewCall { tool: found.spec.name.to_string(), arguments };
    let batch = daemon.calls().build_batch(&principal, vec![new.call()]);
    let conversation = found.conversation;
    let context = CallerContextRequest { agent: None, conversation, topic };
    let batch = in_context(&daemon, &principal, batch, context).await?;
    match daemon.calls().run(&principal, batch, None, None).await? {
        CallsReply::Answers(mut answers) => {
            Ok(answer_response(answers.pop().ok_or_else(no_answer)?))
        }
        CallsReply::Accepted(_) => Err(no_answer()),
    }
}
