//! Requests to a service whose address the owner configured, or to the public service of a tool.

use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use toolcrib_core::CallCtx;
use toolcrib_net::{AllowEntry, HttpClient, Limits, Method, Request, Response};
use url::Url;

use super::request_error::{self, ServiceError};
use crate::http_fetch;

/// Time limit of one request, so that an unresponsive service leaves time for the next one.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// Maximum body bytes of a service, on the wire and decompressed: ten times the largest response of
/// the supported services.
const MAX_BODY: usize = 2 * 1024 * 1024;

/// A service at one base address.
#[derive(Clone)]
pub(crate) struct Service {
    base: String,
    client: HttpClient,
    max_body: usize,
}

impl Service {
    /// Creates a service at the configured address, otherwise at the public one. Requests to the
    /// owner's address are allowed even if it is not public: an own server is usually in the local
    /// network.
    pub(crate) fn new(client: &HttpClient, configured: Option<&str>, public: &str) -> Self {
        let base = configured.unwrap_or(public).trim_end_matches('/').to_owned();
        let entry = configured.and_then(target_of);
        let client = entry.map_or_else(|| client.clone(), |entry| client.with_opened(entry));
        Self { base, client: client.with_keep_alive(), max_body: MAX_BODY }
    }

    /// Allows larger answers.
    #[must_use]
    pub(crate) fn with_max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Returns the base address without a slash at the end.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Returns the host of the service, for people.
    pub(crate) fn host(&self) -> String {
        let url = Url::parse(&self.base).ok();
        url.and_then(|url| Some(url.host_str()?.to_owned())).unwrap_or_else(|| self.base.clone())
    }

    /// Creates an address below the base with these query parameters.
    pub(crate) fn url(&self, path: &str, query: &[(&str, &str)]) -> String {
        let mut text = url::form_urlencoded::Serializer::new(String::new());
        text.extend_pairs(query);
        let query = text.finish();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{path}{mark}{query}", self.base)
    }

    /// Creates a `POST` request with this JSON.
    pub(crate) fn post_json(&self, path: &str, body: &serde_json::Value) -> Request {
        let mut request = Request::new(Method::POST, self.url(path, &[]));
        request.headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        request.body = body.to_string().into();
        request
    }

    /// Sends a request within the time of the call. A response with any status is returned.
    ///
    /// # Errors
    /// No response was received.
    pub(crate) async fn send(
        &self,
        request: &Request,
        ctx: &CallCtx,
    ) -> Result<Response, ServiceError> {
        let left = ctx.deadline.saturating_duration_since(Instant::now());
        let limits = Limits {
            total: REQUEST_TIME.min(left),
            max_wire_bytes: self.max_body,
            max_inflated_bytes: self.max_body,
            ..Limits::default()
        };
        let response = http_fetch::fetch(&self.client, request, limits, ctx).await;
        response.map_err(ServiceError::from_tool_error)
    }

    /// Sends a request and parses a JSON document.
    ///
    /// # Errors
    /// No response was received, the service refused, or its response is not the expected JSON.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        request: &Request,
        ctx: &CallCtx,
    ) -> Result<T, ServiceError> {
        let response = self.send(request, ctx).await?;
        request_error::json(&response)
    }

    /// Sends a `GET` request and parses JSON.
    ///
    /// # Errors
    /// As [`Self::json`].
    pub(crate) async fn get_json<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        ctx: &CallCtx,
    ) -> Result<T, ServiceError> {
        let mut request = Request::get(self.url(path, query));
        request.headers.push(("Accept".to_owned(), "application/json".to_owned()));
        self.json(&request, ctx).await
    }
}

/// Returns the allow-list entry of an address: its host and port.
fn target_of(url: &str) -> Option<AllowEntry> {
    let url = Url::parse(url).ok()?;
    format!("{}:{}", url.host_str()?, url.port_or_known_default()?).parse().ok()
}
