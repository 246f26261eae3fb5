//! Spans at a collector: a real one on loopback that decodes the requests.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use toolcrib_server::{Otlp, OtlpSettings, Telemetry};

use crate::support::{Plan, TestDaemon};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// A request that the collector received: the path, the API key, and the spans.
struct Collected {
    path: String,
    key: String,
    request: ExportTraceServiceRequest,
}

/// Starts a collector that answers like a real one.
async fn collector() -> (SocketAddr, mpsc::UnboundedReceiver<Collected>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (send, receive) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let send = send.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                let send = send.clone();
                async move {
                    let path = request.uri().path().to_owned();
                    let key = request.headers()["api-key"].to_str().unwrap().to_owned();
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    let request = ExportTraceServiceRequest::decode(body).unwrap();
                    send.send(Collected { path, key, request }).unwrap();
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::new())))
                }
            });
            let connection = hyper::server::conn::http1::Builder::new();
            tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
        }
    });
    (address, receive)
}

fn settings(address: SocketAddr) -> OtlpSettings {
    OtlpSettings {
        endpoint: format!("http://{address}/v1/traces"),
        headers: vec![("api-key".to_owned(), "of-the-test".to_owned())],
        service: "crib".to_owned(),
        resource: Vec::new(),
        ratio: 1.0,
        delay: Duration::from_secs(60),
    }
}

fn text(span: &Span, name: &str) -> String {
    let found = span.attributes.iter().find(|attribute| attribute.key == name);
    match found.and_then(|attribute| attribute.value.clone()?.value) {
        Some(Any::StringValue(text)) => text,
        Some(Any::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    }
}

fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    spans
        .iter()
        .find(|span| span.name == name)
        .unwrap_or_else(|| panic!("{name} is not in {names:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_and_runs_are_spans_of_the_callers_trace() {
    let (address, mut collected) = collector().await;
    let otlp =
        Arc::new(Otlp::start(&settings(address), tokio::runtime::Handle::current()).unwrap());
    let observe = Telemetry::with_spans(Arc::clone(&otlp) as _);
    let script =
        "turns:\n  - calls: [{tool: get_current_time, args: {}}]\n  - say: Done.\n".to_owned();
    let daemon = TestDaemon::with(Plan { observe, script, ..Plan::default() }).await;
    let client = daemon.client().with("traceparent", &format!("00-{TRACE}-{PARENT}-01"));
    let call = json!({"tool": "get_current_time", "arguments": {}});
    client.post("/api/v1/calls", &call).await.expect(200);
    let missing = json!({"tool": "read_file", "arguments": {"path": "of-nobody"}});
    client.post("/api/v1/calls", &missing).await;
    let unsampled = daemon.client().with("traceparent", &format!("00-{TRACE}-{PARENT}-00"));
    unsampled.get("/api/v1/status").await.expect(200);
    daemon.client().post("/api/v1/runs", &json!({"text": "What time is it?", "wait": true})).await;
    daemon.stop().await;
    tokio::task::spawn_blocking(move || otlp.shutdown()).await.unwrap();

    let mut spans = Vec::new();
    while let Ok(Collected { path, key, request }) = collected.try_recv() {
        assert_eq!((path.as_str(), key.as_str()), ("/v1/traces", "of-the-test"));
        for resource in request.resource_spans {
            let about = resource.resource.unwrap().attributes;
            assert!(about.iter().any(|attribute| attribute.key == "service.name"));
            spans.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
        }
    }
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let request = named(&spans, "POST /api/v1/calls");
    assert_eq!(
        (hex(&request.trace_id), hex(&request.parent_span_id)),
        (TRACE.to_owned(), PARENT.to_owned())
    );
    let call = named(&spans, "execute_tool get_current_time");
    assert_eq!(hex(&call.trace_id), TRACE);
    assert!(
        spans
            .iter()
            .any(|span| span.name == "POST /api/v1/calls" && span.span_id == call.parent_span_id)
    );
    assert_eq!(text(call, "gen_ai.operation.name"), "execute_tool");
    assert_eq!(text(call, "gen_ai.tool.name"), "get_current_time");
    assert!(text(call, "gen_ai.tool.call.id").starts_with("call_"));
    let failed = named(&spans, "execute_tool read_file");
    assert_eq!(text(failed, "error.type"), "file_not_found");
    assert_eq!(failed.status.clone().unwrap().code, 2);
    assert!(!spans.iter().any(|span| span.name == "GET /api/v1/status"), "it was not to be kept");
    // In a run, the agent, the requests to its model and its calls form one trace.
    let agent = spans.iter().find(|span| span.name.starts_with("invoke_agent ")).unwrap();
    let within: Vec<&str> = spans
        .iter()
        .filter(|span| span.parent_span_id == agent.span_id && span.trace_id == agent.trace_id)
        .map(|span| span.name.as_str())
        .collect();
    assert_eq!(within.iter().filter(|name| name.starts_with("chat ")).count(), 2, "{within:?}");
    assert!(within.contains(&"execute_tool get_current_time"), "{within:?}");
    // No span contains any message or argument.
    let all = format!("{spans:?}");
    assert!(!all.contains("What time") && !all.contains("of-nobody"), "{all}");
}

/// A collector that accepts requests and never answers does not delay calls.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_does_not_answer_delays_no_call() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let settings = OtlpSettings {
        delay: Duration::from_millis(1),
        ..settings(listener.local_addr().unwrap())
    };
    let otlp = Arc::new(Otlp::start(&settings, tokio::runtime::Handle::current()).unwrap());
    let observe = Telemetry::with_spans(Arc::clone(&otlp) as _);
    let daemon = TestDaemon::with(Plan { observe, ..Plan::default() }).await;
    let client = daemon.client();
    let calls = async {
        for _ in 0..300 {
            client
                .post("/api/v1/calls", &json!({"tool": "get_current_time", "arguments": {}}))
                .await
                .expect(200);
        }
    };
    // Much less than the timeout of the collector, and much more than the calls need.
    tokio::time::timeout(Duration::from_secs(60), calls).await.unwrap();
    daemon.stop().await;
    // It blocks a separate thread until its timeout: that thread ends with the process.
    std::mem::forget(otlp);
    drop(listener);
}
