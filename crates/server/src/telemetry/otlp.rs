//! Export of spans to a collector: OTLP over HTTP, in batches, on a separate thread. Spans that do
//! not fit into the queue are dropped.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use opentelemetry::trace::{
    SpanContext as OtelContext, SpanId, SpanKind as OtelKind, Status, TraceFlags, TraceId,
    TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_http::{
    Bytes, HttpClient as CollectorClient, HttpError, Request as Sent, Response as Received,
};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor as _,
};
use tokio::runtime::Handle;
use toolcrib_net::{AddressPolicy, Follow, HttpClient, Limits, Request};

use super::semantic_conventions;
use super::span::{Attribute, FinishedSpan, SpanKind, SpanSink};

/// Maximum number of spans in the queue, about 4 MB; more are dropped.
const QUEUE: usize = 8_192;
/// Maximum number of spans in one request (OpenTelemetry SDK: `OTEL_BSP_MAX_EXPORT_BATCH_SIZE`,
/// 512).
const BATCH: usize = 512;
/// Timeout of one request (default of OTLP exporters: 10 s).
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of exporting the last spans when the daemon stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// The target of exported spans, and their description of this daemon.
#[derive(Clone, PartialEq)]
pub struct OtlpSettings {
    /// The full URL of the collector, such as `http://localhost:4318/v1/traces`.
    pub endpoint: String,
    /// Headers of every request, such as an API key.
    pub headers: Vec<(String, String)>,
    /// Service name.
    pub service: String,
    /// Further resource attributes.
    pub resource: Vec<(String, String)>,
    /// Probability, from 0 to 1, with which traces that start here are sampled.
    pub ratio: f64,
    /// Interval of exports.
    pub delay: Duration,
}

impl fmt::Debug for OtlpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Omit the headers, which may contain API keys.
        let Self { endpoint, service, resource, ratio, .. } = self;
        write!(f, "OtlpSettings({endpoint}, {service}, {resource:?}, {ratio})")
    }
}

/// The reason why spans cannot be exported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OtlpError {
    /// The value of an environment variable is not valid.
    #[error("{name}: {what}")]
    Variable {
        /// Name of the variable.
        name: &'static str,
        /// The problem with the value.
        what: String,
    },
    /// The exporter cannot be created.
    #[error("spans cannot be exported to {endpoint}: {what}")]
    Exporter {
        /// URL of the collector.
        endpoint: String,
        /// The reason.
        what: String,
    },
}

impl OtlpSettings {
    /// Reads the environment variables of the OpenTelemetry specification through `read`; returns
    /// `None` if spans are not exported. Only OTLP over HTTP with protobuf is supported.
    ///
    /// # Errors
    /// [`OtlpError::Variable`].
    pub fn from_env(read: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, OtlpError> {
        let value = |name: &str| read(name).filter(|value| !value.trim().is_empty());
        let wrong = |name, what: &str| OtlpError::Variable { name, what: what.to_owned() };
        if value("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || value("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none")
        {
            return Ok(None);
        }
        let own = value("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let of_all = value("OTEL_EXPORTER_OTLP_ENDPOINT");
        let of_all = of_all.map(|base| format!("{}/v1/traces", base.trim_end_matches('/')));
        let Some(endpoint) = own.or(of_all) else { return Ok(None) };
        let protocol = value("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
            .or_else(|| value("OTEL_EXPORTER_OTLP_PROTOCOL"));
        if protocol.is_some_and(|protocol| protocol != "http/protobuf") {
            return Err(wrong("OTEL_EXPORTER_OTLP_PROTOCOL", "only `http/protobuf` is supported"));
        }
        let headers = value("OTEL_EXPORTER_OTLP_TRACES_HEADERS")
            .or_else(|| value("OTEL_EXPORTER_OTLP_HEADERS"));
        let headers = pairs(headers.as_deref().unwrap_or_default());
        let resource = pairs(value("OTEL_RESOURCE_ATTRIBUTES").as_deref().unwrap_or_default());
        let named =
            resource.iter().find(|(name, _)| name == "service.name").map(|(_, name)| name.clone());
        let service = value("OTEL_SERVICE_NAME").or(named).unwrap_or_else(|| "toolcrib".to_owned());
        let sampler =
            value("OTEL_TRACES_SAMPLER").unwrap_or_else(|| "parentbased_always_on".to_owned());
        let ratio = match sampler.trim_start_matches("parentbased_") {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => {
                let text = value("OTEL_TRACES_SAMPLER_ARG").unwrap_or_else(|| "1".to_owned());
                let ratio = text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
                ratio
                    .ok_or_else(|| wrong("OTEL_TRACES_SAMPLER_ARG", "it is a number from 0 to 1"))?
            }
            _ => {
                return Err(wrong(
                    "OTEL_TRACES_SAMPLER",
                    "supported are always_on, always_off, traceidratio, and the same with parentbased_",
                ));
            }
        };
        let delay = match value("OTEL_BSP_SCHEDULE_DELAY") {
            None => Duration::from_secs(5),
            Some(text) => {
                let ms = text.parse().map_err(|_| {
                    wrong("OTEL_BSP_SCHEDULE_DELAY", "it is a number of milliseconds")
                });
                Duration::from_millis(ms?)
            }
        };
        Ok(Some(Self { endpoint, headers, service, resource, ratio, delay }))
    }
}

/// Parses `name=value,name=value` with percent-encoded values.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        Some((name.trim().to_owned(), unescaped(value.trim())))
    };
    text.split(',').filter_map(pair).filter(|(name, _)| !name.is_empty()).collect()
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match escaped
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .filter(|_| *first == b'%')
        {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The exporter of spans.
pub struct Otlp {
    spans: BatchSpanProcessor,
    scope: InstrumentationScope,
    ratio: f64,
}

impl Otlp {
    /// Starts the exporter. Its requests run on this runtime; a collector that does not answer
    /// delays only spans.
    ///
    /// # Errors
    /// [`OtlpError::Exporter`] if the URL or a header is not valid. The collector is not contacted
    /// yet.
    pub fn start(settings: &OtlpSettings, runtime: Handle) -> Result<Self, OtlpError> {
        let failed =
            |what: String| OtlpError::Exporter { endpoint: settings.endpoint.clone(), what };
        let target = target(&settings.endpoint)
            .ok_or_else(|| failed("it is not an http or https URL".to_owned()))?;
        let policy =
            AddressPolicy::with_allowed([target]).map_err(|error| failed(error.to_string()))?;
        let client = Client { http: HttpClient::new(policy).with_keep_alive(), runtime };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(settings.endpoint.clone())
            .with_timeout(EXPORT_TIMEOUT)
            .with_headers(settings.headers.iter().cloned().collect())
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(QUEUE)
            .with_max_export_batch_size(BATCH)
            .with_scheduled_delay(settings.delay)
            .build();
        let mut spans = BatchSpanProcessor::new(exporter, config);
        spans.set_resource(&resource(settings));
        let scope = InstrumentationScope::builder("toolcrib")
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_schema_url(semantic_conventions::SCHEMA_URL)
            .build();
        Ok(Self { spans, scope, ratio: settings.ratio })
    }

    /// Exports the spans in the queue and stops, after at most 5 s. It blocks: do not call it on
    /// the only thread of the runtime.
    pub fn shutdown(&self) {
        if let Err(error) = self.spans.shutdown_with_timeout(SHUTDOWN_TIMEOUT) {
            tracing::warn!(%error, "the last spans could not be exported");
        }
    }
}

/// Returns host and port of a URL, in the form of an address policy.
fn target(endpoint: &str) -> Option<String> {
    let uri: axum::http::Uri = endpoint.parse().ok()?;
    let default = match uri.scheme_str()? {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    Some(format!("{}:{}", uri.host()?, uri.port_u16().unwrap_or(default)))
}

fn resource(settings: &OtlpSettings) -> Resource {
    let attributes =
        settings.resource.iter().map(|(name, value)| KeyValue::new(name.clone(), value.clone()));
    Resource::builder_empty()
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attributes(attributes)
        .with_service_name(settings.service.clone())
        .build()
}

impl SpanSink for Otlp {
    fn export(&self, span: FinishedSpan) {
        let FinishedSpan { name, kind, context, parent, start, end, attributes, error } = span;
        let flags = if context.sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
        let trace = TraceId::from_bytes(context.trace.to_be_bytes());
        let id = SpanId::from_bytes(context.span.to_be_bytes());
        let (parent, is_remote) = parent.unwrap_or_default();
        let attribute = |(name, value): (&'static str, Attribute)| {
            let value = match value {
                Attribute::Text(text) => Value::from(text),
                Attribute::Number(number) => Value::from(number),
            };
            KeyValue::new(name, value)
        };
        self.spans.on_end(SpanData {
            span_context: OtelContext::new(trace, id, flags, false, TraceState::default()),
            parent_span_id: SpanId::from_bytes(parent.to_be_bytes()),
            parent_span_is_remote: is_remote,
            span_kind: match kind {
                SpanKind::Internal => OtelKind::Internal,
                SpanKind::Server => OtelKind::Server,
                SpanKind::Client => OtelKind::Client,
            },
            name: name.into(),
            start_time: start,
            end_time: end,
            attributes: attributes.into_iter().map(attribute).collect(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: error.map_or(Status::Unset, Status::error),
            instrumentation_scope: self.scope.clone(),
        });
    }

    fn sample_ratio(&self) -> f64 {
        self.ratio
    }
}

/// Sends the requests of the exporter with the HTTP client of the other crates, which has the same
/// TLS, limits and timeouts.
#[derive(Debug, Clone)]
struct Client {
    http: HttpClient,
    runtime: Handle,
}

impl Client {
    async fn send(self, sent: Sent<Bytes>) -> Result<Received<Bytes>, HttpError> {
        let (head, body) = sent.into_parts();
        let mut headers = Vec::with_capacity(head.headers.len());
        for (name, value) in &head.headers {
            // The client sets the length itself.
            if name != axum::http::header::CONTENT_LENGTH {
                headers.push((name.as_str().to_owned(), value.to_str()?.to_owned()));
            }
        }
        let url = head.uri.to_string();
        let request = Request { method: head.method, url, headers, body, follow: Follow::Never };
        let limits = Limits { total: EXPORT_TIMEOUT, ..Limits::default() };
        let response = self.http.fetch(&request, &limits).await?;
        let mut received = Received::builder().status(response.head.status);
        for (name, value) in &response.head.headers {
            received = received.header(name, value);
        }
        Ok(received.body(response.body.into())?)
    }
}

impl CollectorClient for Client {
    fn send_bytes<'a, 'b>(
        &'a self,
        request: Sent<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Received<Bytes>, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        // The exporter's thread has no runtime.
        let sent = self.runtime.spawn(self.clone().send(request));
        Box::pin(async move { sent.await? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Option<OtlpSettings>, OtlpError> {
        OtlpSettings::from_env(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn without_an_endpoint_nothing_is_exported() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318");
        for none in [
            vec![],
            vec![("OTEL_EXPORTER_OTLP_ENDPOINT", " ")],
            vec![endpoint, ("OTEL_SDK_DISABLED", "true")],
            vec![endpoint, ("OTEL_TRACES_EXPORTER", "none")],
        ] {
            assert_eq!(of(&none), Ok(None), "{none:?}");
        }
    }

    #[test]
    fn variables_of_the_specification_are_read() {
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318/");
        let settings = of(&[base]).unwrap().unwrap();
        assert_eq!(settings.endpoint, "http://localhost:4318/v1/traces");
        assert_eq!((settings.service.as_str(), settings.ratio), ("toolcrib", 1.0));
        let settings = of(&[
            base,
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c/t"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, x=y=z,broken"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=crib,team=blue"),
            ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
        ]);
        let settings = settings.unwrap().unwrap();
        assert_eq!(settings.endpoint, "https://c/t");
        assert_eq!(
            settings.headers,
            [("api-key".into(), "a b".into()), ("x".into(), "y=z".into())]
        );
        assert_eq!((settings.service.as_str(), settings.ratio), ("crib", 0.25));
        assert!(!format!("{settings:?}").contains("a b"));
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_TRACES_SAMPLER", "some"),
            ("OTEL_BSP_SCHEDULE_DELAY", "soon"),
        ] {
            assert!(of(&[base, (name, value)]).unwrap_err().to_string().contains(name), "{name}");
        }
        assert!(
            of(&[base, ("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "2")])
                .is_err()
        );
    }

    #[test]
    fn the_target_of_a_url() {
        for (url, expected) in [
            ("http://localhost:4318/v1/traces", Some("localhost:4318")),
            ("https://otlp.example.org/v1/traces", Some("otlp.example.org:443")),
            ("http://[::1]:1/x", Some("[::1]:1")),
            ("ftp://a/b", None),
            ("localhost:4318", None),
            ("", None),
        ] {
            assert_eq!(target(url).as_deref(), expected, "{url}");
        }
    }
}
