//! Feeds in RSS, Atom and JSON: fetches them with `ETag` and `Last-Modified`, and parses them.
#![deny(clippy::indexing_slicing)]

use std::sync::{Arc, Mutex, PoisonError};

use feed_rs::model::{Entry, Feed};
use serde::Serialize;
use toolcrib_core::{CallCtx, ToolError};
use toolcrib_net::{HttpClient, Limits, Request};

use super::request_error::refusal_of;
use crate::{html_to_markdown, http_fetch};

/// Largest feed, in bytes. Feeds of a hundred articles with their full text have about 1 MB.
pub(crate) const MAX_FEED: usize = 5 * 1024 * 1024;
/// Number of feeds that are cached with their validators.
const KEPT: usize = 16;
/// Longest summary of an entry, in characters.
const MAX_SUMMARY: usize = 400;
/// Maximum bytes of a summary's HTML that are read.
const MAX_SUMMARY_HTML: usize = 16 * 1024;

/// An article from a feed or a news search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Item {
    pub(crate) title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// RFC 3339, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) published: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) summary: String,
    /// Site and language, for articles of several sites.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
}

/// A parsed feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Channel {
    pub(crate) title: String,
    pub(crate) items: Vec<Item>,
}

/// A feed with the validators that let the server answer "not modified".
struct CachedFeed {
    url: String,
    etag: Option<String>,
    modified: Option<String>,
    channel: Arc<Channel>,
}

/// Fetches feeds and caches the last ones.
pub(crate) struct FeedReader {
    pub(crate) client: HttpClient,
    kept: Mutex<Vec<CachedFeed>>,
}

impl FeedReader {
    pub(crate) fn new(client: HttpClient) -> Self {
        Self { client, kept: Mutex::default() }
    }

    /// Fetches and parses a feed, unless it has not changed.
    ///
    /// # Errors
    /// The server cannot be reached or refuses, or its response is too large or not a feed.
    pub(crate) async fn read(&self, url: &str, ctx: &CallCtx) -> Result<Arc<Channel>, ToolError> {
        let client = http_fetch::client_for(&self.client, url, ctx);
        let mut request = Request::get(url);
        let accept = "application/rss+xml,application/atom+xml,application/feed+json,application/xml;q=0.9,*/*;q=0.5";
        request.headers.push(("Accept".to_owned(), accept.to_owned()));
        let known = self.validators(url, &mut request);
        let limits =
            Limits { max_wire_bytes: MAX_FEED, max_inflated_bytes: MAX_FEED, ..Limits::default() };
        let response = http_fetch::fetch(&client, &request, limits, ctx).await?;
        if response.head.status == 304
            && let Some(channel) = known
        {
            return Ok(channel);
        }
        if let Some(refusal) = refusal_of(&response) {
            return Err(refusal.into_tool_error("The feed", "Check the address of the feed."));
        }
        if response.truncated() {
            return Err(too_large());
        }
        let header = |name| response.head.header(name).map(str::to_owned);
        let (etag, modified) = (header("etag"), header("last-modified"));
        let (body, base) = (response.body, response.head.final_url);
        let channel = crate::tool::blocking(move || parse(&body, &base)).await?;
        let channel = Arc::new(channel);
        self.keep(CachedFeed {
            url: url.to_owned(),
            etag,
            modified,
            channel: Arc::clone(&channel),
        });
        Ok(channel)
    }

    /// Adds the validators of a cached feed to a request, and returns the feed.
    fn validators(&self, url: &str, request: &mut Request) -> Option<Arc<Channel>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.iter().find(|kept| kept.url == url)?;
        let headers =
            [("If-None-Match", &kept.etag), ("If-Modified-Since", &kept.modified)].into_iter();
        let headers = headers.filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)));
        request.headers.extend(headers);
        Some(Arc::clone(&kept.channel))
    }

    fn keep(&self, feed: CachedFeed) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|other| other.url != feed.url);
        if feed.etag.is_none() && feed.modified.is_none() {
            return;
        }
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push(feed);
    }
}

pub(crate) fn too_large() -> ToolError {
    let megabytes = MAX_FEED / (1024 * 1024);
    ToolError::execution(format!("The feed is larger than {megabytes} MB, so it was not read."))
        .with_instruction("Use another feed of the site.")
}

/// Parses a feed; links in it are relative to `base`.
///
/// # Errors
/// The data is not a feed.
pub(crate) fn parse(bytes: &[u8], base: &str) -> Result<Channel, ToolError> {
    let feed = feed_rs::parser::Builder::new().base_uri(Some(base)).build().parse(bytes);
    let feed: Feed = feed.map_err(|error| {
        ToolError::execution("The document is not a feed in RSS, Atom or JSON.")
            .with_instruction("To read a page use fetch_url; many sites link their feed there.")
            .with_detail(error.to_string())
    })?;
    let title = feed.title.map(|title| one_line(&title.content)).unwrap_or_default();
    Ok(Channel { title, items: feed.entries.iter().map(item).collect() })
}

fn item(entry: &Entry) -> Item {
    let url =
        entry.links.iter().find(|link| link.rel.as_deref().is_none_or(|rel| rel == "alternate"));
    let url = url.or(entry.links.first()).map(|link| link.href.clone());
    let published = entry.published.or(entry.updated);
    let published = published.map(|time| time.format("%Y-%m-%dT%H:%M:%SZ").to_string());
    let body = entry.content.as_ref().and_then(|content| content.body.as_deref());
    let summary = entry.summary.as_ref().map(|summary| summary.content.as_str()).or(body);
    let title = entry.title.as_ref().map(|title| one_line(&title.content)).unwrap_or_default();
    Item {
        title: if title.is_empty() { url.clone().unwrap_or_default() } else { title },
        url,
        published,
        summary: summary.map(plain).unwrap_or_default(),
        source: None,
    }
}

fn one_line(text: &str) -> String {
    plain_line(text, 200)
}

fn plain_line(text: &str, chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default().trim_end()),
        None => line,
    }
}

/// Converts an HTML summary to one line of text.
fn plain(html: &str) -> String {
    let mut end = html.len().min(MAX_SUMMARY_HTML);
    while !html.is_char_boundary(end) {
        end -= 1;
    }
    let html = html.get(..end).unwrap_or_default();
    let text = if html.contains('<') || html.contains('&') {
        html_to_markdown::to_markdown(html, None)
    } else {
        html.to_owned()
    };
    plain_line(&text, MAX_SUMMARY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service_server::{Reply, ServiceServer};
    use crate::test_support::context;
    use toolcrib_net::AddressPolicy;

    const RSS: &str = r#"<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>Oat news</title><link>https://oats.example/</link>
<item><title>Oats &amp; more</title><link>https://oats.example/1</link><pubDate>Thu, 26 Nov 2026 11:30:00 +0100</pubDate><description><![CDATA[<p>They <b>rise</b>.</p><script>x()</script>]]></description><guid>1</guid></item>
<item><title>Second</title><link>https://oats.example/2</link><guid>2</guid></item></channel></rss>"#;
    const ATOM: &str = r#"<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Atom</title><id>urn:1</id><updated>2026-11-26T00:00:00Z</updated>
<entry><title>One</title><id>urn:2</id><updated>2026-11-25T08:00:00Z</updated><link rel="enclosure" href="https://a.example/a.mp3"/><link href="/one"/><summary>First</summary></entry></feed>"#;
    const JSON: &str = r#"{"version": "https://jsonfeed.org/version/1.1", "title": "JSON", "items": [{"id": "1", "url": "https://j.example/1", "title": "J", "content_text": "Hello", "date_published": "2026-11-26T10:00:00Z"}]}"#;

    #[test]
    fn three_formats_are_read() {
        let read = |text: &str| parse(text.as_bytes(), "https://a.example/feed").unwrap();
        let rss = read(RSS);
        assert_eq!((rss.title.as_str(), rss.items.len()), ("Oat news", 2));
        let first = &rss.items[0];
        assert_eq!(
            (first.title.as_str(), first.url.as_deref()),
            ("Oats & more", Some("https://oats.example/1"))
        );
        assert_eq!(first.published.as_deref(), Some("2026-11-26T10:30:00Z"));
        assert_eq!(first.summary, "They **rise**.");
        let atom = &read(ATOM).items[0];
        assert_eq!(atom.url.as_deref(), Some("https://a.example/one"));
        assert_eq!(atom.summary, "First");
        let json = &read(JSON).items[0];
        assert_eq!((json.title.as_str(), json.summary.as_str()), ("J", "Hello"));
        for wrong in ["", "<html><body>no feed</body></html>", "{}", "<rss", "\u{0}"] {
            assert!(parse(wrong.as_bytes(), "https://a.example/").is_err(), "{wrong}");
        }
    }

    /// Entities that expand each other (a "billion laughs") must not use memory.
    #[test]
    fn entities_are_not_expanded() {
        let bomb = "<?xml version=\"1.0\"?><!DOCTYPE rss [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\">]><rss version=\"2.0\"><channel><title>&c;</title></channel></rss>";
        if let Ok(channel) = parse(bomb.as_bytes(), "https://a.example/") {
            assert!(channel.title.len() < 100, "{}", channel.title.len());
        }
    }

    #[tokio::test]
    async fn an_unchanged_feed_is_not_sent_again_and_a_large_one_is_not_read() {
        let server = ServiceServer::start(|request| {
            let request = request.to_lowercase();
            if request.starts_with("get /large") {
                return Reply::new("200 OK", "application/rss+xml", vec![b' '; MAX_FEED + 1]);
            }
            if request.contains("if-none-match: \"v1\"") {
                return Reply::new("304 Not Modified", "text/plain", "");
            }
            Reply::new("200 OK", "application/rss+xml", RSS).with_header("ETag", "\"v1\"")
        })
        .await;
        let policy = AddressPolicy::with_allowed([server.addr.to_string()]).unwrap();
        let reader = FeedReader::new(HttpClient::new(policy));
        let url = format!("{}/feed", server.base());
        let first = reader.read(&url, &context()).await.unwrap();
        let second = reader.read(&url, &context()).await.unwrap();
        assert!(Arc::ptr_eq(&first, &second), "the kept feed is returned for 304");
        let large = reader.read(&format!("{}/large", server.base()), &context()).await;
        let error = large.unwrap_err();
        assert!(error.message.starts_with("The feed is larger than 5 MB"), "{}", error.message);
    }
}
