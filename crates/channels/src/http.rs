//! JSON requests to a service under the address policy.

use std::time::Duration;

use serde_json::Value;
use toolcrib_net::{AllowEntry, Follow, HttpClient, HttpError, Limits, Method, Phase, Request};
use url::Url;

use crate::error::{ChannelError, service_words};

/// Time limit of one request, besides the time that the service is asked to wait.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum bytes of an answer: 100 updates of Telegram have far less.
const MAX_BYTES: usize = 8 << 20;

/// A service at its base address, with the secret that must not be in any text.
#[derive(Clone)]
pub(crate) struct Service {
    client: HttpClient,
    base: String,
    host: String,
    token: String,
}

/// An answer of the service.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
    /// Seconds of the header `Retry-After`.
    pub(crate) retry_after: Option<u64>,
}

impl Service {
    /// Creates a service. The person configured its address, so it may be in a private network if
    /// it is not the official one.
    pub(crate) fn new(client: &HttpClient, base: &str, is_official: bool, token: &str) -> Self {
        let url = Url::parse(base).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or("the service").to_owned();
        let entry: Option<AllowEntry> = url
            .as_ref()
            .and_then(|url| format!("{host}:{}", url.port_or_known_default()?).parse().ok())
            .filter(|_| !is_official);
        let client = entry.map_or_else(|| client.clone(), |entry| client.with_opened(entry));
        let base = base.trim_end_matches('/').to_owned();
        Self { client, base, host, token: token.to_owned() }
    }

    /// Returns the host, for messages.
    pub(crate) fn host(&self) -> String {
        self.host.clone()
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Sends a request with a JSON body, if there is one, and reads the JSON of the answer. `wait`
    /// is the time that the service is asked to wait for news.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, String)],
        body: Option<&Value>,
        wait: Duration,
    ) -> Result<Answer, ChannelError> {
        let mut request = Request::new(method, format!("{}{path}", self.base));
        for (name, value) in headers {
            request.headers.push(((*name).to_owned(), value.clone()));
        }
        if let Some(body) = body {
            request.headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
            request.body = body.to_string().into();
        }
        request.follow = Follow::Never;
        let limits = Limits {
            total: TIMEOUT + wait,
            max_wire_bytes: MAX_BYTES,
            max_inflated_bytes: MAX_BYTES,
            ..Limits::default()
        };
        let response = self.client.fetch(&request, &limits).await.map_err(|e| self.failed(&e))?;
        if response.cut.is_some() {
            return Err(self.unusable(&format!("it has more than {MAX_BYTES} bytes")));
        }
        let status = response.head.status;
        let retry_after = response.head.headers.iter().find_map(|(name, value)| {
            name.eq_ignore_ascii_case("retry-after").then(|| value.trim().parse().ok())?
        });
        let body = serde_json::from_slice(&response.body);
        let body = match body {
            Ok(body) => body,
            // A gateway in front of the service answers with a page.
            Err(_) if status >= 400 => Value::Null,
            Err(error) => return Err(self.unusable(&error.to_string())),
        };
        Ok(Answer { status, body, retry_after })
    }

    fn failed(&self, error: &HttpError) -> ChannelError {
        let unsent = match error {
            HttpError::Denied(_)
            | HttpError::Dns(_)
            | HttpError::Connect { .. }
            | HttpError::Tls { .. }
            | HttpError::BadRequest(_) => true,
            HttpError::Timeout { phase, .. } => {
                matches!(phase, Phase::Dns | Phase::Connect | Phase::Tls)
            }
            _ => false,
        };
        let (service, reason) = (self.host(), self.words(&error.to_string()));
        ChannelError::Unreachable { service, reason, unsent }
    }

    /// Returns the error of an answer that cannot be used.
    pub(crate) fn unusable(&self, reason: &str) -> ChannelError {
        ChannelError::Answer { service: self.host(), reason: self.words(reason) }
    }

    /// Returns words of the service without the token.
    pub(crate) fn words(&self, text: &str) -> String {
        let text = if self.token.is_empty() {
            text.to_owned()
        } else {
            text.replace(self.token.as_str(), "***")
        };
        service_words(&text)
    }
}
