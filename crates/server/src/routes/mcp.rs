//! MCP at `/mcp`: all revisions, behind the same checks as every route, and each call through the same door.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use toolcrib_app::core::invoke::DecideError;
use toolcrib_app::core::{
    Answer, ApprovalId, Batch, BoxFuture, Call, CallId, DecisionRecord, Entry, ErrorType,
    Invoker as _, Origin, ToolError, View, Watch, canonical,
};
use toolcrib_app::mcp::server::{Door, HttpSettings, Mode, Service, Shelf, Who, service};
use toolcrib_app::mcp::{self, Shelves};

use crate::api::{Api, Operation};
use crate::daemon::Daemon;
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::work::view_of;

const PATH: &str = "/mcp";
/// Bytes of a refusal that are passed on.
const WORDS: usize = 4096;

pub(super) fn routes(api: &mut Api) {
    let of = |operation: Operation| operation.at_root().tag("mcp").stands_in_line();
    let post = Operation::post(PATH, Role::Caller, "Takes a message of an MCP client.");
    let post = post.about("Streamable HTTP in all revisions up to 2026-07-28 (docs/mcp.md).");
    let post = post.or_takes("application/json");
    let post = post.gives("text/event-stream", "The answer, as JSON or as a stream.");
    api.add(of(post), handle);
    let get = Operation::get(PATH, Role::Caller, "Streams messages to an MCP client.");
    api.add(of(get.gives("text/event-stream", "The messages of its session.")), handle);
    let delete = Operation::delete(PATH, Role::Caller, "Ends the session of an MCP client.");
    api.add(of(delete.empty(204, "It has ended.")), handle);
}

async fn handle(Extension(endpoint): Extension<Service>, request: Request) -> Response {
    in_our_words(endpoint.handle(request).await.map(Body::new)).await
}

/// What the protocol's own layer refuses in plain text is refused as everywhere else; its answers in JSON are messages of the protocol.
async fn in_our_words(response: Response) -> Response {
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
    let words = axum::body::to_bytes(response.into_body(), WORDS).await.unwrap_or_default();
    Problem::new(code, String::from_utf8_lossy(&words)).into_response()
}

/// The endpoint of this daemon. Who may ask for which host was looked at in front of all routes.
pub(crate) fn endpoint(daemon: &Daemon) -> Service {
    let shelves = Shelves::new(daemon.toolcrib().clone());
    let door = Arc::new(DaemonDoor { daemon: daemon.clone(), shelves });
    let serve = mcp::serve(daemon.toolcrib(), door, Mode::Direct);
    let body_bytes = daemon.settings().body_bytes;
    let stop = daemon.stopping().clone();
    service(serve, HttpSettings { hosts: Vec::new(), body_bytes, stop })
}

/// The daemon as a door: whoever holds a token is the caller.
struct DaemonDoor {
    daemon: Daemon,
    shelves: Shelves,
}

fn principal(who: &Who) -> Result<&Principal, ToolError> {
    let nobody = || ToolError::new(ErrorType::PolicyDenied, "Nobody is known to ask.");
    who.known.downcast_ref::<Principal>().ok_or_else(nobody)
}

/// A call that its client may take back. Dropped before it has ended, it is stopped.
struct Stops<'a> {
    daemon: &'a Daemon,
    call: Option<CallId>,
}

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call {
            self.daemon.toolcrib().engine().cancel_call(call);
        }
    }
}

impl Door for DaemonDoor {
    fn who(&self, request: Option<&axum::http::Extensions>) -> Result<Who, String> {
        let principal = request.and_then(|known| known.get::<Principal>());
        let principal = principal.ok_or("send a token")?;
        let (name, owner) = (principal.name.clone(), principal.owner.clone());
        // Two owners may have clients of one name.
        let client = canonical::sha256_parts(&[&owner, &principal.client]);
        Ok(Who { name, client, owner, known: Arc::new(principal.clone()) })
    }

    fn view(&self, who: &Who) -> Arc<View> {
        let Ok(principal) = principal(who) else { return Arc::default() };
        self.daemon.toolcrib().catalog().view(&Arc::new(view_of(principal)))
    }

    fn tool(&self, name: &str) -> Option<Entry> {
        self.daemon.toolcrib().catalog().view(&Arc::default()).find(name).cloned()
    }

    fn call<'a>(
        &'a self,
        who: &'a Who,
        call: Call,
        watch: Option<Arc<dyn Watch>>,
    ) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async move {
            let principal = principal(who)?;
            let mut stops = Stops { daemon: &self.daemon, call: Some(call.id) };
            let batch = self.daemon.batch_of(principal, vec![call]);
            let batch = Batch { origin: Origin::Mcp, ..batch };
            let engine = self.daemon.toolcrib().engine().clone();
            let work = async move {
                Ok(match watch {
                    Some(watch) => engine.invoke_watched(batch, watch).await,
                    None => engine.invoke(batch).await,
                })
            };
            let turn = self.daemon.turn(principal, 1).await;
            let turn = turn.map_err(|problem| refused(&problem.detail))?;
            let answers = self.daemon.run_on(turn, work).await;
            stops.call = None;
            let answer = answers.map_err(|problem| refused(&problem.detail))?.pop();
            if matches!(answer, Some(Answer::Suspended(_))) {
                self.daemon.live().poke();
            }
            answer.ok_or_else(|| ToolError::execution("The call has no answer."))
        })
    }

    /// As over REST: by a token that may decide, and not about its own requests where four eyes are wanted.
    fn may_decide(&self, who: &Who) -> bool {
        let may = principal(who).is_ok_and(|principal| principal.may(Role::Approver));
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

    fn shelf(&self) -> &dyn Shelf {
        &self.shelves
    }
}

/// The daemon takes no call now.
fn refused(words: &str) -> ToolError {
    ToolError::new(ErrorType::RateLimited, format!("The call was not taken: {words}."))
}
