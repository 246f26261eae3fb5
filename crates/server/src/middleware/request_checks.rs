//! The checks of a request, in this order: Host and Origin, credential, rate limit, length of the
//! body, number of connections.

use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use tower_http::catch_panic::CatchPanicLayer;

use super::authenticate::Authenticated;
use super::middleware_state::MiddlewareState;
use super::{authenticate, body_limit, host_origin, revocation, security_headers};
use crate::admission::{ConnectionPermit, RateLimitStatus, is_exempt, network_prefix};
use crate::listen::Framing;
use crate::problem::{Code, Problem};
use crate::role::Role;

/// Wraps the routes in the middleware. Answers to unknown paths and methods pass it too.
pub(crate) fn wrap(state: &Arc<MiddlewareState>, router: Router) -> Router {
    router
        .layer(body_limit::for_unknown_lengths(state.body_bytes))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn_with_state(Arc::clone(state), check))
}

async fn check(
    State(state): State<Arc<MiddlewareState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_chunked = request.headers().contains_key(header::TRANSFER_ENCODING);
    let (mut response, rate) = match admit(&state, &mut request).await {
        Ok((rate, authenticated)) => {
            let response = next.run(request).await;
            (revocation::end_on_revocation(&state, authenticated, response), rate)
        }
        Err((problem, rate)) => (problem.into_response(), rate),
    };
    let headers = response.headers_mut();
    security_headers::set_security_headers(headers);
    if let Some(rate) = rate {
        rate.write_headers(headers);
    }
    if is_chunked {
        // A proxy may find the end of a chunked body at a different position, so no further request
        // is read from this connection (RFC 9112 6.1).
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Checks a request and adds its principal to its extensions. Without a principal, the extensions
/// contain a [`Problem`] with the reason; public routes ignore it, and all others return it.
async fn admit(
    state: &MiddlewareState,
    request: &mut Request,
) -> Result<(Option<RateLimitStatus>, Option<Authenticated>), (Problem, Option<RateLimitStatus>)> {
    check_framing(request).map_err(|why| (why, None))?;
    let origin = host_origin::check(&state.listen, request).map_err(|why| (why, None))?;
    let address = origin.address;
    let credential = authenticate::extract_credential(&state.sessions, request, &origin);
    let who = match credential {
        Ok(credential) => authenticate::authenticate(&state.tokens, credential).await,
        Err(problem) => Err(problem),
    };
    let client = match &who {
        Ok(Some(known)) => known.principal.client.clone(),
        _ => address.map_or_else(|| "socket".to_owned(), |ip| network_prefix(ip).to_string()),
    };
    // A principal that may not engage the kill switch gets no exemption.
    let is_operator = matches!(&who, Ok(Some(known)) if known.principal.has_role(Role::Operator));
    let is_exempt = is_operator && is_exempt(request);
    let rate = match state.admission.rates.count(&client) {
        Ok(rate) => rate,
        Err(limited) if is_exempt => Some(limited.status),
        Err(limited) => return Err((limited.into(), Some(limited.status))),
    };
    request.extensions_mut().insert(origin);
    let known = match who {
        Ok(known) => known,
        Err(problem) => {
            let problem = delay_failed_login(state, address, problem).await;
            request.extensions_mut().insert(problem);
            None
        }
    };
    if let Some(known) = &known {
        body_limit::check_length(state.body_bytes, request).map_err(|problem| (problem, rate))?;
        if let Some(connection) = request.extensions().get::<ConnectionPermit>() {
            let assigned = connection.assign_client(&known.principal.client);
            assigned.or_else(|full| if is_exempt { Ok(()) } else { Err((full.into(), rate)) })?;
        }
        request.extensions_mut().insert(known.principal.clone());
        request.extensions_mut().insert(known.clone());
    }
    Ok((rate, known))
}

/// Refuses a request with a body whose end another server may find at a different position. The
/// connection is closed, as after every request with `Transfer-Encoding`.
fn check_framing(request: &Request) -> Result<(), Problem> {
    let is_encoded = request.headers().contains_key(header::TRANSFER_ENCODING);
    let framing = request.extensions().get::<Framing>();
    if is_encoded && framing.is_some_and(Framing::has_two_lengths) {
        let detail = "send either Content-Length or Transfer-Encoding, not both";
        return Err(Problem::new(Code::BadRequest, detail));
    }
    Ok(())
}

/// Delays the answer to an invalid credential, longer with each further one.
async fn delay_failed_login(
    state: &MiddlewareState,
    address: Option<IpAddr>,
    problem: Problem,
) -> Problem {
    if problem.code != Code::Unauthorized {
        return problem;
    }
    let Some(penalty) = state.admission.logins.record_failure(address) else { return problem };
    tracing::warn!(address = ?address, "many requests with invalid tokens");
    tokio::time::sleep(penalty.pause).await;
    let detail = "too many requests with invalid tokens";
    Problem::new(Code::RateLimited, detail).retry_after(penalty.retry_after)
}

fn panicked(_: Box<dyn Any + Send>) -> Response {
    tracing::error!("a route panicked; the message of the panic is above");
    Problem::new(Code::Internal, "the daemon failed; see its log").into_response()
}
