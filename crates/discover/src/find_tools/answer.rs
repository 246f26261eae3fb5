//! What a model is told of a search.

use serde_json::{Map, Value, json};
use toolcrib_core::{Entry, Status, ToolName};

use super::known::Sought;

/// Characters of a summary (SPEC 5.1: `short_summary`).
const SUMMARY_CHARS: usize = 100;
/// Characters of the need that is repeated where nothing was found.
const NEED_CHARS: usize = 200;

/// The result: `injected` and `not_found` always, the rest where there is something to say.
pub(super) fn of(
    query: &str,
    sought: &Sought,
    carried: &[Entry],
    new: &[Entry],
    injected: &[ToolName],
) -> Value {
    let is_in = |entry: &&Entry| injected.contains(&entry.spec().name);
    let mut answer = Map::new();
    let rows: Vec<Value> = new.iter().filter(is_in).map(row).collect();
    let left_out: Vec<Value> =
        new.iter().filter(|entry| !is_in(entry)).map(|e| json!(e.spec().name)).collect();
    let nothing = sought.usable.is_empty() && sought.not_ready.is_empty();
    let not_found = if nothing {
        vec![json!({"need": first(query, NEED_CHARS), "nearest": sought.nearest})]
    } else {
        Vec::new()
    };
    let next = next(!rows.is_empty(), !carried.is_empty(), !left_out.is_empty(), sought);
    answer.insert("injected".to_owned(), rows.into());
    answer.insert("not_found".to_owned(), not_found.into());
    let names = carried.iter().map(|entry| json!(entry.spec().name)).collect();
    let waiting = sought.not_ready.iter().map(|(name, status)| not_ready(name, status)).collect();
    for (key, list) in
        [("already_available", names), ("left_out", left_out), ("not_ready", waiting)]
    {
        if !list.is_empty() {
            answer.insert(key.to_owned(), Value::Array(list));
        }
    }
    answer.insert("next".to_owned(), next.into());
    Value::Object(answer)
}

fn row(entry: &Entry) -> Value {
    let spec = entry.spec();
    json!({"name": spec.name, "summary": first(&spec.description, SUMMARY_CHARS)})
}

fn not_ready(name: &ToolName, status: &Status) -> Value {
    match status {
        Status::Available { missing } => json!({"name": name, "missing": missing}),
        Status::Offline { reason } => json!({"name": name, "offline": reason}),
        _ => json!({ "name": name }),
    }
}

/// What to do now.
fn next(injected: bool, carried: bool, left_out: bool, sought: &Sought) -> &'static str {
    if injected {
        "Call the injected tools now; they stay in your list for this conversation."
    } else if carried {
        "The best tools for this are in your list already: call them."
    } else if left_out {
        "The tools that fit are larger than what this conversation may still carry. Ask for fewer at a time with limit."
    } else if !sought.not_ready.is_empty() {
        "A tool for this exists and cannot be used yet. Tell the person which configuration is missing or what is offline."
    } else if sought.nearest.is_empty() {
        "No tool does this. Go on without one, and say so."
    } else {
        "No tool fits this need. Ask again in other words, or with one of the nearest names if it is what you meant; else go on without a tool, and say so."
    }
}

/// The first line of a text, or its first characters.
fn first(text: &str, chars: usize) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(chars) {
        None => line.to_owned(),
        Some((end, _)) => {
            let cut = line.get(..end).unwrap_or_default();
            // At a word's end where there is one.
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
