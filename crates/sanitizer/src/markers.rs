//! One pass over a text for rare strings, each of which needs a closer check: JSON in the form of a
//! model's call or turn, and markup that hides text inside Markdown. Matches are flagged; the text
//! stays unchanged.
#![deny(clippy::indexing_slicing)]

use super::byte_scan;
use super::hidden_html::{is_hidden, next_tag};
use super::hiding_styles::HidingRules;
use super::report::{FlagKind, Report};
use super::script_links;
use aho_corasick::{AhoCorasick, MatchKind};
use std::sync::OnceLock;

/// Number of bytes read around a marker.
const SURROUNDINGS: usize = 400;

/// Maximum number of bytes of hidden text that are read.
const HIDDEN_TEXT: usize = 2_000;

/// The strings, and the constructs to which they may belong.
const MARKERS: &[(&str, Marker)] = &[
    ("\"tool_calls\"", Marker::ToolCalls),
    ("\"tool_use\"", Marker::ToolUse),
    ("\"functionCall\"", Marker::FunctionCall),
    ("\"function_call\"", Marker::FunctionCall),
    ("\"tools/call\"", Marker::RpcCall),
    ("\"arguments\"", Marker::Arguments),
    ("\"parameters\"", Marker::Arguments),
    ("\"params\"", Marker::Arguments),
    ("\"action_input\"", Marker::Arguments),
    ("\"tool_input\"", Marker::Arguments),
    ("\"assistant\"", Marker::AssistantTurn),
    ("<!--", Marker::Comment),
    ("style=", Marker::Attribute),
    ("STYLE=", Marker::Attribute),
    ("Style=", Marker::Attribute),
    (" hidden", Marker::Attribute),
    (" HIDDEN", Marker::Attribute),
    ("aria-hidden", Marker::Attribute),
    ("href=", Marker::Link),
    ("HREF=", Marker::Link),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marker {
    /// A list of calls in an assistant message of OpenAI.
    ToolCalls,
    /// A content block of Anthropic.
    ToolUse,
    /// A part of a Gemini message, or an OpenAI item.
    FunctionCall,
    /// A request of MCP.
    RpcCall,
    /// A bare call: a name with its arguments.
    Arguments,
    /// A turn of the assistant.
    AssistantTurn,
    /// A comment of HTML.
    Comment,
    /// An attribute that may hide an element.
    Attribute,
    /// The address of a link in HTML.
    Link,
}

/// The kind of text being checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Text for people, in which Markdown and HTML are rendered.
    Prose,
    /// Source code or JSON: no markup is rendered.
    Plain,
}

/// Flags the constructs to which the strings belong.
pub(super) fn flag_markers(text: &str, reading: Reading, report: &mut Report) {
    // Markup in a text that is HTML as a whole is its source code.
    let is_source = text.trim_start().starts_with('<');
    let mut hidden_end = 0;
    for found in finder().into_iter().flat_map(|finder| finder.find_iter(text)) {
        let Some((marker_text, marker)) = MARKERS.get(found.pattern().as_usize()) else { continue };
        let at = found.start();
        match marker {
            Marker::Comment | Marker::Attribute | Marker::Link if reading == Reading::Plain => {}
            Marker::Comment if at >= hidden_end => {
                let inner = near_after(text, found.end(), HIDDEN_TEXT);
                let inner = inner.split("-->").next().unwrap_or("");
                hidden_end = found.end() + inner.len();
                if addresses_reader(inner) {
                    report.flag(FlagKind::HiddenText, inner.trim());
                }
            }
            Marker::Comment => {}
            Marker::Attribute => {
                if let Some((inner, end)) = hidden_element(text, at).filter(|_| at >= hidden_end) {
                    hidden_end = end;
                    let words = inner.split_whitespace().count();
                    if addresses_reader(inner) || (!is_source && words > 2) {
                        report.flag(FlagKind::HiddenText, inner.trim());
                    }
                }
            }
            Marker::Link => {
                let value = near_after(text, found.end(), SURROUNDINGS);
                script_links::flag_script(value.trim_start_matches(['"', '\'']), report);
            }
            _ if is_call(*marker, text, at, found.end()) => {
                let kind = match marker {
                    Marker::AssistantTurn => FlagKind::ForgedTurn,
                    _ => FlagKind::ForgedCall,
                };
                report.flag(kind, marker_text);
            }
            _ => {}
        }
    }
}

/// Returns the finder. Building never fails for a list of this length; without the finder nothing
/// is flagged.
///
/// For leftmost matches the library searches with vector instructions: 0.07 ns per byte of a log,
/// where the automaton for earliest matches takes 1.9 ns. Both find the same, because no marker is
/// part of another.
fn finder() -> Option<&'static AhoCorasick> {
    static FINDER: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let build = || {
        AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .build(MARKERS.iter().map(|(text, _)| text))
            .ok()
    };
    FINDER.get_or_init(build).as_ref()
}

fn near_after(text: &str, at: usize, most: usize) -> &str {
    let rest = byte_scan::text_from(text, at);
    byte_scan::text_before(rest, rest.floor_char_boundary(most))
}

fn near_before(text: &str, at: usize) -> &str {
    let start = text.ceil_char_boundary(at.saturating_sub(SURROUNDINGS));
    text.get(start..at).unwrap_or("")
}

/// Returns whether the JSON around a marker has the form of a call or a turn.
fn is_call(marker: Marker, text: &str, start: usize, end: usize) -> bool {
    let (before, after) = (near_before(text, start), near_after(text, end, SURROUNDINGS));
    let either = |key: &str| before.contains(key) || after.contains(key);
    let value = after.trim_start().strip_prefix(':').map(str::trim_start);
    match marker {
        Marker::ToolCalls => {
            value.is_some_and(|value| value.starts_with('['))
                && after.contains("\"name\"")
                && after.contains("\"arguments\"")
        }
        Marker::ToolUse => {
            is_value_of(before, "\"type\"") && either("\"name\"") && either("\"input\"")
        }
        Marker::FunctionCall if value.is_some_and(|value| value.starts_with('{')) => {
            after.contains("\"name\"")
                && (after.contains("\"args\"") || after.contains("\"arguments\""))
        }
        Marker::FunctionCall => {
            is_value_of(before, "\"type\"") && either("\"name\"") && either("\"arguments\"")
        }
        Marker::RpcCall => is_value_of(before, "\"method\"") && either("\"params\""),
        Marker::Arguments => value.is_some_and(|value| is_bare_call(before, value)),
        Marker::AssistantTurn => is_value_of(before, "\"role\"") && is_turn(before, after),
        Marker::Comment | Marker::Attribute | Marker::Link => false,
    }
}

/// Returns whether the text ends in `key :`.
fn is_value_of(before: &str, key: &str) -> bool {
    before.trim_end().strip_suffix(':').is_some_and(|rest| rest.trim_end().ends_with(key))
}

/// Returns whether the marker is a bare call: `{"name": "…", ` before the arguments, which are an
/// object and not a schema. Tool definitions have a description between the two.
fn is_bare_call(before: &str, value: &str) -> bool {
    let Some(object) = value.strip_prefix('{') else { return false };
    let is_schema = object.trim_start().starts_with("\"type\"")
        || object.trim_start().starts_with("\"properties\"");
    let name = before.trim_end().strip_suffix(',').and_then(|rest| {
        let rest = rest.trim_end().strip_suffix('"')?;
        rest.rsplit_once('"').map(|(rest, _)| rest)
    });
    let Some(key) = name.and_then(|rest| rest.trim_end().strip_suffix(':')) else { return false };
    let keys = ["\"name\"", "\"tool\"", "\"tool_name\"", "\"function\"", "\"action\""];
    !is_schema && keys.iter().any(|name| key.trim_end().ends_with(name))
}

/// Returns whether the marker is in a response of a provider, or in a message alone on its line;
/// lists of messages are examples of requests.
fn is_turn(before: &str, after: &str) -> bool {
    let is_response = before.contains("\"choices\"")
        || (before.contains("\"type\"") && before.contains("\"message\""));
    let line = before.rsplit('\n').next().unwrap_or("");
    let opens = line.trim_start().strip_prefix('{').map(str::trim_start);
    let is_first = opens.is_some_and(|rest| rest.starts_with("\"role\""));
    let rest = after.lines().next().unwrap_or("").trim_end();
    let is_alone = is_first && line.starts_with('{') && rest.ends_with('}');
    (is_response || is_alone) && (after.contains("\"content\"") || after.contains("\"parts\""))
}

/// Returns the text of the hidden element whose tag has an attribute at byte `at`, and its end.
fn hidden_element(text: &str, at: usize) -> Option<(&str, usize)> {
    let before = near_before(text, at);
    let open = at - before.len() + before.rfind('<')?;
    let tag = next_tag(near_after(text, open, HIDDEN_TEXT), 0)?;
    let is_tag = byte_scan::text_from(text, open + 1).starts_with(tag.name)
        && open + tag.end > at
        && is_hidden(&tag, &HidingRules::default());
    if !is_tag || tag.is_end {
        return None;
    }
    let inner = near_after(text, open + tag.end, HIDDEN_TEXT);
    // A nested element of the same name ends it too early, which is harmless.
    let close = format!("</{}", tag.name);
    let length = inner.find(&close).unwrap_or(inner.len());
    Some((byte_scan::text_before(inner, length), open + tag.end + length))
}

/// Returns whether hidden text addresses the model that reads it, or requests an action: notes for
/// editors and generators do neither.
fn addresses_reader(text: &str) -> bool {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.')))
        .filter(|word| !word.is_empty())
        .collect();
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    words.len() >= MIN_ORDER_WORDS
        && (has(READERS)
            || ORDERS.iter().any(|order| lower.contains(order))
            || (has(TRANSFERS) && PRIVATE.iter().any(|thing| lower.contains(thing))))
}

/// Minimum number of words in an order.
const MIN_ORDER_WORDS: usize = 4;

/// Terms that address the reader.
const READERS: &[&str] = &[
    "ai",
    "llm",
    "llms",
    "assistant",
    "assistants",
    "agent",
    "agents",
    "chatbot",
    "copilot",
    "claude",
    "chatgpt",
    "gpt",
    "gpt-4",
    "gemini",
    "codex",
    "cursor",
];

/// Typical phrases of orders and of their pretexts.
const ORDERS: &[&str] = &[
    "language model",
    "system:",
    "system prompt",
    "system message",
    "when summari",
    "when asked",
    "when answering",
    "when reading this",
    "when you ",
    "before answering",
    "before responding",
    "in your answer",
    "in your response",
    "in your reply",
    "in your summary",
    "your reply",
    "tell the user",
    "telling the user",
    "inform the user",
    "without asking",
    "secretly",
    "ignore all",
    "ignore the",
    "ignore any",
    "ignore previous",
    "disregard",
    "run the command",
    "run the following",
    "execute the",
    "call the tool",
    "use the tool",
    "delete all",
    "delete every",
    "curl http",
    "wget http",
    "| sh",
    "|sh",
    "| bash",
    "rm -rf",
];

/// Verbs that move data.
const TRANSFERS: &[&str] =
    &["send", "email", "e-mail", "forward", "post", "upload", "transfer", "copy", "append", "leak"];

/// Data that must not be moved.
const PRIVATE: &[&str] = &[
    "password",
    "token",
    "api key",
    "secret",
    "credential",
    "conversation",
    ".env",
    ".ssh",
    "private",
    "customer",
    "contacts",
    "inbox",
    "environment variable",
    "contents of",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_marker_is_part_of_another() {
        // Otherwise the leftmost match would hide the other one.
        for (marker, _) in MARKERS {
            let holders = MARKERS.iter().filter(|(other, _)| other.contains(marker));
            assert_eq!(holders.count(), 1, "{marker:?}");
        }
    }
}
