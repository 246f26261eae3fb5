//! Telemetry of every request, including those that the middleware refuses: its id, a line in the
//! access log, metrics and a span.

use std::time::{Duration, Instant, SystemTime};

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::Response;
use tracing::Instrument as _;

use super::recorder::Telemetry;
use super::request_context::{REQUEST_CONTEXT, RequestContext};
use super::span::{Attribute, FinishedSpan, SpanContext, SpanKind};
use super::{semantic_conventions, traceparent};

/// The id of a request: set by the client or generated, and returned in every response.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Maximum number of characters of an id of a client.
const ID_CHARS: usize = 128;
/// The label of requests without a route.
const NO_ROUTE: &str = "none";

/// Wraps the routes in telemetry.
pub(crate) fn wrap(telemetry: &Telemetry, router: Router) -> Router {
    router.layer(middleware::from_fn_with_state(telemetry.clone(), track_request))
}

async fn track_request(
    State(telemetry): State<Telemetry>,
    request: Request,
    next: Next,
) -> Response {
    let id = id(request.headers());
    let tracked = RequestTelemetry::new(&telemetry, &request, &id);
    let context = RequestContext { span: tracked.context, ..RequestContext::default() };
    let principal = context.principal.clone();
    let span = tracing::info_span!("request", id);
    let mut response = REQUEST_CONTEXT.scope(context, next.run(request).instrument(span)).await;
    tracked.answered(response.status(), principal.get().map_or("-", String::as_str));
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// Returns the id of the client if it is safe in a log, else a generated one.
fn id(headers: &HeaderMap) -> String {
    let sent = headers.get(&REQUEST_ID).and_then(|id| id.to_str().ok());
    let fits = |id: &&str| {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        (1..=ID_CHARS).contains(&id.len()) && id.bytes().all(is_plain)
    };
    sent.filter(fits).map_or_else(|| format!("req_{:032x}", fastrand::u128(..)), str::to_owned)
}

/// A request in progress. If it is dropped before the response because its client disconnected, it
/// is counted with the status 499.
struct RequestTelemetry {
    telemetry: Telemetry,
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

impl RequestTelemetry {
    fn new(telemetry: &Telemetry, request: &Request, id: &str) -> Self {
        let route = request.extensions().get::<MatchedPath>().map_or(NO_ROUTE, MatchedPath::as_str);
        let spans = telemetry.spans();
        let parent = spans
            .and_then(|_| traceparent::parse(request.headers().get("traceparent")?.to_str().ok()?));
        let context = spans.map(|spans| {
            parent.map_or_else(|| SpanContext::root(spans.sample_ratio()), SpanContext::child)
        });
        tracing::debug!(target: "toolcrib::access", id, method = %request.method(), route, "request");
        telemetry.metrics().record_request_start();
        Self {
            telemetry: telemetry.clone(),
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

    fn answered(mut self, status: StatusCode, principal: &str) {
        self.over = true;
        self.end(status.as_u16(), principal);
    }

    fn end(&self, status: u16, principal: &str) {
        let took = self.begun.elapsed();
        self.telemetry.metrics().request_ended(self.method, &self.route, status, took);
        self.log(status, principal, took);
        self.span(status);
    }

    /// Writes the access log. It omits the query, which may contain private search terms.
    fn log(&self, status: u16, principal: &str, took: Duration) {
        let Self { id, method, route, path, .. } = self;
        let ms = took.as_secs_f64() * 1_000.0;
        tracing::info!(target: "toolcrib::access", id, client = principal, method, route, path, status, ms, "answer");
    }

    fn span(&self, status: u16) {
        let (Some(spans), Some(context)) = (self.telemetry.spans(), self.context) else { return };
        if !context.sampled {
            return;
        }
        let error = (status >= 500).then(|| status.to_string());
        let mut attributes: Vec<(&'static str, Attribute)> = vec![
            (semantic_conventions::METHOD, self.method.into()),
            (semantic_conventions::ROUTE, self.route.as_str().into()),
            (semantic_conventions::STATUS, u64::from(status).into()),
            (semantic_conventions::REQUEST, self.id.as_str().into()),
        ];
        attributes
            .extend(error.iter().map(|error| (semantic_conventions::ERROR, error.as_str().into())));
        spans.export(FinishedSpan {
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

impl Drop for RequestTelemetry {
    fn drop(&mut self) {
        self.telemetry.metrics().record_request_end();
        if !self.over {
            // The principal is known only after the response.
            self.end(499, "-");
        }
    }
}

/// Returns the method as a label from a fixed set.
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
    fn an_id_of_a_client_is_kept_if_it_is_plain() {
        let check = |sent: Option<&str>, kept: bool| {
            let mut headers = HeaderMap::new();
            if let Some(sent) = sent {
                headers.insert(REQUEST_ID, HeaderValue::from_str(sent).unwrap());
            }
            let id = id(&headers);
            assert_eq!(Some(id.as_str()) == sent, kept, "{sent:?} {id}");
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
