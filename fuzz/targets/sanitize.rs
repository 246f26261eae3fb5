//! `sanitizer::sanitize`: no control token and no terminal character survives, JSON stays JSON, and
//! a second pass changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use toolcrib_sanitizer::{sanitize, sanitize_bytes};

const TYPES: [&str; 6] =
    ["text/plain", "text/markdown", "application/json", "text/x-rust", "text/html", "text/csv"];

/// Spellings that must not reach a model, written out independently of the tables of the sanitizer.
const TOKENS: &[&str] = &[
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<|begin_of_text|>",
    "<|tool_call|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "<function_calls>",
    "</function_calls>",
    "<tool_result>",
    "</tool_result>",
    "[TOOL_CALLS]",
    "[TOOL_RESULTS]",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
    "<｜tool▁calls▁begin｜>",
    "\n\nHuman:",
    "\n\nAssistant:",
    "\u{1b}",
    "\u{7}",
    "\u{202e}",
    "\u{0}",
];

/// Scripts that are written without spaces: there a zero-width space is honest (Thai to Tibetan,
/// Khmer, Tai, Balinese, Javanese, Cham).
fn is_spaceless(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{1900}'..='\u{1B7F}'
        | '\u{A980}'..='\u{AADF}')
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, raw)) = input.split_first() else { return };
    let content_type = TYPES[usize::from(choice) % TYPES.len()];
    let out = sanitize_bytes(raw, content_type).into_owned();
    if let Some(token) = TOKENS.iter().find(|token| out.text.contains(**token)) {
        // Half of a pair of surrogates aside, nothing hidden is honest in the middle of JSON's own
        // white space.
        panic!("{token:?} survives as {content_type}: {:?}", out.text);
    }
    let hidden = out.text.contains('\u{200b}') && !out.text.contains(is_spaceless);
    assert!(!hidden, "a zero-width space survives as {content_type}: {:?}", out.text);
    if content_type != "text/html" {
        let again = sanitize(&out.text, content_type);
        assert_eq!(again.text, out.text, "a second pass as {content_type}");
    }
    let Ok(text) = std::str::from_utf8(raw) else { return };
    if text != out.text {
        let silent = out.changes.is_empty() && content_type != "text/html";
        assert!(!silent, "changed without a word: {text:?} -> {:?}", out.text);
    }
    if content_type == "application/json" && serde_json::from_str::<Value>(text).is_ok() {
        assert!(serde_json::from_str::<Value>(&out.text).is_ok(), "no longer JSON: {:?}", out.text);
    }
});
