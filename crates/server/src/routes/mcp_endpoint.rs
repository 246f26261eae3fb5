//! MCP at `/mcp`: all protocol revisions, behind the same checks as every route, with each call
//! through the same pipeline.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use toolcrib_app::mcp::server::{
    ClientIdentity, HttpSettings, McpBackend, ResourcesAndPrompts, Service, ToolListMode, service,
};
use toolcrib_app::mcp::{self, ToolcribResources};
use toolcrib_core::invoker::DecideError;
use toolcrib_core::{
    Answer, ApprovalId, Batch, BatchSubscriber, BoxFuture, Call, CallId, DecisionRecord, Entry,
    ErrorType, Invoker as _, Origin, ToolError, View, canonical_json,
};

use crate::active_requests::view_request_for;
use crate::admission::AdmittedCaller;
use crate::api::{Api, MCP_PATH, Operation};
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::start_error::StartError;
use crate::state::DaemonState;

/// Maximum number of bytes of a plain-text error that are passed on.
const MAX_ERROR_BYTES: usize = 4096;

pub(super) fn routes(api: &mut Api) {
    let of = |operation: Operation| operation.at_root().tag("mcp").queues_calls();
    let post = Operation::post(MCP_PATH, Role::Caller, "Accepts a message of an MCP client.");
    let post = post.description("Streamable HTTP in all revisions up to 2026-07-28 (docs/mcp.md).");
    let post = post.also_accepts("application/json");
    let post = post.returns_media("text/event-stream", "The answer, as JSON or as a stream.");
    api.add(of(post), handle);
    let get = Operation::get(MCP_PATH, Role::Caller, "Streams messages to an MCP client.");
    api.add(of(get.returns_media("text/event-stream", "The messages of its session.")), handle);
    let delete = Operation::delete(MCP_PATH, Role::Caller, "Ends the session of an MCP client.");
    api.add(of(delete.returns_empty(204, "It has ended.")), handle);
}

async fn handle(Extension(endpoint): Extension<Service>, request: Request) -> Response {
    rewrite_error(endpoint.handle(request).await.map(Body::new)).await
}

/// Converts plain-text errors of the protocol layer to [`Problem`]s, as at every other route; JSON
/// errors are messages of the protocol and stay unchanged.
async fn rewrite_error(response: Response) -> Response {
    let status = response.status();
    let media_type = response.headers().get(header::CONTENT_TYPE);
    let is_message =
        media_type.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if is_message || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let code = match status.as_u16() {
        404 => Code::NotFound,
        405 => Code::MethodNotAllowed,
        413 => Code::TooLarge,
        415 => Code::UnsupportedMediaType,
        500.. => Code::Internal,
        _ => Code::BadRequest,
    };
    let words =
        axum::body::to_bytes(response.into_body(), MAX_ERROR_BYTES).await.unwrap_or_default();
    Problem::new(code, String::from_utf8_lossy(&words)).into_response()
}

/// Creates the endpoint of this daemon. It allows any host, because the middleware has already
/// checked Host and Origin.
///
/// # Errors
/// [`StartError::Random`] if its key cannot be generated.
pub(crate) fn endpoint(daemon: &DaemonState) -> Result<Service, StartError> {
    let resources = ToolcribResources::new(daemon.toolcrib().clone());
    let backend = Arc::new(DaemonBackend { daemon: daemon.clone(), resources });
    let serve = mcp::serve(daemon.toolcrib(), backend, ToolListMode::Direct)?;
    let body_bytes = daemon.settings().body_bytes;
    let stop = daemon.shutdown_token().clone();
    Ok(service(serve, HttpSettings { hosts: Vec::new(), body_bytes, stop }))
}

/// The daemon as the backend of MCP: the principal of the token is the caller.
struct DaemonBackend {
    daemon: DaemonState,
    resources: ToolcribResources,
}

fn principal(who: &ClientIdentity) -> Result<&AdmittedCaller, ToolError> {
    let nobody =
        || ToolError::new(ErrorType::PolicyDenied, "The caller of this session is unknown.");
    who.extensions.downcast_ref::<AdmittedCaller>().ok_or_else(nobody)
}

/// A call that its client may abandon: it is cancelled if this guard is dropped before the call
/// ends.
struct CancelOnDrop<'a> {
    daemon: &'a DaemonState,
    call: Option<CallId>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call {
            self.daemon.toolcrib().engine().cancel_call(call);
        }
    }
}

impl McpBackend for DaemonBackend {
    fn identify(&self, request: Option<&axum::http::Extensions>) -> Result<ClientIdentity, String> {
        let request = request.ok_or("send a token")?;
        let principal = request.get::<Principal>().ok_or("send a token")?;
        let (name, owner) = (principal.name.clone(), principal.owner.clone());
        // Clients of two owners may have the same name.
        let client = canonical_json::sha256_parts(&[&owner, &principal.client]);
        let extensions = Arc::new(AdmittedCaller::new(principal.clone(), request));
        Ok(ClientIdentity { name, client, owner, extensions })
    }

    fn view(&self, who: &ClientIdentity) -> Arc<View> {
        let Ok(principal) = principal(who) else { return Arc::default() };
        self.daemon.toolcrib().catalog().view(&Arc::new(view_request_for(principal)))
    }

    fn tool(&self, name: &str) -> Option<Entry> {
        self.daemon.toolcrib().catalog().view(&Arc::default()).find(name).cloned()
    }

    fn call<'a>(
        &'a self,
        who: &'a ClientIdentity,
        call: Call,
        watch: Option<Arc<dyn BatchSubscriber>>,
    ) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async move {
            let principal = principal(who)?;
            let mut stops = CancelOnDrop { daemon: &self.daemon, call: Some(call.id) };
            let batch = self.daemon.calls().build_batch(principal, vec![call]);
            let batch = Batch { origin: Origin::Mcp, ..batch };
            let engine = self.daemon.toolcrib().engine().clone();
            let work = async move {
                Ok(match watch {
                    Some(watch) => engine.invoke_with_subscriber(batch, watch).await,
                    None => engine.invoke(batch).await,
                })
            };
            let turn = self.daemon.calls().acquire_permit(principal, 1).await;
            let turn = turn.map_err(|refusal| refused(&refusal.to_string()))?;
            let answers = self.daemon.calls().run_with_permit(turn, work).await;
            stops.call = None;
            let answer = answers.map_err(|problem| refused(&problem.detail))?.pop();
            if matches!(answer, Some(Answer::Suspended(_))) {
                self.daemon.run_supervisor().wake();
            }
            answer.ok_or_else(|| ToolError::execution("The call has no answer."))
        })
    }

    /// Returns whether the client may decide. As over REST, this requires the role approver; with
    /// four eyes, a principal may not decide about its own requests.
    fn may_decide(&self, who: &ClientIdentity) -> bool {
        let may = principal(who).is_ok_and(|principal| principal.has_role(Role::Approver));
        may && !self.daemon.settings().four_eyes
    }

    fn decide(
        &self,
        approval: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Option<Answer>, DecideError>> {
        self.daemon.toolcrib().engine().decide(approval, decision)
    }

    fn has_inbox(&self) -> bool {
        self.daemon.toolcrib().engine().settings().inbox
    }

    fn generation(&self) -> u64 {
        self.daemon.toolcrib().catalog().generation()
    }

    fn resources_and_prompts(&self) -> &dyn ResourcesAndPrompts {
        &self.resources
    }
}

/// Returns the error of a call that the daemon does not accept now.
fn refused(words: &str) -> ToolError {
    ToolError::new(ErrorType::RateLimited, format!("The call was not accepted: {words}."))
}
