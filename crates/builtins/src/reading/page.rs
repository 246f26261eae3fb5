//! Reads an address: an article, a feed, a document or a text.

use std::time::Duration;

use toolcrib_core::{CallCtx, ToolError, defaults};
use toolcrib_net::{HttpClient, Limits, Request, Response};
use url::Url;

use super::Reading;
use super::kind::{Kind, kind};
use crate::document::{Documents, Format, PageRanges};
use crate::html_to_markdown;
use crate::http_fetch::{self, Body};
use crate::tool::blocking;
use crate::tool::news::as_text;
use crate::web::feed;
use crate::web::refusal_of;

/// Largest response, in bytes: pages have up to 2 MB, papers in PDF up to about 10.
pub(super) const MAX_BYTES: usize = 10 << 20;
/// Time reserved for parsing the response.
const PARSING: Duration = Duration::from_secs(10);

/// Fetches an address and reads its content.
///
/// # Errors
/// Those of the request; the response is an error of the server, or contains no text.
pub(crate) async fn read_page(
    client: &HttpClient,
    documents: Option<&Documents>,
    url: &str,
    ctx: &CallCtx,
) -> Result<Reading, ToolError> {
    let client = http_fetch::client_for(client, url, ctx);
    let mut request = Request::get(url);
    let accept = "text/html,application/xhtml+xml,text/markdown,text/plain,application/pdf,application/rss+xml,application/atom+xml,application/feed+json,*/*;q=0.5";
    request.headers.push(("Accept".to_owned(), accept.to_owned()));
    let limits = Limits {
        total: defaults::TIMEOUT.saturating_sub(PARSING),
        max_wire_bytes: MAX_BYTES,
        max_inflated_bytes: MAX_BYTES,
        ..Limits::default()
    };
    let response = http_fetch::fetch(&client, &request, limits, ctx).await?;
    if let Some(refusal) = refusal_of(&response) {
        return Err(
            refusal.into_tool_error("The page", "Check the address, or search for the page.")
        );
    }
    let declared = response.head.header("content-type").unwrap_or_default().to_ascii_lowercase();
    match kind(&response.body, &declared) {
        Kind::Document => document(documents, &response, ctx).await,
        Kind::Page => page(documents, response, ctx).await,
        Kind::Feed => match as_feed(&response).await? {
            Some(reading) => Ok(reading),
            None => text(&response),
        },
        Kind::Other => text(&response),
    }
}

async fn document(
    documents: Option<&Documents>,
    response: &Response,
    ctx: &CallCtx,
) -> Result<Reading, ToolError> {
    let url = response.head.final_url.clone();
    if response.truncated() {
        return Err(ToolError::execution(format!(
            "The document has more than {} MB, so it was not read.",
            MAX_BYTES >> 20
        )));
    }
    let documents = documents.ok_or_else(no_documents)?;
    let read = documents.read(ctx, &url, response.body.clone(), PageRanges::default()).await?;
    Ok(super::file::of_document(read, url))
}

pub(super) fn no_documents() -> ToolError {
    ToolError::execution("Documents cannot be read here: this program has no document reader.")
}

async fn page(
    documents: Option<&Documents>,
    response: Response,
    ctx: &CallCtx,
) -> Result<Reading, ToolError> {
    let url = response.head.final_url.clone();
    let cut = http_fetch::truncation(&response);
    let html = match Body::from_response(&response) {
        Body::Text { text, .. } => text,
        Body::Binary { note } => return Err(ToolError::execution(note)),
    };
    let mut reading = as_article(documents, html, Some(url), ctx).await?;
    reading.notes.extend(cut);
    Ok(reading)
}

/// Returns the article of a page, or otherwise the complete text of the page. The worker extracts
/// the article, because libraries for this recurse and are quadratic on crafted pages.
pub(super) async fn as_article(
    documents: Option<&Documents>,
    html: String,
    url: Option<String>,
    ctx: &CallCtx,
) -> Result<Reading, ToolError> {
    let source = url.clone().unwrap_or_default();
    let request = Format::Article { url: url.clone() };
    let mut notes = Vec::new();
    if let Some(documents) = documents {
        let bytes = html.clone().into_bytes();
        match documents.read_as(ctx, &source, bytes, request, PageRanges::default()).await {
            Ok(read) => {
                let level = read.level.as_str();
                if let Some(part) = read.parts.into_iter().next()
                    && !part.text.trim().is_empty()
                {
                    let kind = if part.name.is_empty() { "web page" } else { "article" };
                    return Ok(Reading {
                        kind,
                        title: part.name,
                        text: part.text,
                        source,
                        notes,
                        sandbox: Some(level),
                    });
                }
            }
            Err(error) if ctx.cancel.is_cancelled() => return Err(error),
            Err(_) => notes.push("The article was not found in it; this is the whole page.".into()),
        }
    }
    let base = url.and_then(|url| Url::parse(&url).ok());
    let text = blocking(move || Ok(html_to_markdown::to_markdown(&html, base.as_ref()))).await?;
    Ok(Reading { kind: "web page", title: String::new(), text, source, notes, sandbox: None })
}

async fn as_feed(response: &Response) -> Result<Option<Reading>, ToolError> {
    if response.truncated() || response.body.len() > feed::MAX_FEED {
        return Err(feed::too_large());
    }
    let (body, source) = (response.body.clone(), response.head.final_url.clone());
    feed_of(body, source).await
}

/// Parses a feed and renders its entries; `None` if the body is not a feed.
pub(super) async fn feed_of(body: Vec<u8>, source: String) -> Result<Option<Reading>, ToolError> {
    let base = source.clone();
    let channel = blocking(move || Ok(feed::parse(&body, &base).ok())).await?;
    Ok(channel.map(|channel| Reading {
        kind: "feed",
        title: channel.title,
        text: as_text(&channel.items),
        source,
        notes: Vec::new(),
        sandbox: None,
    }))
}

fn text(response: &Response) -> Result<Reading, ToolError> {
    let source = response.head.final_url.clone();
    match Body::from_response(response) {
        Body::Text { text, .. } => Ok(Reading {
            kind: "text",
            title: String::new(),
            text,
            source,
            notes: http_fetch::truncation(response).into_iter().collect(),
            sandbox: None,
        }),
        Body::Binary { note } => Err(ToolError::execution(format!("It has no text. {note}"))),
    }
}
