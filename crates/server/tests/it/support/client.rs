//! An HTTP client for tests: one request, one response; streams in pieces.

use std::net::SocketAddr;

use axum::body::Body;
use http_body_util::BodyExt as _;
use hyper::{HeaderMap, Method, Request, StatusCode, header};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// Sends requests to one daemon, over persistent connections.
#[derive(Clone)]
pub(crate) struct Client {
    address: SocketAddr,
    headers: Vec<(String, String)>,
    pool: Pool<HttpConnector, Body>,
}

/// The response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|error| panic!("{error} in {} {}", self.status, self.text))
    }

    /// Returns the response as JSON, and checks its status.
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    /// Returns the code of a problem.
    pub(crate) fn problem(&self) -> String {
        let kind = self.headers.get(header::CONTENT_TYPE);
        assert_eq!(kind.unwrap(), "application/problem+json", "{}", self.text);
        self.json()["code"].as_str().unwrap().to_owned()
    }
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let pool = Pool::builder(TokioExecutor::new()).build(connector);
        Self { address, headers: Vec::new(), pool }
    }

    pub(crate) fn with_token(self, token: &str) -> Self {
        self.with("authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends a request and waits for the head of the response.
    pub(crate) async fn open(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> hyper::Response<hyper::body::Incoming> {
        let mut request =
            Request::builder().method(method).uri(format!("http://{}{path}", self.address));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        self.pool.request(request.body(body).unwrap()).await.unwrap()
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        let response = self.open(method, path, body).await;
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Answer { status: head.status, headers: head.headers, text }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, None).await
    }
}
