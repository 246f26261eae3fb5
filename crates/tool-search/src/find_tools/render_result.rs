//! Renders search results for models.

use serde_json::{Map, Value, json};
use toolcrib_core::{Entry, Status, ToolName};

use super::InjectionResult;
use super::registry_index::ToolSearchResult;

/// Maximum characters of a tool's summary.
const SUMMARY_CHARS: usize = 100;
/// Maximum characters of the query that a result without matches repeats.
const NEED_CHARS: usize = 200;

/// Renders the result: always with `injected` and `not_found`, other keys only if they are not
/// empty.
pub(super) fn render(query: &str, sought: &ToolSearchResult, offer: &InjectionResult) -> Value {
    let nothing = sought.usable.is_empty() && sought.not_ready.is_empty();
    let not_found = if nothing {
        vec![json!({"need": first(query, NEED_CHARS), "nearest": sought.nearest})]
    } else {
        Vec::new()
    };
    let mut answer = render_injection(offer);
    answer.insert("not_found".to_owned(), not_found.into());
    let waiting: Vec<Value> =
        sought.not_ready.iter().map(|(name, status)| not_ready(name, status)).collect();
    if !waiting.is_empty() {
        answer.insert("not_ready".to_owned(), waiting.into());
    }
    answer.insert("next".to_owned(), next(offer, sought).into());
    Value::Object(answer)
}

/// Renders the outcome of an injection.
pub(super) fn render_injection(offer: &InjectionResult) -> Map<String, Value> {
    let names = |entries: &[Entry]| -> Vec<Value> {
        entries.iter().map(|e| json!(e.spec().name)).collect()
    };
    let mut answer = Map::new();
    let rows: Vec<Value> = offer.injected.iter().map(|entry| row(entry, offer.declared)).collect();
    answer.insert("injected".to_owned(), rows.into());
    for (key, entries) in [("already_available", &offer.carried), ("left_out", &offer.left_out)] {
        if !entries.is_empty() {
            answer.insert(key.to_owned(), names(entries).into());
        }
    }
    answer
}

/// Renders one tool. Includes the parameters if the caller's requests do not declare the tool,
/// because such a caller has no other way to learn them.
fn row(entry: &Entry, declared: bool) -> Value {
    let spec = entry.spec();
    let mut row = json!({"name": spec.name, "summary": first(&spec.description, SUMMARY_CHARS)});
    if !declared {
        row["parameters"] = Value::clone(&spec.input_schema);
    }
    row
}

fn not_ready(name: &ToolName, status: &Status) -> Value {
    match status {
        Status::Available { missing } => json!({"name": name, "missing": missing}),
        Status::Offline { reason } => json!({"name": name, "offline": reason}),
        _ => json!({ "name": name }),
    }
}

/// Returns the next step for the model.
fn next(offer: &InjectionResult, sought: &ToolSearchResult) -> &'static str {
    if !offer.injected.is_empty() {
        injection_status(offer)
    } else if !offer.carried.is_empty() {
        "The best tools for this are in your list already: call them."
    } else if !offer.left_out.is_empty() {
        "The tools that fit are larger than what this conversation may still carry. Ask for fewer at a time with limit."
    } else if !sought.not_ready.is_empty() {
        "A tool for this exists and cannot be used yet. Tell the person which configuration is missing or what is offline."
    } else if sought.nearest.is_empty() {
        "No tool does this. Go on without one, and say so."
    } else {
        "No tool fits this need. Ask again in other words, or with one of the nearest names if it is what you meant; else go on without a tool, and say so."
    }
}

/// Returns how to use the injected tools.
pub(super) fn injection_status(offer: &InjectionResult) -> &'static str {
    if offer.declared {
        "Call the injected tools now; they stay in your list for this conversation."
    } else {
        "Call the tools now by these names."
    }
}

/// Returns the first line of a text, truncated to a number of characters.
fn first(text: &str, chars: usize) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(chars) {
        None => line.to_owned(),
        Some((end, _)) => {
            let cut = line.get(..end).unwrap_or_default();
            // At the end of a word, if there is one.
            let cut = cut.rsplit_once(' ').map_or(cut, |(words, _)| words);
            format!("{cut}…")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::first;

    #[test]
    fn summaries_are_short() {
        assert_eq!(first(" One line.\nAnother.", 100), "One line.");
        assert_eq!(first("several words of text", 10), "several…");
        assert_eq!(first("ééééééééé", 4), "éééé…");
        assert_eq!(first("", 4), "");
    }
}
