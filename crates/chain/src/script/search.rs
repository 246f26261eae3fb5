//! Finding tools from within a script.

use serde_json::{Value, json};
use toolcrib_core::{Entry, View};

use super::stub;

/// Tools that are found at once.
pub(super) const FOUND: usize = 8;

/// Characters of what is said of a tool that was found.
const WORDS: usize = 120;

/// Finds the tools that words ask for, the best first, among those of a view.
pub trait ToolSearch: Send + Sync {
    /// At most so many of the view's tools.
    fn search<'v>(&self, view: &'v View, words: &str, most: usize) -> Vec<&'v Entry>;
}

/// By the words themselves: those of the name count most, then those of the title and the description.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByWords;

impl ToolSearch for ByWords {
    fn search<'v>(&self, view: &'v View, words: &str, most: usize) -> Vec<&'v Entry> {
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
        found.into_iter().take(most).map(|(_, entry)| entry).collect()
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

/// What a script is told of the tools that were found.
pub(super) fn told(found: Vec<&Entry>) -> Value {
    let shown = found.into_iter().map(|entry| {
        let spec = entry.spec();
        json!({
            "name": stub::python_name(spec.name.as_str()),
            "about": stub::words(&spec.description, WORDS),
        })
    });
    Value::Array(shown.collect())
}
