//! HTTP requests of OAuth: small, without cross-host redirects, through the address-checking
//! client.
#![deny(clippy::indexing_slicing)]

use std::time::Duration;

use serde_json::Value;
use toolcrib_net::{Follow, HttpClient, Limits, Method, Request, Response};
use url::Url;

use super::url_policy::same_origin;
use super::{AuthError, bounded_text};

/// Maximum bytes of a response; real ones have a few thousand.
const ANSWER_BYTES: usize = 256 * 1024;
/// Time limit of a request.
const TIME: Duration = Duration::from_secs(15);

fn limits() -> Limits {
    Limits {
        total: TIME,
        max_wire_bytes: ANSWER_BYTES,
        max_inflated_bytes: ANSWER_BYTES,
        ..Limits::default()
    }
}

async fn send(http: &HttpClient, request: Request) -> Result<Response, AuthError> {
    let place = Url::parse(&request.url).ok();
    let host = place.as_ref().and_then(Url::host_str).unwrap_or_default().to_owned();
    let sent = http.fetch(&request, &limits()).await;
    let answer = sent.map_err(|error| {
        AuthError::Unreachable(format!("{host}: {}", bounded_text(&error.to_string())))
    })?;
    let came_from = Url::parse(&answer.head.final_url).ok();
    let is_same = place.zip(came_from).is_some_and(|(to, from)| same_origin(&to, &from));
    if !is_same {
        return Err(AuthError::Unusable(format!("{host} sends requests on to another host")));
    }
    if answer.truncated() {
        return Err(AuthError::Unusable(format!(
            "the answer of {host} is longer than {ANSWER_BYTES} bytes"
        )));
    }
    Ok(answer)
}

/// Fetches a JSON document; `None` if there is none at this URL, also if the server answers 200
/// with an HTML page.
///
/// # Errors
/// [`AuthError::Unreachable`]; [`AuthError::Unusable`] when the response is too long, or comes from
/// another host.
pub(super) async fn fetch_json(http: &HttpClient, url: &Url) -> Result<Option<Value>, AuthError> {
    let mut request = Request::get(url.as_str());
    request.headers.push(("accept".to_owned(), "application/json".to_owned()));
    let answer = send(http, request).await?;
    match answer.head.status {
        200 => Ok(serde_json::from_slice(&answer.body).ok().filter(Value::is_object)),
        500.. => Err(AuthError::Unreachable(format!("{url}: HTTP {}", answer.head.status))),
        _ => Ok(None),
    }
}

/// Posts a form or a document; returns the status and the JSON of the response, null if it is not
/// JSON.
pub(super) async fn post_form(
    http: &HttpClient,
    url: &Url,
    media_type: &str,
    body: String,
    authorization: Option<String>,
) -> Result<(u16, Value), AuthError> {
    let mut request = Request { follow: Follow::Never, ..Request::new(Method::POST, url.as_str()) };
    request.headers.push(("accept".to_owned(), "application/json".to_owned()));
    request.headers.push(("content-type".to_owned(), media_type.to_owned()));
    if let Some(authorization) = authorization {
        request.headers.push(("authorization".to_owned(), authorization));
    }
    request.body = body.into();
    let answer = send(http, request).await?;
    let value = serde_json::from_slice(&answer.body).unwrap_or_default();
    Ok((answer.head.status, value))
}
