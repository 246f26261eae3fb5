//! Tool search from within a script.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::{BoxFuture, Entry, ToolError, View};

use super::python_stubs;

/// Default number of results.
pub(super) const DEFAULT_LIMIT: usize = 8;

/// Maximum number of characters of a result's description.
const WORDS: usize = 120;

/// Searches the tools of a view, best match first.
pub trait ToolSearch: Send + Sync {
    /// Returns at most `limit` of the view's tools.
    ///
    /// # Errors
    /// `execution_error` if the search is not available now.
    fn search<'a>(
        &'a self,
        view: Arc<View>,
        words: &'a str,
        most: usize,
    ) -> BoxFuture<'a, Result<ToolMatches, ToolError>>;
}

/// Result of a search.
#[derive(Debug, Clone, Default)]
pub struct ToolMatches {
    /// Callable tools, best match first.
    pub tools: Vec<Entry>,
    /// The most similar names, if there are no matches.
    pub nearest: Vec<String>,
}

/// Keyword search: words in the name count most, then those in the title and the description. For
/// programs without a search index.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeywordSearch;

impl ToolSearch for KeywordSearch {
    fn search<'a>(
        &'a self,
        view: Arc<View>,
        words: &'a str,
        most: usize,
    ) -> BoxFuture<'a, Result<ToolMatches, ToolError>> {
        let asked: Vec<String> = words
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.len() > 1)
            .map(str::to_lowercase)
            .take(20)
            .collect();
        let mut found: Vec<(usize, &Entry)> = view
            .tools
            .iter()
            .map(|entry| (score(entry, &asked), entry))
            .filter(|(score, _)| *score > 0)
            .collect();
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        let tools = found.into_iter().take(most).map(|(_, entry)| entry.clone()).collect();
        Box::pin(std::future::ready(Ok(ToolMatches { tools, nearest: Vec::new() })))
    }
}

fn score(entry: &Entry, asked: &[String]) -> usize {
    let spec = entry.spec();
    let (name, title) = (spec.name.as_str().to_lowercase(), spec.title.to_lowercase());
    let description = spec.description.to_lowercase();
    asked
        .iter()
        .map(|word| {
            4 * usize::from(name.contains(word.as_str()))
                + 2 * usize::from(title.contains(word.as_str()))
                + usize::from(description.contains(word.as_str()))
        })
        .sum()
}

/// Returns the search result for a script: rows with name and description. Without a match it is an
/// empty list, or one row that suggests similar names.
pub(super) fn to_json(found: &ToolMatches, most: usize) -> Value {
    let row = |name: &str, about: String| json!({"name": name, "about": about});
    let shown = found.tools.iter().take(most).map(|entry| {
        let spec = entry.spec();
        row(
            &python_stubs::python_name(spec.name.as_str()),
            python_stubs::shorten(&spec.description, WORDS),
        )
    });
    let near = found.nearest.iter().filter(|_| found.tools.is_empty()).take(most);
    let near =
        near.map(|name| row(&python_stubs::python_name(name), "its name is near".to_owned()));
    Value::Array(shown.chain(near).collect())
}
