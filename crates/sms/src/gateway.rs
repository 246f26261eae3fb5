//! The HTTP interface of the app, as its documentation describes it for the local server mode.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib_net::{AllowEntry, Follow, HttpClient, HttpError, Limits, Method, Phase, Request};
use url::Url;

use crate::account::SmsPhone;
use crate::error::{SmsError, app_words};

/// Time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum bytes of an answer: 100 SMS have far less.
const MAX_BYTES: usize = 4 << 20;
/// Maximum characters of the phone's name.
const NAME_CHARS: usize = 80;

/// The way to the app on a phone.
#[derive(Clone)]
pub(crate) struct Gateway {
    client: HttpClient,
    base: String,
    host: String,
    authorization: String,
    password: String,
}

/// An SMS in the inbox of the phone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReceivedSms {
    /// The app's id; not unique, as its documentation says.
    pub(crate) id: String,
    pub(crate) sender: String,
    pub(crate) text: String,
    /// Unix time in milliseconds.
    pub(crate) at: i64,
}

/// A page of the inbox.
#[derive(Debug, Clone, Default)]
pub(crate) struct InboxPage {
    pub(crate) sms: Vec<ReceivedSms>,
    /// Whether it has as many rows as were asked for, so that there may be more.
    pub(crate) is_full: bool,
}

/// What became of a message that the app accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SentState {
    /// It waits in the app or in the phone.
    Waiting,
    /// It left the phone; with the reason why it did not arrive, if the network says so.
    Left(Option<String>),
    /// It did not leave the phone, and will not.
    Failed(String),
}

impl Gateway {
    /// Creates the way to a phone. The person configured its address, so it may be in a private
    /// network. Connections are not reused: a request over a reused connection can be repeated.
    pub(crate) fn new(client: &HttpClient, phone: &SmsPhone, password: &str) -> Self {
        let url = Url::parse(&phone.base_url).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or("the phone").to_owned();
        let entry: Option<AllowEntry> = url
            .as_ref()
            .and_then(|url| format!("{host}:{}", url.port_or_known_default()?).parse().ok());
        let client = entry.map_or_else(|| client.clone(), |entry| client.with_opened(entry));
        let login = STANDARD.encode(format!("{}:{password}", phone.user));
        Self {
            client,
            base: phone.base_url.trim_end_matches('/').to_owned(),
            host,
            authorization: format!("Basic {login}"),
            password: password.to_owned(),
        }
    }

    /// Returns the name of the phone, after the app has accepted the password.
    pub(crate) async fn phone_name(&self) -> Result<String, SmsError> {
        let (status, body) = match self.ask("/devices").await? {
            // Earlier versions of the app have the list under this path.
            (404, _) => self.ask("/device").await?,
            answer => answer,
        };
        self.check(status, &body)?;
        let name = body[0]["name"].as_str().unwrap_or("a phone");
        Ok(app_words(name).chars().take(NAME_CHARS).collect())
    }

    /// Returns a page of the inbox since a time, the newest first.
    pub(crate) async fn inbox(
        &self,
        since: Option<i64>,
        limit: usize,
        offset: usize,
    ) -> Result<InboxPage, SmsError> {
        let mut path = format!("/inbox?type=SMS&limit={limit}&offset={offset}");
        let since = since.and_then(|ms| Timestamp::from_second(ms.div_euclid(1000)).ok());
        if let Some(since) = since {
            path += &format!("&from={since}");
        }
        let (status, body) = self.ask(&path).await?;
        if matches!(status, 404 | 405 | 501) {
            return Err(SmsError::NoInbox(self.host.clone()));
        }
        self.check(status, &body)?;
        let rows = body.as_array().ok_or_else(|| self.unusable("it is no list"))?;
        // A row that cannot be read is left out: it must not hide the others.
        let sms = rows.iter().filter_map(received).collect();
        Ok(InboxPage { sms, is_full: rows.len() >= limit })
    }

    /// Hands a message over under an id; the app sends a message with the same id once.
    pub(crate) async fn send(&self, id: &str, to: &str, text: &str) -> Result<(), SmsError> {
        let body = json!({
            "id": id,
            "textMessage": { "text": text },
            "phoneNumbers": [to],
        });
        // The app accepts numbers without a country only if it does not check them.
        let check = if to.starts_with('+') { "" } else { "?skipPhoneValidation=true" };
        let path = format!("/messages{check}");
        let (status, answer) = self.request(Method::POST, &path, Some(&body)).await?;
        // 409: it has a message with this id already.
        if status == 409 { Ok(()) } else { self.check(status, &answer) }
    }

    /// Returns what became of the message with this id; `None` if the app does not know it.
    pub(crate) async fn state(&self, id: &str) -> Result<Option<SentState>, SmsError> {
        let (status, body) = self.ask(&format!("/messages/{id}")).await?;
        if status == 404 {
            return Ok(None);
        }
        self.check(status, &body)?;
        sent_state(&body).map(Some).ok_or_else(|| self.unusable("it names no state"))
    }

    async fn ask(&self, path: &str) -> Result<(u16, Value), SmsError> {
        self.request(Method::GET, path, None).await
    }

    /// Sends a request with a JSON body, if there is one, and reads the JSON of the answer.
    async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), SmsError> {
        let mut request = Request::new(method, format!("{}{path}", self.base));
        request.headers.push(("Authorization".to_owned(), self.authorization.clone()));
        if let Some(body) = body {
            request.headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
            request.body = body.to_string().into();
        }
        request.follow = Follow::Never;
        let limits = Limits {
            total: TIMEOUT,
            max_wire_bytes: MAX_BYTES,
            max_inflated_bytes: MAX_BYTES,
            ..Limits::default()
        };
        let response = self.client.fetch(&request, &limits).await.map_err(|e| self.failed(&e))?;
        if response.cut.is_some() {
            return Err(self.unusable(&format!("it has more than {MAX_BYTES} bytes")));
        }
        let status = response.head.status;
        match serde_json::from_slice(&response.body) {
            Ok(body) => Ok((status, body)),
            // An error, and an answer that only says that it is done, may have no body.
            Err(_) if status >= 300 || response.body.is_empty() => Ok((status, Value::Null)),
            Err(error) => Err(self.unusable(&error.to_string())),
        }
    }

    fn check(&self, status: u16, body: &Value) -> Result<(), SmsError> {
        let host = self.host.clone();
        match status {
            200..=299 => Ok(()),
            401 | 403 => Err(SmsError::Login(host)),
            _ => {
                let reason = self.words(body["message"].as_str().unwrap_or("it gives no reason"));
                Err(SmsError::Refused { host, status, reason })
            }
        }
    }

    fn failed(&self, error: &HttpError) -> SmsError {
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
        let (host, reason) = (self.host.clone(), self.words(&error.to_string()));
        SmsError::Unreachable { host, reason, unsent }
    }

    fn unusable(&self, reason: &str) -> SmsError {
        SmsError::Answer { host: self.host.clone(), reason: self.words(reason) }
    }

    /// Returns words of the app without the password.
    fn words(&self, text: &str) -> String {
        app_words(&text.replace(self.password.as_str(), "***"))
    }
}

fn received(row: &Value) -> Option<ReceivedSms> {
    let text = |name: &str| row[name].as_str().map(str::to_owned);
    let at: Timestamp = row["createdAt"].as_str()?.parse().ok()?;
    Some(ReceivedSms {
        id: text("id")?,
        sender: text("sender")?,
        // For SMS, the app has the whole text here.
        text: text("contentPreview")?,
        at: at.as_millisecond(),
    })
}

fn sent_state(body: &Value) -> Option<SentState> {
    let has_left = body["states"].get("Sent").is_some();
    let reason = || {
        let said = body["recipients"][0]["error"].as_str().map(app_words);
        said.filter(|said| !said.is_empty()).unwrap_or_else(|| "it gives no reason".to_owned())
    };
    Some(match body["state"].as_str()? {
        "Sent" | "Delivered" => SentState::Left(None),
        "Failed" if has_left => SentState::Left(Some(reason())),
        "Failed" => SentState::Failed(reason()),
        "Cancelled" => SentState::Failed("it was cancelled on the phone".to_owned()),
        _ => SentState::Waiting,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &Value, expected: Option<SentState>) {
        assert_eq!(sent_state(body), expected, "{body}");
    }

    #[test]
    fn a_message_that_left_has_not_failed() {
        let failed = json!([{"phoneNumber": "+1", "state": "Failed", "error": "no\r\nservice"}]);
        check(&json!({"state": "Pending"}), Some(SentState::Waiting));
        check(&json!({"state": "Processed"}), Some(SentState::Waiting));
        check(&json!({"state": "Delivered"}), Some(SentState::Left(None)));
        check(
            &json!({"state": "Failed", "recipients": failed}),
            Some(SentState::Failed("no service".to_owned())),
        );
        check(
            &json!({"state": "Failed", "recipients": failed, "states": {"Sent": "2026-01-01T00:00:00Z"}}),
            Some(SentState::Left(Some("no service".to_owned()))),
        );
        check(&json!({}), None);
    }

    #[test]
    fn a_row_without_its_parts_is_left_out() {
        let row = json!({"id": "text:1", "sender": "+1", "contentPreview": "Hi", "createdAt": "2026-01-01T07:00:00.500+07:00"});
        let at = received(&row).map(|sms| sms.at);
        assert_eq!(at, Some(1_767_225_600_500));
        for missing in ["id", "sender", "contentPreview", "createdAt"] {
            let mut row = row.clone();
            row[missing] = json!(7);
            assert_eq!(received(&row), None, "{missing}");
        }
    }
}
