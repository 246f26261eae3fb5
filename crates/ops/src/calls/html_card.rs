//! The HTML cards of a call as a document for a frame without scripts.

use toolcrib_core::{Block, CallId, StoredCall};

use super::lookup::CallLookup;
use crate::context::OpContext;
use crate::error::OpError;

/// Start of the document. It follows the color scheme of the surrounding page.
const HEAD: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Card</title><style>\
:root{color-scheme:light dark}body{margin:0;padding:12px;font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\
img,table{max-width:100%}table{border-collapse:collapse}</style></head><body>";

/// The call to show.
#[derive(Debug, Clone, Copy)]
pub struct HtmlCardRequest {
    /// Its id.
    pub call: CallId,
}

/// Returns the HTML cards of a call, as a document that runs no scripts and loads nothing.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Denied`] for a caller that sees no results,
/// [`OpError::Absent`] if the call has no HTML card.
pub async fn html_card(ctx: &OpContext<'_>, request: HtmlCardRequest) -> Result<String, OpError> {
    if !ctx.store.shows_payloads {
        return Err(OpError::Denied("you may not see results".to_owned()));
    }
    let found = CallLookup::find(&ctx.store, request.call).await?;
    let cards = found.stored.as_ref().map(html_of).unwrap_or_default();
    if cards.is_empty() {
        return Err(OpError::Absent(format!("{} has no HTML card", request.call)));
    }
    let cards: String = cards.iter().map(|html| format!("<div>{html}</div>")).collect();
    Ok(format!("{HEAD}{cards}</body></html>"))
}

/// Returns the cards, sanitized again, because a row can be older than the current sanitizing
/// rules.
fn html_of(stored: &StoredCall) -> Vec<String> {
    let Some(Ok(result)) = stored.outcome.as_ref().map(|outcome| &outcome.result) else {
        return Vec::new();
    };
    let html = |block: &Block| match block {
        Block::Html { html } => toolcrib_sanitizer::html_card(html).map(|card| card.html),
        _ => None,
    };
    result.for_people.iter().filter_map(html).collect()
}
