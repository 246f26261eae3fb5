//! The router, built from operations and their handlers.
//!
//! Invariant: a route exists only as an [`Operation`], which names the role that may call it.
//! [`ToolLimit`](crate::ToolLimit) restricts tokens that are limited to some tools.

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::{HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, on};

use super::operation::{Access, BASE, Operation};
use super::tool_limits::ToolLimit;
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::state::DaemonState;
use crate::telemetry;

/// Access to the answers for unknown paths and methods: a client without a token must not learn
/// which paths exist.
const ANY_ROLE: Access = Access::Role(Role::Viewer);

/// Operations with their handlers.
#[derive(Default)]
pub(crate) struct Api {
    router: Router<DaemonState>,
    operations: Vec<Operation>,
}

impl Api {
    /// Adds an operation. Principals without its role never reach the handler.
    pub(crate) fn add<H, T>(&mut self, operation: Operation, handler: H)
    where
        H: Handler<T, DaemonState>,
        T: 'static,
    {
        let Ok(filter) = MethodFilter::try_from(operation.method.clone()) else { return };
        let (access, is_detached) = (operation.access, operation.runs_to_completion());
        let tool_limit = operation.tool_limit();
        let check = middleware::from_fn(move |request: Request, next: Next| async move {
            let allowed = check_access(access, &request)
                .and_then(|()| check_tool_limit(tool_limit, &request));
            match allowed {
                Ok(()) if is_detached => run_to_completion(next.run(request)).await,
                Ok(()) => next.run(request).await,
                Err(problem) => problem.into_response(),
            }
        });
        let path = operation.full_path();
        let routed = on(filter, handler).route_layer(check);
        let mut router = std::mem::take(&mut self.router).route(&path, routed.clone());
        if let Some(former) = former_path(operation.path) {
            let says_so =
                middleware::map_response(move |response| deprecated(response, path.clone()));
            router = router.route(&format!("{BASE}{former}"), routed.route_layer(says_so));
        }
        self.router = router;
        self.operations.push(operation);
    }

    /// Returns the router and its operations. Unknown paths and methods are answered only with a
    /// valid token.
    pub(crate) fn finish(self) -> (Router<DaemonState>, Vec<Operation>) {
        let router = self.router.fallback(not_found).method_not_allowed_fallback(not_allowed);
        (router, self.operations)
    }
}

/// The former path of an operation, which works for one more release.
fn former_path(path: &str) -> Option<String> {
    // Deprecated in 0.2, to be removed in 0.3.
    path.strip_prefix("/custom-instructions").map(|rest| format!("/soul{rest}"))
}

/// Adds the date since when a path is deprecated (RFC 9745), and the path that replaces it.
async fn deprecated(mut response: Response, replaced_by: String) -> Response {
    // 2026-11-28, when the names changed.
    let since = HeaderValue::from_static("@1795824000");
    response.headers_mut().insert("deprecation", since);
    if let Ok(link) = HeaderValue::from_str(&format!("<{replaced_by}>; rel=\"successor-version\""))
    {
        response.headers_mut().append(header::LINK, link);
    }
    response
}

/// Runs an operation that changes something to its end, audit record included, also when its client
/// disconnects.
async fn run_to_completion(act: impl Future<Output = Response> + Send + 'static) -> Response {
    tokio::spawn(telemetry::with_request_context(act)).await.unwrap_or_else(|error| {
        tracing::error!(%error, "a request panicked");
        let detail =
            "the daemon failed; check whether the request took effect before you send it again";
        Problem::new(Code::Internal, detail).into_response()
    })
}

async fn not_found(request: Request) -> Problem {
    let detail = format!("there is no {}", request.uri().path());
    check_access(ANY_ROLE, &request).err().unwrap_or_else(|| Problem::not_found(detail))
}

async fn not_allowed(request: Request) -> Problem {
    let detail = format!("{} does not support {}", request.uri().path(), request.method());
    let problem = Problem::new(Code::MethodNotAllowed, detail);
    check_access(ANY_ROLE, &request).err().unwrap_or(problem)
}

fn check_access(access: Access, request: &Request) -> Result<(), Problem> {
    let Access::Role(role) = access else { return Ok(()) };
    match request.extensions().get::<Principal>() {
        Some(principal) => {
            telemetry::set_principal(principal);
            principal.require_role(role)
        }
        // The middleware has stored the reason why there is no principal.
        None => Err(request.extensions().get::<Problem>().cloned().unwrap_or_else(|| {
            Problem::new(
                Code::Unauthorized,
                "send a token: `Authorization: Bearer …`; `toolcrib token show` prints that of this machine",
            )
        })),
    }
}

fn check_tool_limit(limit: ToolLimit, request: &Request) -> Result<(), Problem> {
    let principal = request.extensions().get::<Principal>();
    let limited = principal.filter(|principal| principal.tools.is_some());
    match (limit, limited) {
        (ToolLimit::Refused(why), Some(principal)) => Err(Problem::new(
            Code::Forbidden,
            format!(
                "{} is limited to some tools, and {why}; use a token without that limit",
                principal.name
            ),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::*;

    /// Regression, found in review: a rule was added without its audit record because its client
    /// disconnected.
    #[tokio::test]
    async fn an_operation_that_changes_something_ends_without_its_client() {
        let (go, may_go) = oneshot::channel::<()>();
        let (did, done) = oneshot::channel();
        let act = async move {
            may_go.await.unwrap();
            did.send(()).unwrap();
            ().into_response()
        };
        assert!(tokio::time::timeout(Duration::ZERO, run_to_completion(act)).await.is_err());
        go.send(()).unwrap();
        done.await.unwrap();
        let queued = [
            "/calls",
            "/calls/batch",
            "/calls/{id}/again",
            "/calls/{id}/page/calls",
            "/exec",
            "/tools/{name}/test",
            "/files",
            "/mcp",
        ];
        for one in crate::operations() {
            let changes = !one.method.is_safe();
            assert_eq!(
                one.runs_to_completion(),
                changes && !queued.contains(&one.path),
                "{}",
                one.path
            );
        }
    }
}
