//! World news by words, with the DOC 2.0 API of GDELT
//! (<https://blog.gdeltproject.org/gdelt-doc-2-0-api-debuts/>): the last three months, one request
//! every five seconds.
#![deny(clippy::indexing_slicing)]

use std::time::{Duration, Instant};

use serde::Deserialize;
use toolcrib_core::{CallCtx, ErrorType};
use toolcrib_net::{HttpClient, Request, Response};

use super::feed::Item;
use super::{Cache, Pace, Service, ServiceError, refusal_of};

/// Minimum time between two requests, as the service demands.
const GAP: Duration = Duration::from_secs(5);
/// How long a result is reused; the service renews its index every 15 minutes.
const CACHE_TIME: Duration = Duration::from_secs(15 * 60);
/// Number of cached searches.
const ENTRIES: usize = 64;
/// Time reserved for the request itself when a call waits for its turn.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Longest text of a refusal, in characters.
const MAX_REFUSAL: usize = 200;

/// The service, with its pace.
pub(crate) struct Gdelt {
    service: Service,
    pace: Pace,
    cache: Cache<Vec<Item>>,
}

#[derive(Deserialize)]
struct Answer {
    /// Missing if nothing was found.
    #[serde(default)]
    articles: Vec<Article>,
}

#[derive(Deserialize)]
struct Article {
    url: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    seendate: String,
    #[serde(default)]
    domain: String,
    #[serde(default)]
    language: String,
}

impl Gdelt {
    pub(crate) fn new(client: &HttpClient, configured: Option<&str>) -> Self {
        let service = Service::new(client, configured, "https://api.gdeltproject.org");
        Self { service, pace: Pace::new(GAP), cache: Cache::new(CACHE_TIME, ENTRIES) }
    }

    /// Returns the host of the service.
    pub(crate) fn host(&self) -> String {
        self.service.host()
    }

    /// Searches the newest articles with these words.
    pub(crate) async fn search(
        &self,
        query: &str,
        num: usize,
        ctx: &CallCtx,
    ) -> Result<Vec<Item>, ServiceError> {
        let key = format!("{num} {query}");
        if let Some(items) = self.cache.get(&key) {
            return Ok(items);
        }
        self.wait(ctx).await?;
        let number = num.to_string();
        let query = [
            ("query", query),
            ("mode", "artlist"),
            ("format", "json"),
            ("sort", "datedesc"),
            ("maxrecords", &number),
        ];
        let request = Request::get(self.service.url("/api/v2/doc/doc", &query));
        let items = items(&self.service.send(&request, ctx).await?)?;
        self.cache.put(key, items.clone());
        Ok(items)
    }

    /// Waits until this request may be sent, if the call has enough time.
    async fn wait(&self, ctx: &CallCtx) -> Result<(), ServiceError> {
        let left = ctx.deadline.saturating_duration_since(Instant::now());
        let turn = self.pace.reserve(left.saturating_sub(REQUEST_TIME)).map_err(|wait| {
            let seconds = wait.as_secs() + 1;
            let reason = format!("it allows one request in 5 s, the next in {seconds} s");
            ServiceError { kind: ErrorType::RateLimited, reason }
        })?;
        tokio::select! {
            () = tokio::time::sleep(turn) => Ok(()),
            () = ctx.cancel.cancelled() => {
                Err(ServiceError { kind: ErrorType::Cancelled, reason: "the call was stopped".to_owned() })
            }
        }
    }
}

/// Parses the articles of a response. A refusal is plain text with any status.
fn items(response: &Response) -> Result<Vec<Item>, ServiceError> {
    let text = String::from_utf8_lossy(&response.body);
    let text = text.trim();
    let short: String = text.chars().take(MAX_REFUSAL).collect();
    if !text.starts_with('{') && !text.starts_with('<') && !text.is_empty() {
        let kind = match response.head.status {
            429 => ErrorType::RateLimited,
            _ if text.contains("limit requests") => ErrorType::RateLimited,
            _ => ErrorType::ExecutionError,
        };
        let reason = format!("it says: {}", short.trim_end_matches('.'));
        return Err(ServiceError { kind, reason });
    }
    if let Some(refusal) = refusal_of(response) {
        return Err(refusal);
    }
    let answer: Answer = super::request_error::json(response)?;
    let mut items: Vec<Item> = answer.articles.into_iter().map(item).collect();
    // The same report appears at many addresses.
    items.dedup_by(|one, other| one.title == other.title);
    Ok(items)
}

fn item(article: Article) -> Item {
    let Article { url, title, seendate, domain, language } = article;
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let named = [domain, language].into_iter().filter(|part| !part.is_empty());
    Item {
        title: if title.is_empty() { url.clone() } else { title },
        url: Some(url),
        published: date(&seendate),
        summary: String::new(),
        source: Some(named.collect::<Vec<_>>().join(", ")).filter(|source| !source.is_empty()),
    }
}

/// Converts `20261126T113000Z` to `2026-11-26T11:30:00Z`.
fn date(text: &str) -> Option<String> {
    let time = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", text).ok()?;
    Some(format!("{time}Z"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service_server::{Reply, ServiceServer, client};
    use crate::test_support::context;

    const FOUND: &str = r#"{"articles": [
        {"url": "https://a.example/1", "url_mobile": "", "title": "Oats  rise", "seendate": "20261126T113000Z", "socialimage": "", "domain": "a.example", "language": "English", "sourcecountry": "United States"},
        {"url": "https://b.example/1", "url_mobile": "", "title": "Oats rise", "seendate": "20261126T110000Z", "socialimage": "", "domain": "b.example", "language": "English", "sourcecountry": "Canada"},
        {"url": "https://c.example/2", "url_mobile": "", "title": "Hafer", "seendate": "soon", "socialimage": "", "domain": "c.example", "language": "German", "sourcecountry": "Germany"}]}"#;

    async fn gdelt(reply: Reply) -> (Gdelt, ServiceServer) {
        let server = ServiceServer::with_reply(reply).await;
        (Gdelt::new(&client(), Some(&server.base())), server)
    }

    #[tokio::test]
    async fn articles_come_with_date_and_source_and_each_report_once() {
        let (gdelt, server) = gdelt(Reply::json(FOUND)).await;
        let items = gdelt.search("oats", 5, &context()).await.unwrap();
        let shown: Vec<_> = items
            .iter()
            .map(|item| (item.title.as_str(), item.published.as_deref(), item.source.as_deref()))
            .collect();
        let first = ("Oats rise", Some("2026-11-26T11:30:00Z"), Some("a.example, English"));
        assert_eq!(shown, [first, ("Hafer", None, Some("c.example, German"))]);
        let line = "GET /api/v2/doc/doc?query=oats&mode=artlist&format=json&sort=datedesc&maxrecords=5 HTTP/1.1";
        assert!(server.seen()[0].starts_with(line), "{}", server.seen()[0]);
        gdelt.search("oats", 5, &context()).await.unwrap();
        assert_eq!(server.seen().len(), 1, "the same search is answered from the cache");
    }

    #[tokio::test]
    async fn refusals_are_plain_text() {
        let text = |status, body: &str| Reply::new(status, "text/html; charset=utf-8", body);
        for (reply, kind, expected) in [
            (
                text(
                    "429 Too Many Requests",
                    "Please limit requests to one every 5 seconds or contact kalev for larger queries.",
                ),
                ErrorType::RateLimited,
                "Please limit requests to one every 5 seconds",
            ),
            (
                text("200 OK", "Your query was too short or too long."),
                ErrorType::ExecutionError,
                "it says: Your query was too short or too long",
            ),
            (
                text("502 Bad Gateway", "<html>bad</html>"),
                ErrorType::NetworkError,
                "a failure of its own (HTTP 502)",
            ),
            (
                Reply::json(r#"{"articles": ["#),
                ErrorType::NetworkError,
                "not the JSON that was expected",
            ),
        ] {
            let (gdelt, _server) = gdelt(reply).await;
            let error = gdelt.search("a", 5, &context()).await.unwrap_err();
            assert_eq!(error.kind, kind, "{expected}");
            assert!(error.reason.contains(expected), "{}", error.reason);
        }
        let (gdelt, _server) = gdelt(Reply::json("{}")).await;
        assert_eq!(gdelt.search("xyzzy", 5, &context()).await, Ok(Vec::new()));
    }

    #[tokio::test]
    async fn a_call_without_time_for_its_turn_is_told_when_to_come_back() {
        let (gdelt, _server) = gdelt(Reply::json("{}")).await;
        gdelt.search("a", 5, &context()).await.unwrap();
        let mut ctx = context();
        ctx.deadline = Instant::now() + Duration::from_secs(6);
        let error = gdelt.search("b", 5, &ctx).await.unwrap_err();
        assert!(error.reason.starts_with("it allows one request in 5 s, the next in"), "{error:?}");
    }
}
