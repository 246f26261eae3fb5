//! Notifications over HTTP: ntfy, and a webhook of the owner.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib_core::{Notification, Urgency};
use toolcrib_net::{Follow, HttpClient, Limits, Method, Request};

use super::settings::{NtfySettings, WebhookSettings};
use crate::configured_server_client::client_for;
use crate::signature::{SIGNATURE_HEADER, TIMESTAMP_HEADER, sign};

/// Time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Publishes to a topic, as JSON to the server's root, because headers cannot contain every title.
///
/// # Errors
/// Why it was not published.
pub(super) async fn ntfy(
    client: &HttpClient,
    settings: &NtfySettings,
    notification: &Notification,
) -> Result<(), String> {
    let (root, topic) = settings.url.trim_end_matches('/').rsplit_once('/').unwrap_or_default();
    let mut body = json!({
        "topic": topic, "title": notification.title, "message": notification.message,
    });
    if let Some(link) = notification.web_link() {
        body["click"] = json!(link);
    }
    // https://docs.ntfy.sh/publish/#message-priority: 3 is the default of five, 4 "high".
    match notification.urgency {
        Urgency::Low => body["priority"] = json!(2),
        Urgency::Normal => {}
        Urgency::High => body["priority"] = json!(4),
    }
    let mut request = post(root, &body);
    if let Some(token) = &settings.token {
        request.headers.push(("Authorization".to_owned(), format!("Bearer {}", token.value()?)));
    }
    send(client, request).await
}

/// Sends a notification as JSON, signed if there is a key.
///
/// # Errors
/// Why the server did not accept it.
pub(super) async fn webhook(
    client: &HttpClient,
    settings: &WebhookSettings,
    notification: &Notification,
) -> Result<(), String> {
    let sent_at = Timestamp::from_millisecond(notification.created_at).unwrap_or_default();
    let body = json!({
        "id": notification.id, "title": notification.title, "message": notification.message,
        "link": notification.web_link(), "tag": notification.tag, "untrusted": notification.untrusted,
        "urgency": notification.urgency,
        "sent_at": sent_at.to_string(),
    });
    let mut request = post(&settings.url, &body);
    if let Some(secret) = &settings.secret {
        let seconds = sent_at.as_second();
        let signature = sign(secret.value()?.as_bytes(), seconds, &request.body);
        request.headers.push((TIMESTAMP_HEADER.to_owned(), seconds.to_string()));
        request.headers.push((SIGNATURE_HEADER.to_owned(), signature));
    }
    send(client, request).await
}

fn post(url: &str, body: &Value) -> Request {
    let mut request = Request::new(Method::POST, url);
    request.headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
    request.body = body.to_string().into();
    request.follow = Follow::Never;
    request
}

/// Sends a request; any 2xx status is success.
async fn send(client: &HttpClient, request: Request) -> Result<(), String> {
    let client = client_for(client, &request.url);
    let limits = Limits { total: TIMEOUT, ..Limits::default() };
    let response = client.fetch(&request, &limits).await.map_err(|error| error.to_string())?;
    match response.head.status {
        200..=299 => Ok(()),
        status => Err(format!("the server answered {status}")),
    }
}
