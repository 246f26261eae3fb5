//! Sends drafts of the kind webhook: one `POST` of the text to the address, under the address
//! policy, without redirects.
//!
//! An error before the request was sent means that nothing was sent. Afterwards, only a 2xx
//! response means that the server accepted it, and only a 3xx or 4xx response that it did not: a
//! server that responds with 500 may have acted before it failed.

use std::time::Duration;

use toolcrib_core::BoxFuture;
use toolcrib_net::{Follow, HttpClient, HttpError, Limits, Method, Phase, Request};

use super::kind::DraftKind;
use super::model::Draft;
use super::sending::{Carrier, Delivery};

/// Time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum characters of the server's response that are shown.
const ANSWER_CHARS: usize = 200;
/// Maximum bytes of the response that are read.
const ANSWER_BYTES: usize = 16 << 10;

/// Sends drafts of the kind webhook.
pub struct WebhookCarrier {
    client: HttpClient,
}

impl WebhookCarrier {
    /// Creates a carrier that sends over this client, whose policy determines the allowed
    /// addresses. The client must not reuse connections: a request over a reused connection can be
    /// repeated.
    #[must_use]
    pub fn new(client: HttpClient) -> Self {
        Self { client }
    }

    async fn post(&self, draft: &Draft) -> Delivery {
        let address = draft.to.first().map(|to| to.trim()).unwrap_or_default();
        let mut request = Request::new(Method::POST, address);
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&draft.body).is_ok();
        let media_type = if is_json { "application/json" } else { "text/plain; charset=utf-8" };
        request.headers.push(("Content-Type".to_owned(), media_type.to_owned()));
        request.headers.push(("Idempotency-Key".to_owned(), idempotency_key(draft).to_owned()));
        request.body = draft.body.clone().into();
        request.follow = Follow::Never;
        let limits = Limits { total: TIMEOUT, max_wire_bytes: ANSWER_BYTES, ..Limits::default() };
        match self.client.send(&request, &limits).await {
            Ok(mut answer) => {
                let words = answer.body.chunk().await.ok().flatten().unwrap_or_default();
                judge(address, answer.head.status, &String::from_utf8_lossy(&words))
            }
            Err(error) if is_before_sending(&error) => Delivery::Failed(error.to_string()),
            Err(error) => Delivery::Unknown(format!("{address} did not answer: {error}.")),
        }
    }
}

/// Interprets a response to the request.
fn judge(address: &str, status: u16, words: &str) -> Delivery {
    let words: String = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let words: String =
        words.chars().filter(|c| !c.is_control()).take(ANSWER_CHARS).collect::<String>();
    let said = if words.is_empty() { String::new() } else { format!(": {words}") };
    match status {
        200..=299 => Delivery::Sent(None),
        300..=399 => Delivery::Failed(format!(
            "{address} answered {status}, which names another address; redirects are not followed."
        )),
        400..=499 => Delivery::Failed(format!("{address} refused it with {status}{said}")),
        _ => Delivery::Unknown(format!("{address} answered {status}{said}.")),
    }
}

fn is_before_sending(error: &HttpError) -> bool {
    match error {
        HttpError::Denied(_)
        | HttpError::Dns(_)
        | HttpError::Connect { .. }
        | HttpError::Tls { .. }
        | HttpError::BadRequest(_) => true,
        HttpError::Timeout { phase, .. } => {
            matches!(phase, Phase::Dns | Phase::Connect | Phase::Tls)
        }
        _ => false,
    }
}

/// Returns the key by which a server recognizes a repeated attempt: the same in all attempts.
pub(super) fn idempotency_key(draft: &Draft) -> &str {
    draft.message_id.trim_start_matches('<').trim_end_matches('>')
}

impl Carrier for WebhookCarrier {
    fn kind(&self) -> DraftKind {
        DraftKind::Webhook
    }

    fn deliver<'a>(&'a self, _: &'a str, draft: &'a Draft) -> BoxFuture<'a, Delivery> {
        Box::pin(self.post(draft))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: u16, expected: &str) {
        let judged = match judge("https://x.org/", status, " so\r\n it is\u{1b} ") {
            Delivery::Sent(_) => "sent".to_owned(),
            Delivery::Failed(text) => format!("failed {text}"),
            Delivery::Unknown(text) => format!("unknown {text}"),
        };
        assert!(judged.starts_with(expected) && !judged.contains(['\r', '\u{1b}']), "{judged}");
    }

    #[test]
    fn only_answers_that_say_so_count_as_sent_or_refused() {
        check(204, "sent");
        check(302, "failed https://x.org/ answered 302");
        check(422, "failed https://x.org/ refused it with 422: so it is");
        check(503, "unknown https://x.org/ answered 503");
    }
}
