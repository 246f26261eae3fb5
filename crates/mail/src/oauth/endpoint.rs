//! Requests to an authorization server.

use std::time::Duration;

use serde_json::Value;
use toolcrib_net::{Follow, HttpClient, Limits, Method, Request};
use url::Url;
use url::form_urlencoded::Serializer;

use crate::error::{MailError, server_words};

/// Longest time of one request.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes of an answer; real ones have a few thousand.
const ANSWER_BYTES: usize = 64 << 10;

/// An answer: what was asked for, or the code of an error (RFC 6749, 5.2).
pub(super) enum Answer {
    Ok(Value),
    Error(String),
}

/// Posts a form. A redirect is not followed: it would carry a token elsewhere.
pub(super) async fn post(
    client: &HttpClient,
    url: &str,
    form: &[(&str, &str)],
) -> Result<Answer, MailError> {
    let server = host_of(url);
    let mut request = Request::new(Method::POST, url);
    let form_type = "application/x-www-form-urlencoded".to_owned();
    request.headers.push(("Content-Type".to_owned(), form_type));
    request.headers.push(("Accept".to_owned(), "application/json".to_owned()));
    request.body = Serializer::new(String::new()).extend_pairs(form).finish().into();
    request.follow = Follow::Never;
    let limits = Limits {
        total: TIMEOUT,
        max_wire_bytes: ANSWER_BYTES,
        max_inflated_bytes: ANSWER_BYTES,
        ..Limits::default()
    };
    let answer = client.fetch(&request, &limits).await;
    let answer = answer.map_err(|error| MailError::connecting(&server, &error))?;
    let body: Option<Value> = serde_json::from_slice(&answer.body).ok();
    match (answer.head.status, body) {
        (200..=299, Some(body)) if body.is_object() => Ok(Answer::Ok(body)),
        (400..=499, Some(body)) if body["error"].is_string() => {
            Ok(Answer::Error(server_words(body["error"].as_str().unwrap_or_default())))
        }
        (status, _) => {
            let reason = format!("HTTP {status}, which is no answer of OAuth");
            Err(MailError::Answer { server, reason })
        }
    }
}

/// The host of an address, as errors name it.
pub(super) fn host_of(url: &str) -> String {
    let parsed = Url::parse(url).ok();
    parsed.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}
