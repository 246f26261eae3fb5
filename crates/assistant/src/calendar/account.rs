//! A calendar on a CalDAV server (RFC 4791): adds events, and reads busy times.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use toolcrib_net::{Follow, HttpClient, Limits, Method, Request, Response};

use super::busy_times::{BusyTimes, busy_times};
use super::multistatus::calendar_data;
use crate::configured_server_client::client_for;
use crate::notify::ChannelSecret;

/// Time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum bytes of a response: some ten thousand events.
const MAX_BYTES: usize = 8 << 20;
const UTC_TIME: &str = "%Y%m%dT%H%M%SZ";

/// Address and credentials of the calendar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalendarSettings {
    /// Address of the calendar's collection.
    pub url: String,
    /// Name of the account.
    pub user: String,
    /// Its password.
    pub password: ChannelSecret,
}

/// Why an operation on the calendar failed. The texts are for models and people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    /// The password is missing.
    #[error("The calendar account has no password: {0}.")]
    NoPassword(String),
    /// The server cannot be reached.
    #[error("The calendar server cannot be reached: {0}.")]
    Unreachable(String),
    /// The server refuses the account.
    #[error("The calendar server refuses the user or password ({0}).")]
    Refused(u16),
    /// The server's response is unexpected.
    #[error("The calendar server {0}.")]
    Answer(String),
}

/// The calendar of the owner. Clones share the connection.
#[derive(Clone)]
pub struct CalendarAccount {
    client: HttpClient,
    settings: CalendarSettings,
}

impl fmt::Debug for CalendarAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CalendarAccount").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl CalendarAccount {
    /// Creates the calendar at this address.
    #[must_use]
    pub fn new(client: &HttpClient, settings: CalendarSettings) -> Self {
        Self { client: client_for(client, &settings.url), settings }
    }

    /// Stores an event in a separate file. The name identifies the file: if the same event is sent
    /// again, because the response to the first request was lost, the calendar contains it once.
    ///
    /// # Errors
    /// [`AccountError`]; the event may still be stored if only the response was lost.
    pub async fn add(&self, name: &str, ics: &str) -> Result<(), AccountError> {
        let url = format!("{}/{name}.ics", self.settings.url.trim_end_matches('/'));
        let mut request = self.request(Method::PUT, &url)?;
        request.headers.push(header("Content-Type", "text/calendar; charset=utf-8"));
        request.headers.push(header("If-None-Match", "*"));
        request.body = ics.to_owned().into();
        match self.send(&request).await?.head.status {
            // 412: the file exists already, from the request whose response was lost.
            200 | 201 | 204 | 412 => Ok(()),
            status => Err(answered(status)),
        }
    }

    /// Returns the busy times between two times. Times without a zone are in `zone`.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn busy(
        &self,
        from: Timestamp,
        until: Timestamp,
        zone: &TimeZone,
    ) -> Result<BusyTimes, AccountError> {
        let report = Method::from_bytes(b"REPORT")
            .map_err(|_| AccountError::Answer("cannot be asked".to_owned()))?;
        let mut request = self.request(report, &self.settings.url)?;
        request.headers.push(header("Content-Type", "application/xml; charset=utf-8"));
        request.headers.push(header("Depth", "1"));
        request.body = query(from, until).into();
        let response = self.send(&request).await?;
        if response.head.status != 207 {
            return Err(answered(response.head.status));
        }
        if response.truncated() {
            return Err(AccountError::Answer(format!(
                "has more events in this time than the {} MB that are read; choose a shorter time",
                MAX_BYTES >> 20
            )));
        }
        let text = String::from_utf8_lossy(&response.body);
        let files = calendar_data(&text)
            .map_err(|error| AccountError::Answer(format!("sends no valid answer: {error}")))?;
        Ok(busy_times(&files, from, until, zone))
    }

    fn request(&self, method: Method, url: &str) -> Result<Request, AccountError> {
        let password = self.settings.password.value().map_err(AccountError::NoPassword)?;
        let credentials = STANDARD.encode(format!("{}:{password}", self.settings.user));
        let mut request = Request::new(method, url);
        request.headers.push(header("Authorization", &format!("Basic {credentials}")));
        // The password must be sent only to the configured address.
        request.follow = Follow::Never;
        Ok(request)
    }

    async fn send(&self, request: &Request) -> Result<Response, AccountError> {
        let limits = Limits {
            total: TIMEOUT,
            max_wire_bytes: MAX_BYTES,
            max_inflated_bytes: MAX_BYTES,
            ..Limits::default()
        };
        let sent = self.client.fetch(request, &limits).await;
        sent.map_err(|error| AccountError::Unreachable(error.to_string()))
    }
}

fn header(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn answered(status: u16) -> AccountError {
    match status {
        401 | 403 => AccountError::Refused(status),
        300..=399 => AccountError::Answer(format!(
            "answers {status}: the calendar is at another address; correct calendar.url"
        )),
        404 | 405 | 409 => {
            AccountError::Answer(format!("answers {status}: there is no calendar at calendar.url"))
        }
        507 => AccountError::Answer("has no room left (507)".to_owned()),
        status => AccountError::Answer(format!("answers {status}")),
    }
}

/// Builds the query for events that overlap a time, with repeated events as single occurrences (RFC
/// 4791, 7.8 and 9.6.5).
fn query(from: Timestamp, until: Timestamp) -> String {
    let time = |at: Timestamp| at.to_zoned(TimeZone::UTC).strftime(UTC_TIME).to_string();
    let range = format!("start=\"{}\" end=\"{}\"", time(from), time(until));
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\
         <C:calendar-query xmlns:D=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\">\
         <D:prop><C:calendar-data><C:expand {range}/></C:calendar-data></D:prop>\
         <C:filter><C:comp-filter name=\"VCALENDAR\"><C:comp-filter name=\"VEVENT\">\
         <C:time-range {range}/></C:comp-filter></C:comp-filter></C:filter></C:calendar-query>"
    )
}
