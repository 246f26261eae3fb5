//! The sanitizer: neutralizes untrusted text, then truncates it, before a model reads it.
#![doc = include_str!("../README.md")]
//!
//! # Structure
//!
//! [`sanitize()`] selects how to read a text by its media type (`content_type`). HTML passes
//! `hidden_html` and `html_to_markdown`, JSON `json_literals`. Then, in this order:
//! `injection_phrases`, `markers` and `remote_images` flag, `escape_invisible` writes out hidden
//! and terminal characters, `control_token_scan` escapes tokens and turn markers (with
//! `nested_tags`, `call_fences` and `line_starts`), `remote_images` escapes images. The order
//! matters: escaping an `ESC` to `^[` can complete a token, never the reverse.
//!
//! `html_card` is for people: it rewrites the HTML cards of tools from an allow-list.
//!
//! The tables are `control_tokens` (tokens of providers), `injection_phrase_table` (phrases in
//! fifteen languages) and `injection_phrase_pairs` (English orders of two parts).
//!
//! # Invariants
//!
//! - Nothing is deleted silently: the report counts every removal, replacement and escape.
//! - One pass reaches the fixpoint, except for HTML. `property_tests` checks it.
//! - Text is truncated after it is sanitized: a cut could split a string that the sanitizer must
//!   find.
//! - Linear time, no I/O, no panic.

mod bidi_controls;
mod byte_scan;
mod call_fences;
mod confusable_folding;
mod content_type;
mod control_token_scan;
mod control_tokens;
mod decode_utf8;
mod disguised_words;
mod escape_invisible;
mod first_bytes_index;
mod folded_cursor;
mod head_tail;
mod hidden_html;
mod hiding_styles;
mod html_card;
mod html_to_markdown;
mod injection_phrase_index;
mod injection_phrase_pairs;
mod injection_phrase_table;
mod injection_phrases;
mod invisible_chars;
mod json_literals;
mod line_starts;
mod markers;
mod nested_tags;
mod prefix_filter;
mod react_labels;
mod remote_images;
mod report;
mod sanitize;
mod script_links;
mod truncate_json;
mod truncate_text;

#[cfg(test)]
mod context_corpus_tests;
#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod property_tests;

pub use head_tail::{Captured, HeadTail};
pub use hidden_html::{ShownHtml, without_hidden};
pub use html_card::{HtmlCard, MAX_HTML_CARD, html_card};
pub use html_to_markdown::{Links, html_to_markdown};
pub use report::{Change, ChangeKind, Flag, FlagKind};
pub use sanitize::{Sanitized, sanitize, sanitize_bytes};
pub use truncate_json::{JsonCut, TruncatedJson, truncate_json};
pub use truncate_text::{Cut, Keep, TruncatedText, TruncationLimits, truncate};
