//! What every group of routes is made of: operations that say who may call them and what they take and answer, and the router and the
//! OpenAPI document that come of them.
//!
//! Invariant: a route exists only as an [`Operation`], and an operation names who may call it. There is no way to add a route without.

mod beside;
mod extract;
mod openapi;
mod operation;
mod page;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, on};

use crate::daemon::Daemon;
use crate::observe;
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};

pub use openapi::document;
pub use operation::{Access, Operation};

pub(crate) use beside::beside;
pub(crate) use extract::{Bytes, Json, Path, Query};
pub(crate) use page::{Page, PageQuery, cursor, etagged, matches, of_cursor, tag_of};

/// Where all operations are, except for those that say otherwise.
pub const BASE: &str = "/api/v1";

/// Which paths there are is nobody's business who has no token.
const ANY_ROLE: Access = Access::Role(Role::Viewer);

/// Operations with their handlers.
#[derive(Default)]
pub(crate) struct Api {
    router: Router<Daemon>,
    operations: Vec<Operation>,
}

impl Api {
    /// Adds an operation. Whoever may not call it never reaches the handler.
    pub(crate) fn add<H, T>(&mut self, operation: Operation, handler: H)
    where
        H: Handler<T, Daemon>,
        T: 'static,
    {
        let Ok(filter) = MethodFilter::try_from(operation.method.clone()) else { return };
        let (access, is_whole) = (operation.access, operation.is_done_whole());
        let check = middleware::from_fn(move |request: Request, next: Next| async move {
            match allowed(access, &request) {
                Ok(()) if is_whole => whole(next.run(request)).await,
                Ok(()) => next.run(request).await,
                Err(problem) => problem.into_response(),
            }
        });
        let path = operation.full_path();
        let routed = on(filter, handler).route_layer(check);
        self.router = std::mem::take(&mut self.router).route(&path, routed);
        self.operations.push(operation);
    }

    /// The router, and what it is made of. Paths and methods that are none are answered like everything else: to whoever has a token.
    pub(crate) fn finish(self) -> (Router<Daemon>, Vec<Operation>) {
        let router = self.router.fallback(not_found).method_not_allowed_fallback(not_allowed);
        (router, self.operations)
    }
}

/// What changes something is done whole, with its record, also when whoever asked goes away in the middle.
async fn whole(act: impl Future<Output = Response> + Send + 'static) -> Response {
    tokio::spawn(observe::carry(act)).await.unwrap_or_else(|error| {
        tracing::error!(%error, "a request broke");
        let words = "the daemon failed at it; look whether it took effect before you send it again";
        Problem::new(Code::Internal, words).into_response()
    })
}

async fn not_found(request: Request) -> Problem {
    let words = format!("there is no {}", request.uri().path());
    allowed(ANY_ROLE, &request).err().unwrap_or_else(|| Problem::not_found(words))
}

async fn not_allowed(request: Request) -> Problem {
    let words = format!("{} does not take {}", request.uri().path(), request.method());
    let problem = Problem::new(Code::MethodNotAllowed, words);
    allowed(ANY_ROLE, &request).err().unwrap_or(problem)
}

fn allowed(access: Access, request: &Request) -> Result<(), Problem> {
    let Access::Role(role) = access else { return Ok(()) };
    match request.extensions().get::<Principal>() {
        Some(principal) => {
            observe::is(principal);
            principal.must(role)
        }
        // Why there is none was found out at the door.
        None => Err(request.extensions().get::<Problem>().cloned().unwrap_or_else(|| {
            Problem::new(
                Code::Unauthorized,
                "send a token: `Authorization: Bearer …`; `toolcrib token show` prints the one of this machine",
            )
        })),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::*;

    /// Found in review: a rule came into force without its record, because whoever had sent it was gone.
    #[tokio::test]
    async fn what_changes_something_goes_on_when_whoever_asked_is_gone() {
        let (go, gone) = oneshot::channel::<()>();
        let (did, done) = oneshot::channel();
        let act = async move {
            gone.await.unwrap();
            did.send(()).unwrap();
            ().into_response()
        };
        assert!(tokio::time::timeout(Duration::ZERO, whole(act)).await.is_err());
        go.send(()).unwrap();
        done.await.unwrap();
        let line = ["/calls", "/calls/batch", "/exec", "/tools/{name}/test", "/files", "/mcp"];
        for one in crate::operations() {
            let changes = !one.method.is_safe();
            assert_eq!(one.is_done_whole(), changes && !line.contains(&one.path), "{}", one.path);
        }
    }
}
