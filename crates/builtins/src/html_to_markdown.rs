//! The text that a page shows, as Markdown.

use toolcrib_sanitizer::{Links, without_hidden};
use url::Url;

/// Converts the text that a page shows to Markdown; resolves addresses against `base`.
pub(crate) fn to_markdown(html: &str, base: Option<&Url>) -> String {
    toolcrib_sanitizer::html_to_markdown(&without_hidden(html).html, Links::Web(base))
}

#[cfg(test)]
mod tests {
    use super::to_markdown;

    #[test]
    fn hidden_text_is_left_out() {
        let html = "<p>a<span style='display:none'>b <b>c</b></span> <a href='javascript:x'>d</a>";
        assert_eq!(to_markdown(html, None), "a d");
    }
}
