//! Parses responses of language servers. Servers use different forms of the protocol, and a faulty
//! one may send anything: unusable items are left out.
#![deny(clippy::indexing_slicing)]

use serde::Deserialize;
use serde_json::Value;

use super::position::Range;

/// Deepest symbol nesting that is kept.
const MAX_DEPTH: usize = 16;
/// Maximum number of symbols that are kept.
const MAX_SYMBOLS: usize = 500;
/// Maximum number of files in a rename, and of edits in all of them.
pub(super) const MAX_FILES: usize = 200;
const MAX_EDITS: usize = 20_000;

/// A position range in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) uri: String,
    pub(super) range: Range,
}

/// Parses one location, a list, or location links.
pub(super) fn locations(answer: &Value) -> Vec<Location> {
    let each = match answer {
        Value::Array(all) => all.as_slice(),
        Value::Object(_) => std::slice::from_ref(answer),
        _ => &[],
    };
    let location = |value: &Value| {
        let uri = value.get("uri").or_else(|| value.get("targetUri"))?.as_str()?.to_owned();
        let range = value.get("range").or_else(|| value.get("targetSelectionRange"))?;
        Some(Location { uri, range: Range::deserialize(range).ok()? })
    };
    let mut found: Vec<Location> = each.iter().filter_map(location).collect();
    found.dedup();
    found
}

/// Parses the text of a hover: a string, a marked string, or several.
pub(super) fn hover(answer: &Value) -> String {
    fn words(value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            Value::Array(all) => all.iter().map(words).collect::<Vec<_>>().join("\n\n"),
            Value::Object(parts) => {
                let text = parts.get("value").and_then(Value::as_str).unwrap_or_default();
                match parts.get("language").and_then(Value::as_str) {
                    Some(language) => format!("```{language}\n{text}\n```"),
                    None => text.to_owned(),
                }
            }
            _ => String::new(),
        }
    }
    answer.get("contents").map(words).unwrap_or_default().trim().to_owned()
}

/// A diagnostic at a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Diagnostic {
    pub(super) range: Range,
    /// 1 (error) to 4 (hint).
    pub(super) severity: u64,
    pub(super) code: String,
    pub(super) source: String,
    pub(super) message: String,
}

impl Diagnostic {
    pub(super) fn kind(&self) -> &'static str {
        match self.severity {
            1 => "error",
            2 => "warning",
            3 => "note",
            _ => "hint",
        }
    }
}

/// Parses diagnostics; most severe first, without duplicates.
pub(super) fn diagnostics(items: &[Value]) -> Vec<Diagnostic> {
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let diagnostic = |item: &Value| {
        Some(Diagnostic {
            range: Range::deserialize(item.get("range")?).ok()?,
            // Without a severity it counts as an error (LSP 3.17 leaves that to the client).
            severity: item.get("severity").and_then(Value::as_u64).unwrap_or(1),
            code: text(item.get("code")),
            source: text(item.get("source")),
            message: text(item.get("message")),
        })
    };
    let mut all: Vec<Diagnostic> = Vec::new();
    for found in items.iter().filter_map(diagnostic) {
        if !all.contains(&found) {
            all.push(found);
        }
    }
    all.sort_by_key(|found| (found.severity, found.range.start));
    all
}

/// A named symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) depth: usize,
    pub(super) kind: &'static str,
    pub(super) name: String,
    /// Its container or type.
    pub(super) detail: String,
    /// Its file, if the server sent one.
    pub(super) uri: Option<String>,
    pub(super) range: Range,
}

/// Parses symbols from a tree or a list, in order; also returns how many were left out.
pub(super) fn symbols(answer: &Value) -> (Vec<Symbol>, usize) {
    let (mut found, mut more) = (Vec::new(), 0);
    add_symbols(answer, 0, &mut found, &mut more);
    (found, more)
}

fn add_symbols(all: &Value, depth: usize, found: &mut Vec<Symbol>, more: &mut usize) {
    for value in all.as_array().map(Vec::as_slice).unwrap_or_default() {
        if found.len() >= MAX_SYMBOLS {
            *more += 1;
        } else {
            found.extend(symbol(value, depth));
        }
        if let Some(children) = value.get("children").filter(|_| depth < MAX_DEPTH) {
            add_symbols(children, depth + 1, found, more);
        }
    }
}

fn symbol(value: &Value, depth: usize) -> Option<Symbol> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let range = value.get("selectionRange").or_else(|| value.pointer("/location/range"))?;
    Some(Symbol {
        depth,
        kind: kind(value.get("kind").and_then(Value::as_u64).unwrap_or(0)),
        name: text("name")?,
        detail: text("detail").or_else(|| text("containerName")).unwrap_or_default(),
        uri: value.pointer("/location/uri").and_then(Value::as_str).map(str::to_owned),
        range: Range::deserialize(range).ok()?,
    })
}

/// Returns the name of a symbol kind (LSP 3.17, SymbolKind).
fn kind(number: u64) -> &'static str {
    const KINDS: [&str; 26] = [
        "file",
        "module",
        "namespace",
        "package",
        "class",
        "method",
        "property",
        "field",
        "constructor",
        "enum",
        "interface",
        "function",
        "variable",
        "constant",
        "string",
        "number",
        "boolean",
        "array",
        "object",
        "key",
        "null",
        "enum member",
        "struct",
        "event",
        "operator",
        "type parameter",
    ];
    let index = usize::try_from(number).unwrap_or(0).wrapping_sub(1);
    KINDS.get(index).copied().unwrap_or("symbol")
}

/// A text edit.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct TextEdit {
    pub(super) range: Range,
    #[serde(rename = "newText")]
    pub(super) text: String,
}

/// Parses a workspace edit: edits by file, and whether it also creates, moves or deletes files.
pub(super) fn edits(answer: &Value) -> (Vec<(String, Vec<TextEdit>)>, bool) {
    let mut files: Vec<(String, Vec<TextEdit>)> = Vec::new();
    let mut moves = false;
    let mut left = MAX_EDITS;
    let mut add = |uri: &str, edits: &Value| {
        let edits = edits.as_array().map(Vec::as_slice).unwrap_or_default();
        let edits = edits.iter().take(left).filter_map(|edit| TextEdit::deserialize(edit).ok());
        let edits: Vec<TextEdit> = edits.collect();
        left = left.saturating_sub(edits.len());
        if let Some((_, known)) = files.iter_mut().find(|(known, _)| known == uri) {
            known.extend(edits);
        } else if files.len() < MAX_FILES && !edits.is_empty() {
            files.push((uri.to_owned(), edits));
        }
    };
    for change in answer.get("documentChanges").and_then(Value::as_array).into_iter().flatten() {
        match (change.pointer("/textDocument/uri").and_then(Value::as_str), change.get("edits")) {
            (Some(uri), Some(edits)) => add(uri, edits),
            _ => moves = true,
        }
    }
    if answer.get("documentChanges").is_none_or(Value::is_null) {
        for (uri, edits) in answer.get("changes").and_then(Value::as_object).into_iter().flatten() {
            add(uri, edits);
        }
    }
    files.sort_by(|(one, _), (other, _)| one.cmp(other));
    (files, moves)
}

/// Applies edits to a text; `None` if they overlap or lie outside of it.
pub(super) fn apply_edits(text: &str, edits: &[TextEdit]) -> Option<String> {
    let mut places = Vec::new();
    for edit in edits {
        let begin = super::position::byte_offset(text, edit.range.start)?;
        let end = super::position::byte_offset(text, edit.range.end)?;
        if begin > end {
            return None;
        }
        places.push((begin, end, edit.text.as_str()));
    }
    places.sort_by_key(|(begin, end, _)| (*begin, *end));
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (begin, end, new) in places {
        out.push_str(text.get(at..begin)?);
        out.push_str(new);
        at = end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn range(from: (u32, u32), to: (u32, u32)) -> Value {
        json!({"start": {"line": from.0, "character": from.1}, "end": {"line": to.0, "character": to.1}})
    }

    #[test]
    fn locations_of_all_forms() {
        let one = json!({"uri": "file:///a", "range": range((1, 2), (1, 3))});
        let link = json!({"targetUri": "file:///a", "targetRange": range((0, 0), (9, 0)), "targetSelectionRange": range((1, 2), (1, 3))});
        for answer in [one.clone(), json!([one]), json!([link]), json!([one, one, {"uri": 1}])] {
            let found = locations(&answer);
            assert_eq!(found.len(), 1, "{answer}");
            assert_eq!(found[0].range.start.line, 1);
        }
        for answer in [json!(null), json!([]), json!("x"), json!([1, {}, {"uri": "a"}])] {
            assert_eq!(locations(&answer), [], "{answer}");
        }
    }

    #[test]
    fn hovers_of_all_forms() {
        let check = |contents: Value, expected: &str| {
            assert_eq!(hover(&json!({"contents": contents})), expected);
        };
        check(json!("plain"), "plain");
        check(json!({"kind": "markdown", "value": "**x**\n"}), "**x**");
        check(
            json!([{"language": "rust", "value": "fn a()"}, "words"]),
            "```rust\nfn a()\n```\n\nwords",
        );
        check(json!(7), "");
        assert_eq!(hover(&Value::Null), "");
    }

    #[test]
    fn diagnostics_come_worst_first_and_once() {
        let item = |severity: u64, line: u32, message: &str| json!({"range": range((line, 0), (line, 1)), "severity": severity, "message": message, "code": 7});
        let items =
            [item(2, 0, "w"), item(1, 5, "e"), item(1, 5, "e"), json!({"message": "no range"})];
        let found = diagnostics(&items);
        let shown: Vec<_> =
            found.iter().map(|d| (d.kind(), d.message.as_str(), d.code.as_str())).collect();
        assert_eq!(shown, [("error", "e", "7"), ("warning", "w", "7")]);
    }

    #[test]
    fn symbols_as_trees_and_lists() {
        let r = range((3, 4), (3, 8));
        let tree = json!([{"name": "A", "kind": 5, "range": r, "selectionRange": r, "children": [{"name": "f", "kind": 6, "selectionRange": r}]}]);
        let (found, more) = symbols(&tree);
        let shown: Vec<_> = found.iter().map(|s| (s.depth, s.kind, s.name.as_str())).collect();
        assert_eq!((shown, more), (vec![(0, "class", "A"), (1, "method", "f")], 0));
        let list = json!([{"name": "f", "kind": 99, "containerName": "A", "location": {"uri": "file:///a", "range": r}}]);
        let (found, _) = symbols(&list);
        assert_eq!((found[0].kind, found[0].detail.as_str()), ("symbol", "A"));
        let many = Value::Array(vec![json!({"name": "f", "kind": 1, "selectionRange": r}); 600]);
        assert_eq!((symbols(&many).0.len(), symbols(&many).1), (500, 100));
    }

    #[test]
    fn edits_are_gathered_and_applied() {
        let edit = |from, to, text: &str| json!({"range": range(from, to), "newText": text});
        let changes =
            json!({"changes": {"file:///b": [edit((0, 0), (0, 1), "x")], "file:///a": []}});
        assert_eq!(edits(&changes).0.len(), 1);
        let document = json!({"documentChanges": [
            {"textDocument": {"uri": "file:///a"}, "edits": [edit((0, 4), (0, 7), "two"), edit((0, 0), (0, 3), "o")]},
            {"kind": "rename", "oldUri": "file:///a", "newUri": "file:///b"},
        ]});
        let (files, moves) = edits(&document);
        assert!(moves);
        assert_eq!(apply_edits("one uno\n", &files[0].1).as_deref(), Some("o two\n"));
        let overlapping = [edit((0, 0), (0, 3), "a"), edit((0, 1), (0, 2), "b")];
        let (files, _) = edits(&json!({"changes": {"file:///a": overlapping}}));
        assert_eq!(apply_edits("one uno\n", &files[0].1), None);
        let (files, _) = edits(&json!({"changes": {"file:///a": [edit((9, 0), (9, 1), "a")]}}));
        assert_eq!(apply_edits("one\n", &files[0].1), None);
    }

    proptest! {
        #[test]
        fn any_json_is_taken_apart(text in "[\\[\\]{}\",:0-9a-z ]{0,60}") {
            let value = serde_json::from_str(&text).unwrap_or(Value::Null);
            let wrapped = json!({"contents": value, "changes": value, "documentChanges": [value]});
            locations(&value);
            symbols(&value);
            hover(&wrapped);
            edits(&wrapped);
            diagnostics(&[value]);
        }
    }
}
