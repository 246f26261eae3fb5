//! The page of Toolcrib for MCP Apps: it draws the cards of `rich_render` in clients that show
//! pages.

use serde_json::json;
use toolcrib_core::{ToolMeta, ToolSpec, View};
use toolcrib_mcp::server::{Contents, PAGE_TYPE, Resource};

/// Address of the page.
pub(super) const URI: &str = "ui://toolcrib/card";
/// The tool whose results the page shows.
const TOOL: &str = "rich_render";

/// One document without external resources: clients do not give pages network access.
const HTML: &str = concat!(
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Card</title><style>",
    include_str!("card_page/card.css"),
    "</style></head><body><main></main><script>",
    include_str!("card_page/card.js"),
    "</script></body></html>",
);

/// Returns the page that shows results of this tool, if it is the page of this file.
pub(super) fn page_of(spec: &ToolSpec) -> Option<&'static str> {
    let has_own = spec.meta.as_ref().and_then(ToolMeta::page).is_some();
    (spec.name.as_str() == TOOL && !has_own).then_some(URI)
}

/// Returns whether this view contains the tool of the page.
pub(super) fn is_visible(view: &View) -> bool {
    view.tools.iter().any(|entry| page_of(entry.spec()).is_some())
}

/// Returns the page as an entry of a list of resources.
pub(super) fn resource() -> Resource {
    Resource {
        uri: URI.to_owned(),
        name: "card".to_owned(),
        description: Some("Draws the cards of rich_render.".to_owned()),
        media_type: Some(PAGE_TYPE.to_owned()),
        size: Some(HTML.len() as u64),
    }
}

/// Returns the page itself. It requests neither network access nor permissions.
pub(super) fn contents() -> Contents {
    let ui = json!({"prefersBorder": true});
    Contents {
        meta: [("ui".to_owned(), ui)].into_iter().collect(),
        ..Contents::text(PAGE_TYPE, HTML)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_whole_and_loads_nothing() {
        let count = |part: &str| HTML.matches(part).count();
        assert_eq!((count("<script"), count("</script"), count("</style")), (1, 1, 1));
        for loads in ["src=", "@import", "url(", "innerHTML", "fetch(", "eval("] {
            assert_eq!(count(loads), 0, "{loads}");
        }
        assert!(HTML.len() < 30_000, "{}", HTML.len());
    }
}
