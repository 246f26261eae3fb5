//! HTML cards that tools show to people: rewritten from an allow-list of elements and attributes.
//!
//! The text is split into tokens and rewritten; no tree is built. The output contains only balanced
//! elements of the list, quoted attributes and escaped text, and no element with a special content
//! model (`script`, `style`, `svg`, `template`), so a browser reads the same tokens. A tree builder
//! would copy open formatting elements into each block: 64 KB of them can become millions of nodes.
#![deny(clippy::indexing_slicing)]

mod allowed;
mod left_out;
mod style;
mod writer;

use std::cell::RefCell;

use html5ever::tokenizer::{
    BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use left_out::LeftOut;
use writer::Writer;

/// Longest HTML card that is read, in bytes. Cards are stored with their call and are part of the
/// event of its result.
pub const MAX_HTML_CARD: usize = 128 * 1024;

/// A rewritten HTML card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtmlCard {
    /// The fragment. It runs no code, loads no resources and refers to no part of the page around
    /// it.
    pub html: String,
    /// The omitted parts with their counts, such as `script (2)`; empty if there are none.
    pub left_out: Vec<String>,
}

/// Rewrites an HTML card from the allow-list; `None` if it is longer than [`MAX_HTML_CARD`].
///
/// Elements that are not in the list are omitted and their text stays; for `script`, `style`, `svg`
/// and similar elements, the content is omitted too. Links lead to `http`, `https` and `mailto`
/// addresses; images are PNG, JPEG, GIF or WebP in `data:` addresses. Rewriting a rewritten card
/// changes nothing. Takes time linear in the text.
///
/// ```
/// use toolcrib_sanitizer::html_card;
///
/// let card = html_card("<b onclick='steal()'>21 °C</b><script>steal()</script>").unwrap();
/// assert_eq!(card.html, "<b>21 °C</b>");
/// assert_eq!(card.left_out, ["event handler (1)", "script (1)"]);
/// ```
#[must_use]
pub fn html_card(html: &str) -> Option<HtmlCard> {
    if html.len() > MAX_HTML_CARD {
        return None;
    }
    let tokenizer = Tokenizer::new(Sink(RefCell::default()), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(html.into());
    // The tokenizer stops only at the end of the input: the sink requests no script to run.
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    let (html, left_out): (String, LeftOut) = tokenizer.sink.0.into_inner().finish();
    Some(HtmlCard { html, left_out: left_out.into_words() })
}

struct Sink(RefCell<Writer>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        self.0.borrow_mut().token(token)
    }
}

#[cfg(test)]
mod tests;
