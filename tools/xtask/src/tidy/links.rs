//! Links between Markdown files: the file exists, the heading exists, and every page of `docs/` is
//! in the table of contents of the site. Paths of source files that stand in backticks exist, too.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::found::Found;
use crate::tree::{self, File};

/// The folder of the site, and its table of contents.
const SITE: &str = "docs/";
const CONTENTS: &str = "docs/SUMMARY.md";

/// Markdown that is data of the product, not documentation: its links are seen from elsewhere.
const DATA: &[&str] = &["crates/agent/", "crates/tool-search/"];

/// Folders whose paths are checked where a page names them in backticks.
const SOURCES: &[&str] = &["crates/", "tools/"];

/// Checks the links of all Markdown files.
pub(super) fn check(files: &[File]) -> Found {
    let pages: BTreeMap<&str, Page> = files
        .iter()
        .filter(|file| file.path.ends_with(".md"))
        .map(|file| (file.path.as_str(), Page::read(&file.text)))
        .collect();
    let exists = |path: &str| tree::root().join(path).exists();
    Found::failures(judge(&pages, exists))
}

fn judge(pages: &BTreeMap<&str, Page>, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut failures = Vec::new();
    let mut listed = BTreeSet::new();
    for (path, page) in pages.iter().filter(|(p, _)| !DATA.iter().any(|data| p.starts_with(data))) {
        for (line, link) in &page.links {
            let Some((target, anchor)) = local(path, link) else { continue };
            let mut fail = |why: &str| failures.push(format!("{path}:{line}: `{link}`: {why}"));
            if *path == CONTENTS {
                listed.insert(target.clone());
            }
            if !exists(&target) {
                fail("there is no such file");
            } else if let Some(anchor) = anchor
                && let Some(page) = pages.get(target.as_str())
                && !page.anchors.contains(&anchor)
            {
                fail("the page has no such heading");
            } else if path.starts_with(SITE) && !target.starts_with(SITE) {
                fail("it leaves the site; name the file without a link");
            }
        }
    }
    for (path, page) in pages {
        let missing = page.source_paths.iter().filter(|(_, named)| !exists(named));
        failures.extend(missing.map(|(line, named)| format!("{path}:{line}: `{named}` is gone")));
    }
    let in_site = |path: &&&str| path.starts_with(SITE) && **path != CONTENTS;
    let missing = pages.keys().filter(in_site).filter(|path| !listed.contains(**path));
    failures.extend(missing.map(|path| format!("{path}: it is not in {CONTENTS}")));
    failures
}

/// The file and the heading that a link means; `None` for a link to another site.
fn local(from: &str, link: &str) -> Option<(String, Option<String>)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = match link.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor.to_owned())),
        None => (link, None),
    };
    if path.is_empty() {
        return Some((from.to_owned(), anchor));
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Some((parts.join("/"), anchor))
}

/// What of a page matters for links.
struct Page {
    /// Where links point, with their lines.
    links: Vec<(usize, String)>,
    /// The names of the headings in a URL.
    anchors: BTreeSet<String>,
    /// Paths of source files in backticks, with their lines.
    source_paths: Vec<(usize, String)>,
}

impl Page {
    fn read(text: &str) -> Self {
        let (mut links, mut anchors) = (Vec::new(), BTreeSet::new());
        let mut source_paths = Vec::new();
        let line_of = |at: usize| text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        let mut heading: Option<String> = None;
        let mut repeated: BTreeMap<String, usize> = BTreeMap::new();
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { .. }) => {
                    heading = Some(String::new());
                }
                Event::End(TagEnd::Heading(_)) => {
                    let slug = slug(&heading.take().unwrap_or_default());
                    let count = repeated.entry(slug.clone()).or_default();
                    anchors.insert(if *count == 0 { slug } else { format!("{slug}-{count}") });
                    *count += 1;
                }
                Event::Text(ref words) | Event::Code(ref words) => {
                    if matches!(event, Event::Code(_)) && is_source_path(words) {
                        source_paths.push((line_of(range.start), words.to_string()));
                    }
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    links.push((line_of(range.start), dest_url.into_string()));
                }
                _ => {}
            }
        }
        Self { links, anchors, source_paths }
    }
}

/// Whether a text is one path; a pattern (`crates/*/src`) or a command is none.
fn is_source_path(text: &str) -> bool {
    let of_path = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
    SOURCES.iter().any(|folder| text.starts_with(folder)) && text.chars().all(of_path)
}

/// A heading as GitHub and mdBook write it in a URL.
fn slug(heading: &str) -> String {
    let kept = |c: char| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c if c.is_alphanumeric() => Some(c),
        _ => None,
    };
    heading.trim().to_lowercase().chars().filter_map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_missing_files_and_headings_are_found() {
        let texts = [
            (
                "README.md",
                "[a](docs/a.md#one-two) [b](docs/b.md) [c](https://e.org/x#y) ![](x.svg)",
            ),
            ("docs/SUMMARY.md", "- [A](a.md)\n"),
            ("docs/a.md", "# `One` two!\n\n[self](#one-two) [other](#three)\n[up](../README.md)\n"),
            ("docs/c.md", "# C\n\n```\n[no](link.md)\n```\n`crates/x.rs` `crates/*.rs`\n"),
            ("crates/agent/skills/x/SKILL.md", "[its own](other.md)"),
        ];
        let pages = texts.iter().map(|(path, text)| (*path, Page::read(text))).collect();
        let exists = |path: &str| texts.iter().any(|(p, _)| *p == path);
        assert_eq!(
            judge(&pages, exists),
            [
                "README.md:1: `docs/b.md`: there is no such file",
                "README.md:1: `x.svg`: there is no such file",
                "docs/a.md:3: `#three`: the page has no such heading",
                "docs/a.md:4: `../README.md`: it leaves the site; name the file without a link",
                "docs/c.md:6: `crates/x.rs` is gone",
                "docs/c.md: it is not in docs/SUMMARY.md",
            ]
        );
    }

    #[test]
    fn headings_become_anchors() {
        for (heading, expected) in [
            ("The `run` command", "the-run-command"),
            ("A: b, c / d", "a-b-c--d"),
            ("snake_case-x", "snake_case-x"),
        ] {
            assert_eq!(slug(heading), expected);
        }
        let page = Page::read("# A\n## A\n");
        assert!(page.anchors.contains("a") && page.anchors.contains("a-1"));
    }
}
