//! What stands in front of every route: whose Host and Origin are answered, who somebody is, and how much they may ask.

mod authenticate;
mod sent_here;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use toolcrib_app::Toolcrib;

use crate::daemon::{Daemon, StartError};
use crate::settings::DaemonSettings;

/// What the checks need.
pub(crate) struct Door {
    owner: authenticate::OwnerToken,
}

impl Door {
    pub(crate) async fn open(
        _toolcrib: &Toolcrib,
        settings: &DaemonSettings,
    ) -> Result<Self, StartError> {
        let owner = authenticate::OwnerToken::of_folder(&settings.folder)?;
        Ok(Self { owner })
    }
}

/// The routes with the checks in front of them, answers to wrong paths and methods included.
pub(crate) fn in_front(daemon: &Daemon, router: Router) -> Router {
    let limit = DefaultBodyLimit::max(daemon.settings().body_bytes);
    router.layer(limit).layer(middleware::from_fn_with_state(daemon.clone(), check))
}

async fn check(State(daemon): State<Daemon>, mut request: Request, next: Next) -> Response {
    if let Err(problem) = sent_here::check(&daemon, &request) {
        return problem.into_response();
    }
    match authenticate::principal(&daemon, &request) {
        Ok(Some(principal)) => {
            request.extensions_mut().insert(principal);
        }
        // Some routes are open to everybody; all others answer with this.
        Err(problem) => {
            request.extensions_mut().insert(problem);
        }
        Ok(None) => {}
    }
    next.run(request).await
}
