//! Around every request, answers of the door included: its id, a line in the log, figures and a span.

use std::time::{Duration, Instant, SystemTime};

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::Response;
use tracing::Instrument as _;

use super::here::{HERE, Here};
use super::span::{Attribute, FinishedSpan, SpanContext, SpanKind};
use super::{Observe, names, traceparent};
use crate::daemon::Daemon;

/// The id of a request, in the request where a caller has one, and on every answer.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Characters of an id that a caller gives.
const ID_CHARS: usize = 128;
/// The route of what is none.
const NO_ROUTE: &str = "none";

/// The same routes, watched.
pub(crate) fn around(daemon: &Daemon, router: Router) -> Router {
    router.layer(middleware::from_fn_with_state(daemon.clone(), watch))
}

async fn watch(State(daemon): State<Daemon>, request: Request, next: Next) -> Response {
    let observe = daemon.observe();
    let id = id(request.headers());
    let seen = Seen::new(observe, &request, &id);
    let here = Here { context: seen.context, ..Here::default() };
    let who = here.who.clone();
    let span = tracing::info_span!("request", id);
    let mut response = HERE.scope(here, next.run(request).instrument(span)).await;
    seen.answered(response.status(), who.get().map_or("-", String::as_str));
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// The caller's id, if it can stand in a log as it is; else one of our own.
fn id(headers: &HeaderMap) -> String {
    let given = headers.get(&REQUEST_ID).and_then(|id| id.to_str().ok());
    let fits = |id: &&str| {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        (1..=ID_CHARS).contains(&id.len()) && id.bytes().all(is_plain)
    };
    given.filter(fits).map_or_else(|| format!("req_{:032x}", fastrand::u128(..)), str::to_owned)
}

/// A request that is being answered. Dropped before it is, because its caller has gone, it is counted as 499.
struct Seen {
    observe: Observe,
    method: &'static str,
    route: String,
    path: String,
    context: Option<SpanContext>,
    parent: Option<SpanContext>,
    started: SystemTime,
    begun: Instant,
    id: String,
    over: bool,
}

impl Seen {
    fn new(observe: &Observe, request: &Request, id: &str) -> Self {
        let route = request.extensions().get::<MatchedPath>().map_or(NO_ROUTE, MatchedPath::as_str);
        let spans = observe.spans();
        let parent = spans
            .and_then(|_| traceparent::parse(request.headers().get("traceparent")?.to_str().ok()?));
        let context = spans.map(|spans| {
            parent.map_or_else(|| SpanContext::root(spans.ratio()), SpanContext::child)
        });
        tracing::debug!(target: "toolcrib::access", id, method = %request.method(), route, "request");
        observe.meters().request_begun();
        Self {
            observe: observe.clone(),
            method: method(request.method()),
            route: route.to_owned(),
            path: request.uri().path().to_owned(),
            context,
            parent,
            started: SystemTime::now(),
            begun: Instant::now(),
            id: id.to_owned(),
            over: false,
        }
    }

    fn answered(mut self, status: StatusCode, who: &str) {
        self.over = true;
        self.end(status.as_u16(), who);
    }

    fn end(&self, status: u16, who: &str) {
        let took = self.begun.elapsed();
        self.observe.meters().answered(self.method, &self.route, status, took);
        self.log(status, who, took);
        self.span(status);
    }

    /// The query is left out: what people look for is theirs.
    fn log(&self, status: u16, who: &str, took: Duration) {
        let Self { id, method, route, path, .. } = self;
        let ms = took.as_secs_f64() * 1_000.0;
        tracing::info!(target: "toolcrib::access", id, client = who, method, route, path, status, ms, "answer");
    }

    fn span(&self, status: u16) {
        let (Some(spans), Some(context)) = (self.observe.spans(), self.context) else { return };
        if !context.sampled {
            return;
        }
        let error = (status >= 500).then(|| status.to_string());
        let mut attributes: Vec<(&'static str, Attribute)> = vec![
            (names::METHOD, self.method.into()),
            (names::ROUTE, self.route.as_str().into()),
            (names::STATUS, u64::from(status).into()),
            (names::REQUEST, self.id.as_str().into()),
        ];
        attributes.extend(error.iter().map(|error| (names::ERROR, error.as_str().into())));
        spans.ended(FinishedSpan {
            name: format!("{} {}", self.method, self.route),
            kind: SpanKind::Server,
            context,
            parent: self.parent.map(|parent| (parent.span, true)),
            start: self.started,
            end: SystemTime::now(),
            attributes,
            error,
        });
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        self.observe.meters().request_over();
        if !self.over {
            // Who it was is known only when it was answered.
            self.end(499, "-");
        }
    }
}

/// The method as a label: one of those that there are.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "_OTHER",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_a_caller_is_kept_if_it_is_plain() {
        let check = |given: Option<&str>, kept: bool| {
            let mut headers = HeaderMap::new();
            if let Some(given) = given {
                headers.insert(REQUEST_ID, HeaderValue::from_str(given).unwrap());
            }
            let id = id(&headers);
            assert_eq!(Some(id.as_str()) == given, kept, "{given:?} {id}");
            assert!(kept || (id.starts_with("req_") && id.len() == 36), "{id}");
        };
        check(Some("a-b_c.1"), true);
        check(Some(&"a".repeat(128)), true);
        check(Some(&"a".repeat(129)), false);
        check(Some("a b"), false);
        check(Some("a\"b"), false);
        check(None, false);
    }
}
