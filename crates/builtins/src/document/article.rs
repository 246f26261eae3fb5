//! The article of a web page: its main text without menus, advertisements and comments.
#![deny(clippy::indexing_slicing)]

use dom_smoothie::{Config, Readability};
use url::Url;

use crate::html_to_markdown;

/// Maximum elements of a page that the extraction examines; pages have up to 20,000.
const MAX_ELEMENTS: usize = 50_000;
/// Minimum characters of an article. If the extraction finds fewer, the complete page is returned.
const MIN_ARTICLE: usize = 200;

/// Returns the title and the text of a page's article, as Markdown. If the page has no article, the
/// title is empty and the text is that of the complete page.
pub(super) fn read(html: &str, url: Option<&str>) -> (String, String) {
    let base = url.and_then(|url| Url::parse(url).ok());
    // Remove hidden text first, so that the extraction never sees it.
    let shown = toolcrib_sanitizer::without_hidden(html);
    let config =
        Config { max_elements_to_parse: MAX_ELEMENTS, disable_json_ld: true, ..Config::default() };
    let article =
        Readability::new(&*shown.html, url, Some(config)).and_then(|mut page| page.parse());
    if let Ok(article) = article {
        let text = html_to_markdown::to_markdown(&article.content, base.as_ref());
        if text.chars().count() >= MIN_ARTICLE {
            return (one_line(&article.title), text);
        }
    }
    (String::new(), html_to_markdown::to_markdown(html, base.as_ref()))
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(200).collect()
}
