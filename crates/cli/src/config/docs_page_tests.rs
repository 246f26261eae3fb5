//! Compares `docs/config.md` with the keys of the file.

use std::path::Path;

use crate::config::loader::parse;

const PAGE: &str = include_str!("../../../../docs/config.md");

#[test]
fn the_example_of_the_page_is_read() {
    let example = PAGE.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let config = parse(Path::new("config.toml"), example).unwrap();
    assert_eq!(config.model.fallback, ["local/qwen3"]);
    assert_eq!(config.trusted_workspaces.len(), 1);
    assert_eq!(config.providers.len(), 3);
}

/// Returns the keys of a section, from its error for an unknown one.
fn keys(section: &str) -> Vec<String> {
    let error = parse(Path::new("c.toml"), &format!("{section}\nzzzzzzzzzz = 1\n")).unwrap_err();
    let known = error.message.split_once("known are ").unwrap_or_else(|| panic!("{error:?}")).1;
    known.split(", ").map(str::to_owned).collect()
}

#[test]
fn every_key_is_on_the_page() {
    for section in [
        "",
        "[model]",
        "[providers.ollama]",
        "[models.x]",
        "[limits]",
        "[tools.x]",
        "[agent]",
        "[sandbox]",
        "[shell]",
        "[server]",
        "[python]",
        "[discovery]",
        "[web]",
        "[notifications]",
        "[apps]",
        "[calendar]",
        "[drafts]",
        "[heartbeat]",
        "[[hooks]]",
    ] {
        let keys = keys(section);
        assert!(!keys.is_empty());
        for key in keys {
            let is_there =
                [format!("`{key}`"), format!("[{key}."), format!("[{key}]"), format!("[[{key}]]")]
                    .iter()
                    .any(|form| PAGE.contains(form));
            assert!(is_there, "{key} of {section} is not on the page");
        }
    }
}
