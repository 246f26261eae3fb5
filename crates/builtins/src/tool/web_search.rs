//! `web_search`: searches the web with the back ends that the owner configured.

use std::fmt::Write as _;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{
    Assessment, CallCtx, ConfigKey, ErrorType, Permission, Reach, Tool, ToolError, ToolOutput,
    ToolSpec, Trust, defaults,
};

use super::{base_spec, examples};
use crate::web::search::{Hit, Query, SearchAnswer, SearchChain};

/// Default number of results (`num`).
const DEFAULT_RESULTS: usize = 5;
/// Maximum number of results.
pub(super) const MAX_RESULTS: usize = 10;
/// Longest query in characters; most services refuse longer ones.
const MAX_QUERY: usize = 400;
/// The missing setting if there is no back end.
pub(super) const BACKEND_KEY: &str = "web.search";
/// Instructions for people on configuring a back end.
pub(super) const NO_BACKEND: &str = "No search back end is configured: set `web.searxng.url` to a SearXNG instance, or `web.brave.key`, `web.tavily.key` or `web.exa.key` to the key of a search service.";

/// Handler of `web_search`.
pub(crate) struct WebSearch {
    pub(crate) chain: Arc<SearchChain>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The words to search for.
    query: String,
    /// Number of results, 1 to 10. Default: 5.
    num: Option<u8>,
}

/// Creates the definition. Without a back end, the tool reports the missing setting.
pub(crate) fn spec(is_configured: bool) -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "web_search",
        "Search the web",
        "Search the web for current information: titles, addresses and excerpts of pages. To read a page use fetch_url.",
    );
    spec.group = Some("network".to_owned());
    spec.parameter_aliases = super::aliases([
        ("q", "query"),
        ("num_results", "num"),
        ("max_results", "num"),
        ("count", "num"),
    ]);
    spec.reach = Reach { outbound: true, ..Reach::default() };
    spec.permissions = vec![Permission::Network];
    spec.timeout = defaults::TIMEOUT_NETWORK;
    spec.trust = Trust::External;
    if !is_configured {
        spec.config = vec![ConfigKey {
            key: BACKEND_KEY.to_owned(),
            description: NO_BACKEND.to_owned(),
            secret: false,
            required: true,
        }];
    }
    spec.examples = examples([
        ("What is new in Rust?", json!({"query": "Rust programming language news"})),
        ("Find me three recipes for oat bread", json!({"query": "oat bread recipe", "num": 3})),
    ]);
    spec
}

impl Tool for WebSearch {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec(!self.chain.is_empty())
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let query = valid_query(&args.query)?;
        number(args.num)?;
        Ok(Assessment::from_spec(spec).with_summary(format!("search the web for: {query}")))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        if self.chain.is_empty() {
            return Err(ToolError::new(ErrorType::NotConfigured, NO_BACKEND).with_nothing_read());
        }
        let text = valid_query(&args.query)?;
        let query = Query { text, num: number(args.num)?, sites: Vec::new() };
        let found = self.chain.search(&query, ctx).await?;
        Ok(output(&query.text, &found))
    }
}

pub(super) fn valid_query(query: &str) -> Result<String, ToolError> {
    let query = query.split_whitespace().collect::<Vec<_>>().join(" ");
    let refused = |why: String| Err(ToolError::validation(why).with_nothing_read());
    match query.chars().count() {
        0 => refused("query is empty. Say what to search for.".to_owned()),
        chars if chars > MAX_QUERY => refused(format!(
            "query has {chars} characters, at most {MAX_QUERY} are allowed. Use fewer words."
        )),
        _ => Ok(query),
    }
}

pub(super) fn number(num: Option<u8>) -> Result<usize, ToolError> {
    let num = num.map_or(DEFAULT_RESULTS, usize::from);
    if (1..=MAX_RESULTS).contains(&num) {
        return Ok(num);
    }
    Err(ToolError::validation(format!("num is {num}, but must be 1 to {MAX_RESULTS}."))
        .with_nothing_read())
}

/// Renders the result as text and as data.
pub(super) fn output(query: &str, found: &SearchAnswer) -> ToolOutput {
    let hits: Vec<Value> = found.hits.iter().map(as_data).collect();
    let structured = json!({
        "query": query,
        "backend": found.backend,
        "results": hits,
        "cached": found.cached,
        "failed": found.failed,
    });
    ToolOutput::text(as_text(query, found))
        .with_structured(structured)
        .with_origin(Trust::External, format!("{} ({})", found.backend, found.host))
}

fn as_data(hit: &Hit) -> Value {
    let mut data = json!({"title": hit.title, "url": hit.url, "snippet": hit.snippet});
    if let (Some(data), Some(published)) = (data.as_object_mut(), &hit.published) {
        data.insert("published".to_owned(), json!(published));
    }
    data
}

fn as_text(query: &str, found: &SearchAnswer) -> String {
    let mut text = if found.hits.is_empty() {
        format!("Nothing was found for: {query}")
    } else {
        String::new()
    };
    for (number, hit) in (1..).zip(&found.hits) {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{number}. {}\n   {}", hit.title, hit.url);
        if let Some(published) = &hit.published {
            let _ = write!(text, " ({published})");
        }
        if !hit.snippet.is_empty() {
            let _ = write!(text, "\n   {}", hit.snippet);
        }
        text.push('\n');
    }
    if !found.failed.is_empty() {
        let _ = write!(text, "\n(Asked before without a result: {}.)", found.failed.join("; "));
    }
    text.trim_end().to_owned()
}
