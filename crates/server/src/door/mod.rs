//! What stands in front of every route: whose Host and Origin are answered, who somebody is, and how much they may ask.
//!
//! The order is: meant for us, known, not too much; then the role, which each route names. Answers to paths and methods that are none come
//! from behind it as well.

mod authenticate;
mod failures;
mod forwarded;
mod headers;
mod machine;
mod rates;
mod sent_here;
pub(crate) mod sessions;
mod streams;
pub(crate) mod token_text;
mod tokens;

use std::any::Any;

use axum::Router;
use axum::body::HttpBody as _;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, Method, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use toolcrib_app::Toolcrib;
use tower_http::catch_panic::CatchPanicLayer;

use crate::api::BASE;
use crate::daemon::{Daemon, StartError};
use crate::listen::{Full, Seat};
use crate::problem::{Code, Problem};
use crate::role::Role;
use crate::settings::DaemonSettings;
pub(crate) use authenticate::Known;
pub(crate) use forwarded::is_proxy;
use rates::Allowance;
pub(crate) use sent_here::Site;

/// What stops every tool, with `PUT`.
const KILL_SWITCH: &str = "/kill-switch";

/// What the checks need.
pub(crate) struct Door {
    pub(crate) tokens: tokens::Tokens,
    pub(crate) sessions: sessions::Sessions,
    rates: rates::Rates,
    failures: failures::Failures,
}

impl Door {
    /// Reads the token of this machine, or makes it.
    pub(crate) async fn open(
        toolcrib: &Toolcrib,
        settings: &DaemonSettings,
    ) -> Result<Self, StartError> {
        let machine = machine::token(&settings.folder)?;
        let store = std::sync::Arc::clone(&toolcrib.stores().tokens);
        let secrets = toolcrib.engine().sealing().secrets.clone();
        Ok(Self {
            tokens: tokens::Tokens::new(store, &machine, secrets),
            sessions: sessions::Sessions::lasting(settings.session),
            rates: rates::Rates::per_minute(settings.requests_per_minute),
            failures: failures::Failures::allowing(settings.failures_per_minute),
        })
    }
}

/// The routes with the checks in front of them, answers to wrong paths and methods included.
pub(crate) fn in_front(daemon: &Daemon, router: Router) -> Router {
    router
        .layer(DefaultBodyLimit::max(daemon.settings().body_bytes))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn_with_state(daemon.clone(), check))
}

async fn check(State(daemon): State<Daemon>, mut request: Request, next: Next) -> Response {
    let is_chunked = request.headers().contains_key(header::TRANSFER_ENCODING);
    let (mut response, allowance) = match admit(&daemon, &mut request).await {
        Ok((allowance, known)) => {
            let response = next.run(request).await;
            (streams::while_it_holds(&daemon, known, response), allowance)
        }
        Err((problem, allowance)) => (problem.into_response(), allowance),
    };
    let headers = response.headers_mut();
    headers::secure(headers);
    if let Some(allowance) = allowance {
        allowance.tell(headers);
    }
    if is_chunked {
        // Where such a body ends may be read differently by whoever stands before us: nothing after it is read from this connection
        // (RFC 9112 6.1).
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Lets a request in, and leaves in it who sends it; or why nobody does, for the routes that are not open to everybody.
async fn admit(
    daemon: &Daemon,
    request: &mut Request,
) -> Result<(Option<Allowance>, Option<Known>), (Problem, Option<Allowance>)> {
    let site = sent_here::check(&daemon.settings().listen, request).map_err(|why| (why, None))?;
    let address = site.address;
    let who = match authenticate::brought(daemon, request, &site) {
        Ok(brought) => authenticate::identify(daemon, brought).await,
        Err(problem) => Err(problem),
    };
    let client = match &who {
        Ok(Some(known)) => known.principal.client.clone(),
        _ => address
            .map_or_else(|| "socket".to_owned(), |ip| forwarded::neighbourhood(ip).to_string()),
    };
    // Whoever may not pull it is limited as ever.
    let may_pull = matches!(&who, Ok(Some(known)) if known.principal.may(Role::Operator));
    let is_urgent = may_pull && is_urgent(request);
    let allowance = match daemon.door().rates.count(&client) {
        Ok(allowance) => allowance,
        Err((_, told)) if is_urgent => Some(told),
        Err((problem, told)) => return Err((problem, Some(told))),
    };
    request.extensions_mut().insert(site);
    let known = match who {
        Ok(known) => known,
        Err(problem) => {
            let problem = slowed(daemon, address, problem).await;
            // Some routes are open to everybody; all others answer with this.
            request.extensions_mut().insert(problem);
            None
        }
    };
    if let Some(known) = &known {
        not_too_large(daemon, request).map_err(|problem| (problem, allowance))?;
        if let Some(seat) = request.extensions().get::<Seat>() {
            let is_seated = seat.known(&known.principal.client);
            is_seated
                .or_else(|full| if is_urgent { Ok(()) } else { Err((full.into(), allowance)) })?;
        }
        request.extensions_mut().insert(known.principal.clone());
        request.extensions_mut().insert(known.clone());
    }
    Ok((allowance, known))
}

/// Whether it stops every tool: no limit of a client that has run wild may keep its owner from that.
pub(crate) fn is_urgent(request: &Request) -> bool {
    let path = request.uri().path().strip_prefix(BASE);
    request.method() == Method::PUT && path == Some(KILL_SWITCH)
}

/// A body that says itself that it is too large need not be read to know it.
fn not_too_large(daemon: &Daemon, request: &Request) -> Result<(), Problem> {
    let most = daemon.settings().body_bytes;
    match request.body().size_hint().lower() {
        length if length > most as u64 => {
            Err(Problem::new(Code::TooLarge, format!("a body has at most {most} bytes")))
        }
        _ => Ok(()),
    }
}

/// The answer to a token that does not hold, later and later.
async fn slowed(daemon: &Daemon, address: Option<std::net::IpAddr>, problem: Problem) -> Problem {
    if problem.code != Code::Unauthorized {
        return problem;
    }
    let Some(penalty) = daemon.door().failures.count(address) else { return problem };
    tracing::warn!(address = ?address, "many tries with tokens that do not hold");
    tokio::time::sleep(penalty.pause).await;
    let words = "too many tries with tokens that do not hold";
    Problem::new(Code::RateLimited, words).retry_after(penalty.retry_after)
}

impl From<Full> for Problem {
    fn from(Full(most): Full) -> Self {
        let words = format!("this client has {most} connections, which is as many as one may have");
        Self::new(Code::RateLimited, words).retry_after(1)
    }
}

fn panicked(_: Box<dyn Any + Send>) -> Response {
    tracing::error!("a route failed; the message of its panic stands before this line");
    Problem::new(Code::Internal, "the daemon failed; its log says more").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_urgent_path_is_one() {
        let urgent = |one: &&crate::Operation| one.path == KILL_SWITCH && one.method == Method::PUT;
        let operations = crate::operations();
        let full = operations.iter().find(urgent).unwrap().full_path();
        let request = |method, path: &str| {
            Request::builder().method(method).uri(path).body(axum::body::Body::empty()).unwrap()
        };
        assert!(is_urgent(&request(Method::PUT, &full)));
        assert!(!is_urgent(&request(Method::GET, &full)));
        assert!(!is_urgent(&request(Method::PUT, KILL_SWITCH)));
    }
}
