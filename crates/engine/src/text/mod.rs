//! What a model sees of a tool's output: made harmless first, then made short.
//!
//! [`sanitize`] turns the text of a tool into text that carries nothing live: no control token of
//! any provider, no fake tool-call markup, no invisible or terminal characters, no image that
//! would be fetched from a remote host. It escapes and never deletes, it is deterministic and
//! idempotent, and it takes time linear in its input. Plain-language orders cannot be removed
//! reliably, so they are flagged and left in place (DESIGN §5).
//!
//! [`Bounds`] and [`bound_json`] then shorten that text in the middle with exact counts, and
//! [`HeadTail`] collects a stream of any length in bounded memory. The order is fixed: output is
//! never cut before it is sanitised, because a cut could split what the sanitiser looks for.
//!
//! Absent on purpose: secret masking, the envelope that names the source, and the artifact store;
//! those belong to the stages that call this module.

mod bidi;
mod bound;
mod bound_json;
mod content_type;
mod escape;
mod fold;
mod head_tail;
mod hidden;
mod html;
mod images;
mod json;
mod lexicon;
mod markup;
mod orders;
mod orders_table;
mod report;
mod sanitize;
mod scan;
mod starts;
mod tokens;
mod utf8;

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod properties;

pub use bound::{Bounded, Bounds, Cut, Keep, bound};
pub use bound_json::{BoundedJson, JsonCut, bound_json};
pub use head_tail::{Captured, HeadTail};
pub use report::{Change, ChangeKind, Flag, FlagKind};
pub use sanitize::{Sanitised, sanitize, sanitize_bytes};
