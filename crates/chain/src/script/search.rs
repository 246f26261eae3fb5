//! Finding tools from within a script.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::{BoxFuture, Entry, ToolError, View};

use super::stub;

/// Tools that are found at once.
pub(super) const FOUND: usize = 8;

/// Characters of what is said of a tool that was found.
const WORDS: usize = 120;

/// Finds the tools that words ask for, the best first, among those of a view.
pub trait ToolSearch: Send + Sync {
    /// At most so many of the view's tools.
    ///
    /// # Errors
    /// `execution_error`, when nothing can be searched now.
    fn search<'a>(
        &'a self,
        view: Arc<View>,
        words: &'a str,
        most: usize,
    ) -> BoxFuture<'a, Result<Found, ToolError>>;
}

/// What a search came to.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Tools that can be called, the best first.
    pub tools: Vec<Entry>,
    /// Where there are none: the nearest names.
    pub nearest: Vec<String>,
}

/// By the words themselves: those of the name count most, then those of the title and the description. For programs without an index.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByWords;

impl ToolSearch for ByWords {
    fn search<'a>(
        &'a self,
        view: Arc<View>,
        words: &'a str,
        most: usize,
    ) -> BoxFuture<'a, Result<Found, ToolError>> {
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
        Box::pin(std::future::ready(Ok(Found { tools, nearest: Vec::new() })))
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

/// What a script is told of the tools that were found: rows with name and description. Where nothing fits it is an empty list, or the nearest names
/// in one that says so.
pub(super) fn told(found: &Found, most: usize) -> Value {
    let row = |name: &str, about: String| json!({"name": name, "about": about});
    let shown = found.tools.iter().take(most).map(|entry| {
        let spec = entry.spec();
        row(&stub::python_name(spec.name.as_str()), stub::words(&spec.description, WORDS))
    });
    let near = found.nearest.iter().filter(|_| found.tools.is_empty()).take(most);
    let near = near.map(|name| row(&stub::python_name(name), "its name is near".to_owned()));
    Value::Array(shown.chain(near).collect())
}
