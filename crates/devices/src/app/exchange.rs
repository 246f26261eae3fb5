//! One signed request to an app, and its signed response. Redirects are not followed, and every
//! part of the response has a bound.

use std::time::Duration;

use serde_json::Value;
use toolcrib_net::{Bytes, Follow, HttpError, Limits, Method, Phase, Request};

use super::apps::Apps;
use super::model::App;
use crate::address::AppAddress;
use crate::key_pair::KeyPair;
use crate::keys::random_hex;
use crate::signature::{
    NONCE_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, request_message, response_message,
};

/// Maximum bytes of a response.
const RESPONSE_BYTES: usize = 1 << 20;

/// Why there is no response that can be used. The texts are sentence fragments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExchangeError {
    /// Nothing was sent.
    NotSent(String),
    /// The request may have been processed.
    Lost(String),
    /// The app answered, but not as the protocol says.
    Invalid(String),
}

impl std::fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::NotSent(why) | Self::Lost(why) | Self::Invalid(why)) = self;
        f.write_str(why)
    }
}

impl Apps {
    /// Sends a request to an app; `body` is JSON, and `None` makes a GET.
    pub(super) async fn exchange(
        &self,
        app: &App,
        path: &str,
        body: Option<&Value>,
        total: Duration,
    ) -> Result<Value, ExchangeError> {
        let not_sent = |why: &dyn std::fmt::Display| ExchangeError::NotSent(why.to_string());
        let keys = KeyPair::read(&self.0.vault, &app.id).await.map_err(|error| not_sent(&error))?;
        let keys = keys.ok_or_else(|| not_sent(&"it is not paired any more"))?;
        let address = AppAddress::parse(&app.address).map_err(|error| not_sent(&error))?;
        let client = address.client(&self.0.client).map_err(|error| not_sent(&error))?;
        let body = body.map(Value::to_string).unwrap_or_default();
        let method = if body.is_empty() { Method::GET } else { Method::POST };
        let nonce = random_hex::<16>().map_err(|error| not_sent(&error))?;
        let timestamp = (self.now() / 1_000).to_string();
        let message = request_message(method.as_str(), path, &timestamp, &nonce, body.as_bytes());
        let signature = keys.ours.sign(&message).map_err(|error| not_sent(&error))?;
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut headers = vec![
            header(TIMESTAMP_HEADER, &timestamp),
            header(NONCE_HEADER, &nonce),
            header(SIGNATURE_HEADER, &signature),
        ];
        if method == Method::POST {
            headers.push(header("content-type", "application/json"));
        }
        let request = Request {
            headers,
            body: Bytes::from(body),
            follow: Follow::Never,
            ..Request::new(method, address.url(path))
        };
        let limits = Limits {
            total,
            connect: total.min(Duration::from_secs(5)),
            max_wire_bytes: RESPONSE_BYTES,
            max_inflated_bytes: RESPONSE_BYTES,
            max_redirects: 0,
            ..Limits::default()
        };
        let response = client.fetch(&request, &limits).await.map_err(sort)?;
        let invalid = |why: String| ExchangeError::Invalid(why);
        let status = response.head.status;
        if (300..400).contains(&status) {
            return Err(invalid(format!(
                "it redirects {path} (status {status}), and redirects are not followed"
            )));
        }
        if response.truncated() {
            let most = RESPONSE_BYTES >> 20;
            return Err(invalid(format!("its answer to {path} has more than {most} MB")));
        }
        let signature = response.head.header(SIGNATURE_HEADER).unwrap_or_default();
        let message = response_message(status, &nonce, &response.body);
        if !keys.theirs.verifies(&message, signature) {
            return Err(invalid(format!(
                "its answer to {path} (status {status}) has no valid signature, so another program may have answered"
            )));
        }
        if status != 200 {
            return Err(invalid(format!("it answers {path} with status {status}")));
        }
        serde_json::from_slice(&response.body)
            .map_err(|error| invalid(format!("its answer to {path} is not JSON: {error}")))
    }
}

/// Returns whether a failed request may have reached the app.
fn sort(error: HttpError) -> ExchangeError {
    let why = error.to_string();
    match error {
        HttpError::Denied(_)
        | HttpError::Dns(_)
        | HttpError::Connect { .. }
        | HttpError::Tls { .. }
        | HttpError::BadRequest(_)
        | HttpError::Timeout { phase: Phase::Dns | Phase::Connect | Phase::Tls, .. } => {
            ExchangeError::NotSent(why)
        }
        _ => ExchangeError::Lost(why),
    }
}
