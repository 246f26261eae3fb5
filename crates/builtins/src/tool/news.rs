//! `news`: articles with given words, or the newest articles of a feed.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Assessment, CallCtx, Permission, Reach, Tool, ToolError, ToolOutput, ToolSpec, Trust, defaults,
};

use super::{base_spec, examples, web_search};
use crate::http_fetch;
use crate::web::feed::{FeedReader, Item};
use crate::web::gdelt::Gdelt;

/// Default number of articles (`num`).
const DEFAULT_ARTICLES: usize = 10;
/// Maximum number of articles.
const MAX_ARTICLES: usize = 30;

/// Handler of `news`.
pub(crate) struct News {
    pub(crate) gdelt: Gdelt,
    pub(crate) feeds: FeedReader,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Words that articles must contain. Either query or feed is needed.
    query: Option<String>,
    /// Address of an RSS, Atom or JSON feed.
    feed: Option<String>,
    /// Number of articles, 1 to 30. Default: 10.
    num: Option<u8>,
}

/// The source of the articles.
enum Wanted {
    Query(String),
    Feed(String),
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "news",
        "Get news",
        "Get news articles of the last months that have given words, or the newest entries of an RSS, Atom or JSON feed: title, date, address. To read an article use fetch_url.",
    );
    spec.group = Some("network".to_owned());
    spec.parameter_aliases = super::aliases([
        ("q", "query"),
        ("topic", "query"),
        ("url", "feed"),
        ("num_results", "num"),
    ]);
    spec.reach = Reach { outbound: true, ..Reach::default() };
    spec.permissions = vec![Permission::Network];
    spec.timeout = defaults::TIMEOUT_NETWORK;
    spec.trust = Trust::External;
    spec.examples = examples([
        ("What is in the news about oats?", json!({"query": "oats harvest"})),
        (
            "What is new on this blog?",
            json!({"feed": "https://blog.example.com/feed.xml", "num": 5}),
        ),
    ]);
    spec
}

impl Tool for News {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        number(args.num)?;
        let (wanted, mut assessment) = (wanted(args)?, Assessment::from_spec(spec));
        let summary = match &wanted {
            Wanted::Query(query) => format!("search the news for: {query}"),
            Wanted::Feed(feed) => format!("read the feed {}", http_fetch::masked_url(feed)),
        };
        if let Wanted::Feed(feed) = &wanted {
            http_fetch::ask_about_private_address(&self.feeds.client, feed, &mut assessment);
        }
        Ok(assessment.with_summary(summary))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let num = number(args.num)?;
        match wanted(&args)? {
            Wanted::Query(query) => {
                let found = self.gdelt.search(&query, num, ctx).await.map_err(|error| {
                    let instruction = "Try other words, a feed of a news site, or again later.";
                    error.into_tool_error("The search of news", instruction)
                })?;
                let source = format!("GDELT ({})", self.gdelt.host());
                Ok(output(&format!("News with: {query}"), &source, &found, num))
            }
            Wanted::Feed(feed) => {
                let channel = self.feeds.read(&feed, ctx).await?;
                Ok(output(&channel.title, &feed, &channel.items, num))
            }
        }
    }
}

fn wanted(args: &Args) -> Result<Wanted, ToolError> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    match (given(&args.query), given(&args.feed)) {
        (Some(query), None) => web_search::valid_query(&query).map(Wanted::Query),
        (None, Some(feed)) => Ok(Wanted::Feed(feed.trim().to_owned())),
        _ => Err(ToolError::validation("Give either query or feed, not both.").with_nothing_read()),
    }
}

fn number(num: Option<u8>) -> Result<usize, ToolError> {
    let num = num.map_or(DEFAULT_ARTICLES, usize::from);
    if (1..=MAX_ARTICLES).contains(&num) {
        return Ok(num);
    }
    Err(ToolError::validation(format!("num is {num}, but must be 1 to {MAX_ARTICLES}."))
        .with_nothing_read())
}

fn output(title: &str, source: &str, items: &[Item], num: usize) -> ToolOutput {
    let shown = items.get(..num).unwrap_or(items);
    let mut text = format!("{title}\n");
    if shown.is_empty() {
        text.push_str("There are no articles.");
    }
    text.push_str(&as_text(shown));
    let data = json!({"title": title, "source": source, "articles": shown, "total": items.len()});
    ToolOutput::text(text.trim_end()).with_structured(data).with_origin(Trust::External, source)
}

/// Renders articles as a numbered list.
pub(crate) fn as_text(items: &[Item]) -> String {
    let mut text = String::new();
    for (number, item) in (1..).zip(items) {
        text.push_str(&format!("{number}. {}", item.title));
        let about = [&item.published, &item.source];
        let about: Vec<&str> = about.into_iter().flatten().map(String::as_str).collect();
        if !about.is_empty() {
            text.push_str(&format!(" ({})", about.join("; ")));
        }
        for line in item.url.iter().chain(Some(&item.summary).filter(|text| !text.is_empty())) {
            text.push_str(&format!("\n   {line}"));
        }
        text.push('\n');
    }
    text
}
